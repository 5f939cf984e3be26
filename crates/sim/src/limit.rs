//! Memory limit of a run. Memory is estimated before the run and checked during the run.

use derive_more::{Display, Error};
use levelflow_laws::{Any, AnyHeader, FlowInfo, Protocol, SenderLaw};
use levelflow_scenario::{Arrivals, FlowSpec, Network};
use levelflow_units::{Bytes, Duration};

use crate::flow::Flow;
use crate::packet::Packet;

/// Largest ratio of a list's capacity to its length, because lists double their capacity.
const GROWTH_FACTOR: u64 = 2;
/// Memory for a packet in flight, in bytes: at the sender, at the receiver and in a queue.
const PER_PACKET: u64 = 160;
/// Memory for a flow in addition to its `Flow` struct, in bytes: a large sender, loss recovery, streams and lists.
const PER_FLOW: u64 = 1024;

/// Error of a run that needs more memory than its limit.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("flow {flow}: {needs}, but memory_limit is {limit}; reduce the demand, or raise the limit")]
pub struct MemoryExceeded {
    flow: String,
    needs: String,
    limit: Bytes,
}

/// Returns the memory for flows and packets in flight, in bytes. The sizes are those of the general engine. A run
/// therefore ends at the same event on any engine.
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
pub fn check_memory<P: Protocol>(network: &Network<P>) -> Result<(), MemoryExceeded> {
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
            return Err(MemoryExceeded {
                flow: spec.name.clone(),
                needs: format!("{flows} flows{sent} at once raise the demand to about {total:.1} GB"),
                limit: network.memory_limit,
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

impl MemoryExceeded {
    /// Creates the error of a run that has exceeded its memory limit.
    pub(crate) fn on_the_way(flow: &str, packets: u64, flows: u64, now: Duration, limit: Bytes) -> Self {
        Self {
            flow: flow.to_owned(),
            needs: format!(
                "after {:.3} s, {packets} packets of {flows} flows are in flight",
                now.as_secs_f64()
            ),
            limit,
        }
    }
}
