//! Samples and state of a link, for reports and tests.

use levelflow_laws::Protocol;
use levelflow_path::Scheduler;
use levelflow_units::{Duration, Time};

use super::wire::Overtaking;
use super::{COUNTED, Link};
use crate::counters::LinkSample;
use crate::id::PacketId;

impl<P: Protocol> Link<P> {
    /// Returns the number of bytes that have left the queue.
    pub fn sent_bytes(&self) -> u64 {
        self.counters.arrived_bytes - self.counters.dropped_bytes - self.backlog
    }

    /// Records the queueing delays of packets on the wire. Call [`catch_up`](Self::catch_up) first.
    pub fn count_delays(&mut self) {
        for place in (0..self.departed as usize).rev() {
            match self.transit.get_mut(place) {
                Some(transit) if transit.delay != COUNTED => {
                    self.counters.delays.record(transit.delay.as_ps());
                    transit.delay = COUNTED;
                }
                _ => break, // earlier packets have already been recorded
            }
        }
    }

    /// Returns the counts since the latest sample. Call [`catch_up`](Self::catch_up) first.
    pub fn sample(&mut self) -> LinkSample {
        self.count_delays();
        self.counters.fold();
        let left = self.counters.arrived - self.counters.dropped - self.queue_packets() as u64;
        let (arrived, sent) = (self.counters.arrived_bytes, self.sent_bytes());
        self.backlog_before = self.largest_backlog();
        LinkSample {
            arrived_bytes: arrived - std::mem::replace(&mut self.arrived_at_sample, arrived),
            sent_bytes: sent - std::mem::replace(&mut self.sent_at_sample, sent),
            backlog_max: std::mem::take(&mut self.backlog_max).max(self.backlog),
            delays: self
                .counters
                .delays
                .sample(left - std::mem::replace(&mut self.left_at_sample, left)),
            window: std::mem::take(&mut self.window),
        }
    }

    /// Returns the largest backlog so far, bytes.
    pub fn largest_backlog(&self) -> u64 {
        self.backlog_before.max(self.backlog_max)
    }

    /// Returns the number of bytes queued or in service.
    pub fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Returns the packets that hosts at this node have sent and that have not yet arrived at the queue.
    pub fn entering(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.entering.iter().map(|&(_, packet)| packet)
    }

    /// Returns the packets queued, in service or on the wire.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        let waiting = self.served.iter().flat_map(|s| s.waiting.iter().chain(&s.in_service));
        let on_wire = self.transit.iter().map(|t| t.packet);
        on_wire
            .chain(self.overtaking().map(|(packet, _)| packet))
            .chain(waiting.map(|w| w.packet))
            .chain(self.scheduled())
    }

    /// Returns the propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns the packets on the link, with their delivery times if known.
    pub fn stays(&self) -> impl Iterator<Item = (PacketId, Option<Time>)> + '_ {
        let waiting = self.served.iter().flat_map(|s| s.in_service.iter().chain(&s.waiting));
        let in_order = self.transit.iter().map(|t| (t.packet, Some(t.deliver)));
        let on_wire = in_order.chain(self.overtaking().map(|(packet, deliver)| (packet, Some(deliver))));
        let waiting = waiting.map(|w| w.packet).chain(self.scheduled());
        on_wire.chain(waiting.map(|packet| (packet, None)))
    }

    /// Returns the memory used, bytes.
    pub fn memory(&self) -> usize {
        let queues = self.transit.memory() + self.entering.capacity() * size_of::<(Time, PacketId)>();
        let scheduler = self.scheduler().map_or(0, Scheduler::memory_held);
        let overtaking = self.served.as_ref().map_or(0, |served| served.overtaking.capacity());
        size_of::<Self>()
            + queues
            + overtaking * size_of::<Overtaking>()
            + scheduler
            + self.counters.memory()
            + self.classes_memory()
    }
}
