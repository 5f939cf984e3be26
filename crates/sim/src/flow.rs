//! Flow: sender, receiver state and timers.

use levelflow_laws::{FlowInfo, Protocol, ReceiverOf, SenderLaw};
use levelflow_scenario::Application;
use levelflow_transport::{Assembly, History, Sender};
use levelflow_units::{Duration, Time};

use crate::alarm::Alarm;
use crate::entry::{LIMITS, SharedRules};
use crate::host::Host;
use crate::id::{AckDelayId, EntryId, HopId, PacketId, PipeId, SessionId};
use crate::pipe::NO_PIPE;

/// Session number of a flow that belongs to no session.
pub const NO_SESSION: SessionId = SessionId(u32::MAX);
/// Number for a flow whose ACKs have no random delay.
pub const NO_ACK_DELAY: AckDelayId = AckDelayId(u32::MAX);
/// Time between the stop time of a flow and the event that stops it.
const SHORTEST_GAP: Duration = Duration::from_ps(1);

/// Phase of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The flow opens, sends, or waits for ACKs.
    Live,
    /// The flow has stopped sending. Packets may still be in flight.
    Done,
    /// The slot contains no flow.
    Free,
}

/// State of a receiver. A flow has this state only if it tracks losses or has a size.
#[derive(Debug, Default)]
pub struct Incoming {
    pub history: History,
    pub assembly: Assembly,
    /// Delayed ACK. The ACK of the next packet may replace it.
    pub delayed: Option<PacketId>,
    /// Timer of the delayed ACK.
    pub delay: Alarm,
}

/// State of a flow. The first fields are used for every packet and occupy few cache lines. With many flows, these lines
/// are not in the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow<P: Protocol> {
    pub entry: EntryId,
    pub pipe: PipeId,
    pub in_flight: u32,
    pub ack_delay: AckDelayId,
    pub incoming: Option<Box<Incoming>>,
    pub phase: Phase,
    /// True from the start of the flow until it is complete or stopped.
    pub active: bool,
    /// Position of the flow's path in the table of hops.
    pub hop: HopId,
    pub host: Option<Box<Host>>,
    /// Alarm for the next data packet.
    pub pace: Alarm,
    /// Bytes received since the latest sample.
    pub delivered_bytes: u64,
    pub sender: Sender<P>,
    /// Alarm for the next opening packet or for the retransmission timeout. Few laws use the following fields for each
    /// packet.
    pub timer: Alarm,
    pub receiver: ReceiverOf<P>,
    pub started: Time,
    /// Number of the flow in its entry, counted from 0.
    pub member: u32,
    /// Session of the flow, or [`NO_SESSION`].
    pub session: SessionId,
    /// Delay from the sender to the first link.
    pub host_delay: Duration,
    pub base_rtt: Duration,
    /// Application. `None` if the flow always has data to send.
    pub writes: Option<Box<Writes>>,
}

/// Application, and the alarm for its next write.
#[derive(Debug)]
pub struct Writes {
    pub application: Application,
    pub alarm: Alarm,
}

impl<P: Protocol> Flow<P> {
    /// Creates a flow of this entry that has sent nothing. If `recovers` is true, the flow tracks its packets.
    pub fn new(entry: EntryId, rules: &SharedRules<P>, info: &FlowInfo, now: Time, recovers: bool) -> Self {
        let SharedRules { params, transport, .. } = rules;
        let mut sender = Sender::new(P::Sender::new(params, info), transport, now);
        if recovers {
            sender = sender.with_recovery(transport, true, usize::MAX);
        }
        Self {
            sender,
            receiver: ReceiverOf::<P>::default(),
            entry,
            pipe: NO_PIPE,
            ack_delay: NO_ACK_DELAY,
            incoming: recovers.then(Box::default),
            phase: Phase::Live,
            active: true,
            hop: HopId(0),
            in_flight: 0,
            session: NO_SESSION,
            writes: None,
            pace: Alarm::OFF,
            timer: Alarm::OFF,
            started: now,
            member: 0,
            delivered_bytes: 0,
            host_delay: Duration::ZERO,
            base_rtt: Duration::ZERO,
            host: None,
        }
    }

    /// Returns true if a congestion window limits the flow.
    pub fn has_window(&self) -> bool {
        self.sender.law().window() < u32::MAX
    }

    /// Returns true if the rate of the law determines the sending rate.
    pub fn is_sending(&self) -> bool {
        self.has_window() || self.pace.is_set() || self.writes.is_some()
    }

    /// Returns the departure time of the next packet at the current rate. If the flow stops earlier, returns the stop
    /// time.
    #[inline]
    pub fn departure(&self, now: Time) -> Time {
        let stop = self.sender.stop().saturating_add(SHORTEST_GAP);
        let due = self.sender.paced_departure(&LIMITS);
        let due = self
            .host
            .as_ref()
            .map_or(due, |host| host.clocked(self.sender.departed(), due));
        due.min(stop).max(now)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use levelflow_laws::Any;

    // **Invariant** (Laws): laws are pure. They use no clock, socket or thread, and the same inputs give the same
    // state. The crate is `no_std`. Only two types allocate memory: `AnySender` boxes senders that are much larger than
    // others, and `AnyReceiver` boxes the state of a receiver. This limits a flow to 320 bytes. See
    // `a_replayed_router_ends_in_the_same_state`, `a_replayed_sender_ends_in_the_same_state`.
    #[test]
    fn a_flow_fits_five_cache_lines() {
        assert!(
            size_of::<Flow<Any>>() <= 5 * 64,
            "a law with a larger sender needs `boxed` in `laws!`"
        );
        assert!(offset_of!(Flow<Any>, timer) <= 4 * 64, "four lines are prefetched");
    }
}
