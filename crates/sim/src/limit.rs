//! Limits of a run: memory, and events per simulated second. Memory is estimated before the run. Both limits are
//! checked during the run.

use derive_more::{Display, Error};
use levelflow_laws::{Any, AnyHeader, FlowInfo, Protocol, SenderLaw};
use levelflow_scenario::{Arrivals, FlowSpec, Network};
use levelflow_units::{Bytes, Duration, Time};

use crate::flow::Flow;
use crate::packet::Packet;

/// Largest ratio of a list's capacity to its length, because lists double their capacity.
const GROWTH_FACTOR: u64 = 2;
/// Memory for a packet in flight, in bytes: at the sender, at the receiver and in a queue.
const PER_PACKET: u64 = 160;
/// Memory for a flow in addition to its `Flow` struct, in bytes: a large sender, loss recovery, streams and lists.
const PER_FLOW: u64 = 1024;

/// Events per second that are allowed by default for each packet per second that the links can send.
const EVENTS_PER_PACKET: f64 = 20.0;
/// Events per second that are allowed by default for each link, such as control intervals.
const EVENTS_PER_LINK: f64 = 1e6;
/// Period of the limit on events.
const SECOND: Duration = Duration::from_secs(1);
/// Events per second that are always allowed by default.
const MIN_EVENT_LIMIT: f64 = 16e6;

/// Error of a run that needs more memory than its limit, or more events per simulated second.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("flow {flow}: {needs}, but {limit}; reduce the demand, or raise the limit")]
pub struct LimitExceeded {
    flow: String,
    needs: String,
    limit: String,
}

/// Events of a run in the current second of simulated time. Seconds begin after multiples of 1 s. The events of each
/// second are counted exactly, so the limit applies to the same runs on any number of threads.
#[derive(Debug)]
pub(crate) struct EventBudget {
    limit: u64,
    /// Last instant of the current second.
    end: Time,
    /// Events before the current second.
    before: u64,
}

impl EventBudget {
    pub fn new<P: Protocol>(network: &Network<P>) -> Self {
        Self {
            limit: network.event_limit.unwrap_or_else(|| default_event_limit(network)),
            end: Time::ZERO + SECOND,
            before: 0,
        }
    }

    /// Returns the last instant of the current second.
    pub const fn end(&self) -> Time {
        self.end
    }

    /// Returns true if the current second has more events than the limit. `events` is the number of events of the run.
    pub const fn is_exceeded(&self, events: u64) -> bool {
        events - self.before > self.limit
    }

    /// Begins the next second. `events` is the number of events up to the end of the current second.
    pub fn next_second(&mut self, events: u64) {
        (self.end, self.before) = (self.end.saturating_add(SECOND), events);
    }
}

/// Returns the default limit on the events per simulated second. A network that delivers most of its packets needs
/// fewer events.
fn default_event_limit<P: Protocol>(network: &Network<P>) -> u64 {
    let smallest = network.flows.iter().map(|flow| flow.packet.get()).min().unwrap_or(1);
    let capacity: f64 = network.links.iter().map(|link| link.largest_capacity().bps()).sum();
    let packets = capacity / (8.0 * smallest.max(1) as f64);
    (MIN_EVENT_LIMIT + EVENTS_PER_LINK * network.links.len() as f64 + EVENTS_PER_PACKET * packets) as u64
}

/// Returns the memory for flows and packets in flight, in bytes. The sizes of the general engine are used, so a run
/// ends at the same event on any engine.
const fn bytes_for(flows: u64, packets: u64) -> u64 {
    let flow = GROWTH_FACTOR * size_of::<Flow<Any>>() as u64 + PER_FLOW;
    let packet = GROWTH_FACTOR * (size_of::<Packet<AnyHeader>>() as u64 + PER_PACKET);
    flows
        .saturating_mul(flow)
        .saturating_add(packets.saturating_mul(packet))
}

