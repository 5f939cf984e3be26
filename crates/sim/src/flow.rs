//! One flow of the engine: the sender, what its receiver keeps, and their alarms.

use levelflow_laws::{FlowInfo, Protocol, SenderLaw};
use levelflow_scenario::Application;
use levelflow_transport::{Assembly, Bare, History, Sender};
use levelflow_units::{Duration, Time};

use crate::alarm::Alarm;
use crate::entry::{LIMITS, SharedRules};
use crate::host::Host;
use crate::packet::PacketId;
use crate::pipe::NO_PIPE;

/// Marks a flow that belongs to no session.
pub const NO_SESSION: u32 = u32::MAX;
/// Time goes on before a flow stops.
const SHORTEST_GAP: Duration = Duration::from_ps(1);

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Opening, sending, or waiting for ACKs.
    Live,
    /// Nothing more will be sent; packets may still be on their way.
    Done,
    /// The slot is free.
    Free,
}

/// State of the receiver of a flow that tracks losses, or is a transfer.
#[derive(Debug, Default)]
pub struct Incoming {
    pub history: History,
    pub assembly: Assembly,
    /// The delayed ACK, which the next packet may take along.
    pub delayed: Option<PacketId>,
    /// When it is sent all the same.
    pub delay: Alarm,
}

/// A flow under way. What every packet needs comes first, on as few cache lines as possible: with many flows, each
/// packet finds them cold.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Flow<P: Protocol> {
    pub entry: u32,
    pub pipe: u32,
    pub in_flight: u32,
    pub ack_delay: u32,
    pub incoming: Option<Box<Incoming>>,
    pub phase: Phase,
    /// Whether it counts as active: begun, and its receiver does not have everything.
    pub active: bool,
    /// Where its path begins in the table of hops.
    pub hop: u32,
    pub host: Option<Box<Host>>,
    /// When to send next.
    pub pace: Alarm,
    /// What its receiver got since the last sample.
    pub delivered_bytes: u64,
    pub sender: Sender<P>,
    /// When to open the flow again, or to give up waiting for an ACK. From here on, few laws need anything for each packet.
    pub timer: Alarm,
    pub receiver: P::Receiver,
    pub started: Time,
    /// Its number in its entry, from 0.
    pub member: u32,
    /// The web session that it belongs to, or none.
    pub session: u32,
    /// One-way delay from the host to the first link.
    pub host_delay: Duration,
    pub base_rtt: Duration,
    /// The application, if there is not always something to send.
    pub writes: Option<Box<Writes>>,
}

/// An application, and when it writes.
#[derive(Debug)]
pub struct Writes {
    pub application: Application,
    pub alarm: Alarm,
}

impl<P: Protocol> Flow<P> {
    /// A flow of this entry that has sent nothing; it keeps track of packets if it `recovers`.
    pub fn new(entry: u32, rules: &SharedRules<P>, info: &FlowInfo, now: Time, recovers: bool) -> Self {
        let SharedRules { params, transport, .. } = rules;
        let mut sender = Sender::new(Bare(P::Sender::new(params, info)), transport, now);
        if recovers {
            sender = sender.with_recovery(transport, true, usize::MAX);
        }
        Self {
            sender,
            receiver: P::Receiver::default(),
            entry,
            pipe: NO_PIPE,
            ack_delay: u32::MAX,
            incoming: recovers.then(Box::default),
            phase: Phase::Live,
            active: true,
            hop: 0,
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

    /// Whether a window bounds what it sends.
    pub fn has_window(&self) -> bool {
        self.sender.law().window() < u32::MAX
    }

    /// Whether its law's rate is one at which it sends.
    pub fn is_sending(&self) -> bool {
        self.has_window() || self.pace.is_set() || self.writes.is_some()
    }

    /// When the packet after the last one may leave at the present rate, or the flow stops.
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

    #[test]
    fn a_flow_fits_five_cache_lines() {
        assert!(
            size_of::<Flow<Any>>() <= 5 * 64,
            "a law with a larger sender says `boxed` in `laws!`"
        );
        assert!(offset_of!(Flow<Any>, timer) <= 4 * 64, "four lines are asked for ahead");
    }
}
