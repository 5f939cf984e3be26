//! Random draws of a flow entry: start times, sizes, stop times and round-trip times of its flows.
//!
//! The simulator and the network testbed share this code, so equal seeds produce equal traffic in both.

use levelflow_laws::Protocol;
use levelflow_units::{Duration, Time};

use crate::network::FlowSpec;
use crate::traffic::Arrivals;
use levelflow_random::Stream;

/// Arrivals of a flow entry, in order of time.
#[derive(Debug)]
pub struct Schedule {
    next: Next,
    /// Sizes of listed transfers, bytes. The transfer that starts last comes first.
    listed: Vec<f64>,
    arrivals: Stream,
    sizes: Stream,
    lifetimes: Stream,
    rtts: Stream,
}

#[derive(Debug)]
enum Next {
    /// Start times that are known before the run. The latest start time comes first.
    Known(Vec<Time>),
    /// Time of the next arrival of a process, and the number of remaining arrivals.
    Process { at: Option<Time>, left: u64 },
}

/// Flows or sessions that start at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Start time.
    pub at: Time,
    /// Number of flows or sessions.
    pub flows: u32,
}

/// One flow and its drawn values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Data that the flow carries, bytes. `None` if unlimited.
    pub size: Option<u64>,
    /// Time at which the flow stops, even if it has data to send. `None` if it never stops.
    pub stop: Option<Time>,
    /// Base round-trip time. `None` for the sum of the propagation delays of the links.
    pub rtt: Option<Duration>,
}

impl Schedule {
    /// Creates the schedule of an entry. `seed` is the seed of the run.
    #[must_use]
    pub fn new<P: Protocol>(spec: &FlowSpec<P>, seed: u64) -> Self {
        let stream = |purpose| Stream::new(seed, purpose, &spec.name);
        let mut starting = stream("start");
        let mut arrivals = stream("arrival");
        let latest_first = |mut times: Vec<Time>| {
            times.sort_unstable_by(|a, b| b.cmp(a));
            Next::Known(times)
        };
        let mut listed = Vec::new();
        let next = match &spec.arrivals {
            Arrivals::Once { count } => latest_first(
                (0..*count)
                    .filter_map(|_| time(spec.start.sample(&mut starting)))
                    .collect(),
            ),
            Arrivals::Times(times) => latest_first(times.iter().copied().filter_map(time).collect()),
            Arrivals::Transfers(all) => {
                let mut all: Vec<_> = all.iter().filter_map(|&(at, size)| Some((time(at)?, size))).collect();
                all.sort_by_key(|&(at, _)| at); // stable: transfers with equal times keep the order of the list
                let times;
                (times, listed) = all.into_iter().rev().unzip();
                Next::Known(times)
            }
            Arrivals::Process {
                at_start,
                interval,
                limit,
                ..
            } => {
                let start = time(spec.start.sample(&mut starting));
                let gap = (!at_start).then(|| interval.sample(&mut arrivals));
                Next::Process {
                    at: start.and_then(|start| gap.map_or(Some(start), |gap| after(start, gap))),
                    left: limit.unwrap_or(u64::MAX),
                }
            }
        };
        Self {
            next,
            listed,
            arrivals,
            sizes: stream("size"),
            lifetimes: stream("lifetime"),
            rtts: stream("rtt"),
        }
    }

    /// Returns the next arrival. Returns `None` after the last arrival.
    pub fn next<P: Protocol>(&mut self, spec: &FlowSpec<P>) -> Option<Arrival> {
        let arrival = match (&mut self.next, &spec.arrivals) {
            (Next::Process { at, left }, Arrivals::Process { interval, batch, .. }) => {
                let now = (*at)?;
                *left = left.saturating_sub(1);
                let gap = (*left > 0).then(|| interval.sample(&mut self.arrivals));
                *at = gap.and_then(|gap| after(now, gap));
                Arrival { at: now, flows: *batch }
            }
            (Next::Known(times), _) => Arrival {
                at: times.pop()?,
                flows: 1,
            },
            (Next::Process { .. }, _) => return None,
        };
        let comes =
            spec.stop.is_none_or(|stop| arrival.at < stop) && spec.last_arrival.is_none_or(|last| arrival.at <= last);
        comes.then_some(arrival)
    }

    /// Draws the next flow of the entry. The flow starts at `at`.
    pub fn flow<P: Protocol>(&mut self, spec: &FlowSpec<P>, at: Time) -> Transfer {
        let unit = spec.size_unit.get();
        let whole = |size: f64| ((size / unit as f64).ceil().max(1.0) as u64).saturating_mul(unit);
        let life = spec.lifetime.as_ref().map(|life| life.sample(&mut self.lifetimes));
        let dies = life.and_then(|life| after(at, life));
        let rtt = spec.rtt.as_ref().map(|rtt| rtt.sample(&mut self.rtts));
        let size = self
            .listed
            .pop()
            .or_else(|| spec.size.as_ref().map(|size| size.sample(&mut self.sizes)));
        Transfer {
            size: size.map(whole),
            stop: dies.into_iter().chain(spec.stop).min(),
            rtt: rtt.map(|rtt| Duration::from_secs_f64(rtt).unwrap_or(Duration::MAX)),
        }
    }
}

fn time(seconds: f64) -> Option<Time> {
    after(Time::ZERO, seconds)
}

fn after(from: Time, seconds: f64) -> Option<Time> {
    from.checked_add(Duration::from_secs_f64(seconds)?)
}

/// Base round-trip time, divided between links and hosts. The delay at the hosts is the total minus the propagation
/// delays of the links. The delay from sender to receiver is half of the total, unless the forward links take longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Base round-trip time, including links and hosts.
    pub total: Duration,
    /// Delay at the hosts in the direction from sender to receiver.
    pub forward: Duration,
    /// Delay at the hosts in the direction from receiver to sender.
    pub reverse: Duration,
}

impl RoundTrip {
    /// Divides a round-trip time between links and hosts. The second argument contains the propagation delays of the
    /// forward and the reverse links. If `total` is `None`, the delay at the hosts is zero.
    #[must_use]
    pub fn new(total: Option<Duration>, [there, back]: [Duration; 2]) -> Self {
        let on_links = there + back;
        let total = total.map_or(on_links, |rtt| rtt.max(on_links));
        let extra = total - on_links;
        let one_way = Duration::from_ps(total.as_ps() / 2);
        let forward = one_way.saturating_sub(there).min(extra);
        Self {
            total,
            forward,
            reverse: extra - forward,
        }
    }

    /// Returns the sum of the delays at the hosts in both directions.
    #[must_use]
    pub fn at_hosts(&self) -> Duration {
        self.forward + self.reverse
    }
}

#[cfg(test)]
mod tests;
