//! Where packets are: the stay of each one at a link, for animations.

use levelflow_path::scheduler::Ecn;
use levelflow_units::{Duration, Time};

use crate::packet::PacketId;

/// What became of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It reached the far end.
    Delivered,
    /// A queue dropped it.
    Dropped,
    /// The wire lost it.
    Lost,
    /// It is still there.
    Present,
}

/// The stay of a packet at a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay {
    /// Index of the link.
    pub link: u32,
    /// Index of the flow entry.
    pub flow: u32,
    /// Whether it is an ACK.
    pub ack: bool,
    /// The ECN field of its IP header when its stay ended.
    pub ecn: Ecn,
    /// Size on the wire, bytes.
    pub size: u16,
    /// Position of its first byte in the data of its flow.
    pub offset: u64,
    /// What became of it.
    pub fate: Fate,
    /// When it came to the queue.
    pub arrived: Time,
    /// When it left the queue for the wire; never if it was dropped there, or still waits.
    pub departed: Time,
    /// When it reaches the far end, or was dropped.
    pub ends: Time,
}

/// The stays that ended since [`take`](Self::take) was last called.
#[derive(Debug, Default)]
pub struct Trace {
    /// By packet, when it came to the link where it is.
    arrived: Vec<Time>,
    stays: Vec<Stay>,
}

impl Trace {
    /// The stays that have ended since the last call.
    pub fn take(&mut self) -> Vec<Stay> {
        std::mem::take(&mut self.stays)
    }

    /// A packet comes to a link.
    pub(crate) fn arrives(&mut self, at: Time, id: PacketId) {
        let index = id as usize;
        if self.arrived.len() <= index {
            self.arrived.resize(index + 1, Time::NEVER);
        }
        self.arrived[index] = at;
    }

    /// When a packet came to the link where it is; never if that was before the trace began.
    pub(crate) fn arrival(&self, id: PacketId) -> Time {
        self.arrived.get(id as usize).copied().unwrap_or(Time::NEVER)
    }

    pub(crate) fn ended(&mut self, stay: Stay) {
        self.stays.push(stay);
    }
}

impl Stay {
    /// A packet that ends its stay on the wire, of such a propagation delay.
    pub(crate) fn on_wire(mut self, ends: Time, delay: Duration) -> Self {
        self.ends = ends;
        self.departed = Time::from_ps(ends.as_ps().saturating_sub(delay.as_ps()));
        self
    }
}
