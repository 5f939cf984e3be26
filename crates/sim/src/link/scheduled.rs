//! Links whose queues are served by a [`Scheduler`].

use levelflow_laws::{HeaderOf, Protocol};
use levelflow_path::Scheduler;
use levelflow_path::scheduler::{Next, Queued};
use levelflow_units::{Buffer, Time};

use super::Link;
use super::served::Waiting;
use crate::id::PacketId;
use crate::packet::Slab;

impl<P: Protocol> Link<P> {
    /// Enqueues a packet. If the buffer is then too full, evicts packets from the queues.
    pub(super) fn schedule(&mut self, now: Time, id: PacketId, size: u32, packets: &Slab<HeaderOf<P>>) {
        let most = self.backlog_max;
        let _ = self.account::<false>(now, size);
        let queued = Queued {
            came: now,
            size,
            class: packets.class(id),
            packet: id,
        };
        self.with_scheduler(|scheduler| scheduler.enqueue(queued));
        self.evict_dropped(now, Self::drop_for_lack_of_room);
        while self.is_overfull() {
            self.with_scheduler(Scheduler::shed);
            self.evict_dropped(now, Self::drop_for_lack_of_room);
        }
        self.backlog_max = most.max(self.backlog);
    }

    pub(super) fn scheduler(&self) -> Option<&Scheduler<PacketId>> {
        self.served.as_ref()?.scheduler.as_deref()
    }

    pub(super) fn with_scheduler<R>(&mut self, act: impl FnOnce(&mut Scheduler<PacketId>) -> R) -> Option<R> {
        self.served.as_mut()?.scheduler.as_deref_mut().map(act)
    }

    /// Evicts the packets that a scheduler has dropped. `count` counts each packet.
    fn evict_dropped(&mut self, now: Time, count: fn(&mut Self, u64)) {
        while let Some(dropped) = self.with_scheduler(Scheduler::poll_dropped).flatten() {
            self.evict(
                now,
                Waiting {
                    since: dropped.came,
                    packet: dropped.packet,
                    size: dropped.size,
                },
            );
            count(self, dropped.size.into());
        }
    }

    /// Returns true if the buffer contains more than its limit.
    fn is_overfull(&self) -> bool {
        match self.buffer {
            Buffer::Unlimited => false,
            Buffer::Bytes(limit) => self.backlog > limit.get(),
            Buffer::Packets(limit) => self.queue_packets() as u64 > limit,
        }
    }

    /// Starts the transmission of the scheduler's next packet. Returns the end of the transmission. If a shaper delays
    /// the packet, returns the time at which the shaper releases it.
    pub(super) fn serve_scheduled(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) -> Option<Time> {
        if self.served.as_ref()?.opens.is_some() {
            return None;
        }
        let next = self.with_scheduler(|scheduler| scheduler.dequeue(now))?;
        self.evict_dropped(now, Self::count_drop);
        let (queued, marked) = match next {
            Next::Packet(queued, marked) => (queued, marked),
            Next::Shut(opens) => {
                self.served.as_mut()?.opens = Some(opens);
                return Some(opens);
            }
            Next::Nothing => return None,
        };
        if marked && packets[queued.packet].label.mark() {
            self.window.marked += 1;
            self.counters.marked += 1;
        }
        self.classify(&queued, packets);
        let next = Waiting {
            since: queued.came,
            packet: queued.packet,
            size: queued.size,
        };
        Some(self.begin(now, next))
    }

    /// Returns the packets queued in the scheduler.
    pub(super) fn scheduled(&self) -> impl Iterator<Item = PacketId> + '_ {
        let scheduler = self.scheduler().into_iter();
        scheduler.flat_map(|scheduler| scheduler.iter().map(|queued| queued.packet))
    }
}