/// Returns the number of packets that fit the limit in addition to this number of flows.
pub(crate) fn max_packets(flows: usize, limit: Bytes) -> usize {
    let left = limit.get().saturating_sub(bytes_for(flows as u64, 0));
    (left / bytes_for(0, 1)) as usize
}

/// Estimates the memory for flows that never end, with their initial windows.
///
/// # Errors
/// Returns an error if the estimate exceeds the limit.
pub fn check_memory<P: Protocol>(network: &Network<P>) -> Result<(), LimitExceeded> {
    let mut sum = 0_u64;
    for spec in &network.flows {
        let (flows, packets) = at_once(spec, network.duration);
        sum = sum.saturating_add(bytes_for(flows, packets));
        if sum > network.memory_limit.get() {
            let total = sum as f64 / 1e9;
            let sent = if packets > flows {
                format!(" with {packets} packets in flight")
            } else {
                String::new()
            };
            return Err(LimitExceeded {
                flow: spec.name.clone(),
                needs: format!("{flows} flows{sent} at once raise the demand to about {total:.1} GB"),
                limit: memory_limit(network.memory_limit),
            });
        }
    }
    Ok(())
}

/// Returns a lower bound on the concurrent flows of an entry. Also returns the number of packets in their initial
/// windows.
fn at_once<P: Protocol>(spec: &FlowSpec<P>, duration: Duration) -> (u64, u64) {
    let Arrivals::Once { count } = spec.arrivals else {
        return (0, 0);
    };
    let endless = spec.size.is_none() && spec.lifetime.is_none() && spec.stop.is_none();
    if !endless || spec.start.max() > duration.as_secs_f64() {
        return (0, 0);
    }
    let info = FlowInfo::of(spec.packet);
    let window = P::Sender::new(&spec.params, &info).window();
    let sent = if window == u32::MAX { 1 } else { u64::from(window) };
    (u64::from(count), u64::from(count).saturating_mul(sent))
}

impl LimitExceeded {
    /// Creates the error of a run that has exceeded its limit on events.
    pub(crate) fn events(flow: &str, budget: &EventBudget) -> Self {
        let (limit, end) = (budget.limit, (budget.end - Time::ZERO).as_secs_f64());
        Self {
            flow: flow.to_owned(),
            needs: format!("the second before {end} s has more events"),
            limit: format!("event_limit is {limit}"),
        }
    }

    /// Creates the error of a run that has exceeded its memory limit.
    pub(crate) fn on_the_way(flow: &str, packets: u64, flows: u64, now: Duration, limit: Bytes) -> Self {
        Self {
            flow: flow.to_owned(),
            needs: format!(
                "after {:.3} s, {packets} packets of {flows} flows are in flight",
                now.as_secs_f64()
            ),
            limit: memory_limit(limit),
        }
    }
}

fn memory_limit(limit: Bytes) -> String {
    format!("memory_limit is {limit}")
}

#[cfg(test)]
mod tests {
    use levelflow_scenario::Scenario;

    use super::*;

    #[test]
    fn the_default_limit_on_events_allows_the_largest_capacity_of_a_link() {
        let limit = |link: &str| {
            let text = format!(
                "name = 'n'\nduration = '2 s'\nlink = [{{ from = 'A', to = 'B', delay = '1 ms', duplex = true, {link} }}]\n\
                 flow = [{{ name = 'x', law = 'reno', from = 'A', to = 'B', packet = '1000 B' }}]"
            );
            let scenario = Scenario::from_value(&Scenario::parse(&text).unwrap()).unwrap();
            default_event_limit(&scenario.resolve().unwrap().network)
        };
        let rising = limit("capacity = '1 Mb/s', changes = [{ at = '1 s', capacity = '8 Gb/s' }]");
        assert_eq!(rising, limit("capacity = '8 Gb/s'"));
        // Two directions with a million packets per second each.
        assert_eq!(rising, 16_000_000 + 2_000_000 + 40_000_000);
    }
}
