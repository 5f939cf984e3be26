//! The random draws of a flow entry: when its flows start, what they carry, when they stop, and how long their paths are.
//!
//! The simulator and the network testbed both take flows from here, so equal seeds give both the same traffic.

use levelflow_laws::Protocol;
use levelflow_units::{Duration, Time};

use crate::network::FlowSpec;
use crate::traffic::Arrivals;
use levelflow_random::Stream;

/// The flows of an entry, in order of time.
#[derive(Debug)]
pub struct Schedule {
    next: Next,
    arrivals: Stream,
    sizes: Stream,
    lifetimes: Stream,
    rtts: Stream,
}

#[derive(Debug)]
enum Next {
    /// Start times that are known in advance, latest first.
    Known(Vec<Time>),
    /// The next arrival of a process, and how many may follow.
    Process { at: Option<Time>, left: u64 },
}

/// Flows, or sessions, that start at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// How many.
    pub flows: u32,
}

/// One flow, as drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes that it carries; `None`: no end.
    pub size: Option<u64>,
    /// When it stops sending, whatever is left; `None`: never.
    pub stop: Option<Time>,
    /// Base round trip; `None`: that of the links.
    pub rtt: Option<Duration>,
}

impl Schedule {
    /// The schedule of an entry in a run with this seed.
    #[must_use]
    pub fn new<P: Protocol>(spec: &FlowSpec<P>, seed: u64) -> Self {
        let stream = |purpose| Stream::new(seed, purpose, &spec.name);
        let mut starting = stream("start");
        let mut arrivals = stream("arrival");
        let latest_first = |mut times: Vec<Time>| {
            times.sort_unstable_by(|a, b| b.cmp(a));
            Next::Known(times)
        };
        let next = match &spec.arrivals {
            Arrivals::Once { count } => latest_first(
                (0..*count)
                    .filter_map(|_| time(spec.start.sample(&mut starting)))
                    .collect(),
            ),
            Arrivals::Times(times) => latest_first(times.iter().copied().filter_map(time).collect()),
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
            arrivals,
            sizes: stream("size"),
            lifetimes: stream("lifetime"),
            rtts: stream("rtt"),
        }
    }

    /// The next arrival; `None` after the last one.
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

    /// One more flow of the entry, which starts at this time.
    pub fn flow<P: Protocol>(&mut self, spec: &FlowSpec<P>, at: Time) -> Transfer {
        let unit = spec.size_unit.get();
        let whole = |size: f64| ((size / unit as f64).ceil().max(1.0) as u64).saturating_mul(unit);
        let life = spec.lifetime.as_ref().map(|life| life.sample(&mut self.lifetimes));
        let dies = life.and_then(|life| after(at, life));
        let rtt = spec.rtt.as_ref().map(|rtt| rtt.sample(&mut self.rtts));
        Transfer {
            size: spec.size.as_ref().map(|size| whole(size.sample(&mut self.sizes))),
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

/// A base round trip: what the links lack of it lies at the hosts, half a round trip before the receiver where the links
/// leave that much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// All of it.
    pub total: Duration,
    /// Delay at the hosts, from sender to receiver.
    pub forward: Duration,
    /// Delay at the hosts, on the way back.
    pub reverse: Duration,
}

impl RoundTrip {
    /// Divides a round trip, given the propagation delay of the links there and back; `None`: that of the links.
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

    /// Delay at the hosts, there and back.
    #[must_use]
    pub fn at_hosts(&self) -> Duration {
        self.forward + self.reverse
    }
}

#[cfg(test)]
mod tests;
