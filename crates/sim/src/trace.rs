//! Trace: arrival and departure times of each packet at each link, for animations.

use levelflow_path::scheduler::Ecn;
use levelflow_units::{Duration, Time};

use crate::id::{IdVec, PacketId};

/// Fate of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Reached the far end.
    Delivered,
    /// Dropped by a queue.
    Dropped,
    /// Lost on the wire.
    Lost,
    /// Still queued, in service or on the wire.
    Present,
}

/// Stay of a packet at a link, from its arrival at the queue to the far end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Index of the link.
    pub link: u32,
    /// Index of the flow entry.
    pub flow: u32,
    /// True if the packet is an ACK.
    pub ack: bool,
    /// ECN field of the IP header at the end of the stay.
    pub ecn: Ecn,
    /// Size on the wire, bytes.
    pub size: u16,
    /// Position of the packet's first byte in the transfer.
    pub offset: u64,
    /// Fate of the packet.
    pub fate: Fate,
    /// Arrival time at the queue.
    pub arrived: Time,
    /// Departure time from the queue. NEVER if the packet was dropped or is still queued.
    pub departed: Time,
    /// Time at which the packet reaches the far end or was dropped.
    pub ends: Time,
}

/// Stays that have ended since the latest [`take`](Self::take).
#[derive(Debug, Default)]
pub struct Trace {
    /// Arrival time of each packet at its current link.
    arrived: IdVec<PacketId, Time>,
    stays: Vec<Stay>,
}

impl Trace {
    /// Returns the stays that have ended since the previous call.
    pub fn take(&mut self) -> Vec<Stay> {
        std::mem::take(&mut self.stays)
    }

    /// Records the arrival of a packet at a link.
    pub(crate) fn arrives(&mut self, at: Time, id: PacketId) {
        self.arrived.reach(id, Time::NEVER);
        self.arrived[id] = at;
    }

    /// Returns the arrival time of a packet at its current link. NEVER if the packet arrived before the trace began.
    pub(crate) fn arrival(&self, id: PacketId) -> Time {
        self.arrived.get(id).copied().unwrap_or(Time::NEVER)
    }

    pub(crate) fn ended(&mut self, stay: Stay) {
        self.stays.push(stay);
    }
}

impl Stay {
    /// Completes the record of a packet that leaves the wire at `ends`. `delay` is the propagation delay.
    pub(crate) fn on_wire(mut self, ends: Time, delay: Duration) -> Self {
        self.ends = ends;
        self.departed = Time::from_ps(ends.as_ps().saturating_sub(delay.as_ps()));
        self
    }
}
