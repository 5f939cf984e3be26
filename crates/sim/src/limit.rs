//! How much memory a run may take: estimated before it begins, and watched while it goes on.

use derive_more::{Display, Error};
use levelflow_laws::{Any, AnyHeader, FlowInfo, Protocol, SenderLaw};
use levelflow_scenario::{Arrivals, FlowSpec, Network};
use levelflow_units::{Bytes, Duration};

use crate::flow::Flow;
use crate::packet::Packet;

/// Room that lists keep beyond what they hold, as they double in size.
const SPARE: u64 = 2;
/// What sender and receiver remember of a packet on its way, and its places in a queue, bytes.
const PER_PACKET: u64 = 160;
/// What a flow has beside itself, bytes: a large sender, its path through recovery of losses, streams, lists.
const PER_FLOW: u64 = 1024;

/// A run that needs more memory than it may take.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("flow {flow}: {needs}, and memory_limit is {limit}; ask for less, or raise it")]
pub struct MemoryExceeded {
    flow: String,
    needs: String,
    limit: Bytes,
}

/// Bytes of memory that flows and packets in flight take, on the engine of all laws: a run ends at the same event on another.
const fn bytes_for(flows: u64, packets: u64) -> u64 {
    let flow = SPARE * size_of::<Flow<Any>>() as u64 + PER_FLOW;
    let packet = SPARE * (size_of::<Packet<AnyHeader>>() as u64 + PER_PACKET);
    flows
        .saturating_mul(flow)
        .saturating_add(packets.saturating_mul(packet))
}

/// Packets that fit the memory beside so many flows.
pub(crate) fn packets_beside(flows: usize, limit: Bytes) -> usize {
    let left = limit.get().saturating_sub(bytes_for(flows as u64, 0));
    (left / bytes_for(0, 1)) as usize
}

/// Estimates what the flows that never end will take, with the windows that they begin with.
///
/// # Errors
/// When that is more than the limit.
pub fn check_memory<P: Protocol>(network: &Network<P>) -> Result<(), MemoryExceeded> {
    let mut sum = 0_u64;
    for spec in &network.flows {
        let (flows, packets) = at_once(spec, network.duration);
        sum = sum.saturating_add(bytes_for(flows, packets));
        if sum > network.memory_limit.get() {
            let total = sum as f64 / 1e9;
            let sent = if packets > flows {
                format!(" with {packets} packets on their way")
            } else {
                String::new()
            };
            return Err(MemoryExceeded {
                flow: spec.name.clone(),
                needs: format!("{flows} flows{sent} at once bring what is needed to about {total:.1} GB"),
                limit: network.memory_limit,
            });
        }
    }
    Ok(())
}

/// Flows of an entry that are there at the same time, at least, and packets that they send at once.
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
    /// A run that came to its limit.
    pub(crate) fn on_the_way(flow: &str, packets: u64, flows: u64, now: Duration, limit: Bytes) -> Self {
        Self {
            flow: flow.to_owned(),
            needs: format!(
                "after {:.3} s, it has {packets} packets of {flows} flows on their way",
                now.as_secs_f64()
            ),
            limit,
        }
    }
}
