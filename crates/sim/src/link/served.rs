//! Links whose transmitter has its own events. There are four types. The first has a queue that drops from the front or
//! decides on departure. The others have a scheduler with several queues, a wire with jitter or batches, or changes
//! during the run.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use levelflow_laws::aqm::{Overflow, Verdict};
use levelflow_laws::{HeaderOf, PortView, Protocol, RouterLaw};
use levelflow_path::Scheduler;
use levelflow_results::Delays;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use super::wire::Overtaking;
use super::{Admission, COUNTED, Link, Transit, pace};
use crate::id::PacketId;
use crate::packet::Slab;

/// Packet queued for the transmitter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) since: Time,
    pub(super) packet: PacketId,
    pub(super) size: u32,
}

/// Queue and transmitter of a link that needs an event at the end of each transmission.
#[derive(Debug, Default)]
pub(super) struct Served {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) in_service: Option<Waiting>,
    /// Scheduler of several queues. It replaces `waiting`.
    pub(super) scheduler: Option<Box<Scheduler<PacketId>>>,
    /// Time at which a shaper releases the next packet. An event is pending at this time.
    pub(super) opens: Option<Time>,
    /// Evicted packets that are not yet freed.
    pub(super) evicted: Vec<PacketId>,
    /// Packets on the wire that will be delivered before earlier packets.
    pub(super) overtaking: BinaryHeap<Reverse<Overtaking>>,
    pub(super) overtaken: u64,
    /// Queueing delay of the packet in service.
    pub(super) delay: Duration,
    pub(super) class: Option<usize>,
    /// Queueing delays of each service class, if the discipline has classes.
    pub(super) classes: Vec<Delays>,
}

impl Served {
    /// Creates an empty queue, or a scheduler with empty queues.
    pub(super) fn with(scheduler: Option<Box<Scheduler<PacketId>>>) -> Self {
        Self {
            scheduler,
            ..Self::default()
        }
    }

    /// Returns the number of packets queued or in service.
    #[inline(never)]
    pub(super) fn packets(&self) -> usize {
        let scheduled = self.scheduler.as_ref().map_or(0, |scheduler| scheduler.packets());
        self.waiting.len() + usize::from(self.in_service.is_some()) + scheduled as usize
    }
}

impl<P: Protocol> Link<P> {
    /// Enqueues a packet. If the transmitter is idle, starts the transmission at once.
    #[inline(never)]
    pub(super) fn wait(&mut self, now: Time, id: PacketId, size: u32, packets: &mut Slab<HeaderOf<P>>) -> Admission {
        match &mut self.served {
            Some(served) if served.scheduler.is_none() => {
                let _ = self.account::<false>(now, size);
                if let Some(served) = &mut self.served {
                    served.waiting.push_back(Waiting {
                        since: now,
                        packet: id,
                        size,
                    });
                }
            }
            _ => self.schedule(now, id, size, packets),
        }
        match self.serve(now, packets) {
            Some(done) => Admission::Served(done),
            None => Admission::Follows,
        }
    }

    /// Starts the transmission of a packet. Returns the end of the transmission.
    pub(super) fn begin(&mut self, now: Time, next: Waiting) -> Time {
        if let Some(served) = &mut self.served {
            served.in_service = Some(next);
        }
        if let Some(served) = &mut self.served {
            served.delay = now - next.since;
        }
        let done = now.saturating_add(self.transmission(next.size));
        if let Some(changing) = &mut self.changing {
            changing.begins(now, done);
        }
        done
    }

    /// Starts the next transmission if the transmitter is idle. Returns the end of the transmission.
    pub(super) fn serve(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) -> Option<Time> {
        let served = self.served.as_mut()?;
        if served.in_service.is_some() || self.changing.as_ref().is_some_and(|changing| changing.is_dead()) {
            return None;
        }
        if served.scheduler.is_some() {
            return self.serve_scheduled(now, packets);
        }
        loop {
            let served = self.served.as_mut()?;
            let next = served.waiting.pop_front()?;
            let left = served.waiting.len() as u32;
            if let Some(aqm) = &mut self.aqm {
                let port = PortView {
                    queue: Bytes::new(self.backlog - u64::from(next.size)),
                    packets: left,
                    in_service: Bytes::ZERO,
                    dropped: Bytes::ZERO,
                };
                match aqm.law.on_departure(&aqm.params, now, now - next.since, &port) {
                    Verdict::Pass => {}
                    Verdict::Notify if aqm.ecn && packets[next.packet].label.mark() => {
                        self.window.marked += 1;
                        self.counters.marked += 1;
                    }
                    Verdict::Notify | Verdict::Drop => {
                        self.evict(now, next);
                        self.count_drop(u64::from(next.size));
                        continue;
                    }
                }
            }
            return Some(self.begin(now, next));
        }
    }

    /// Handles the end of a transmission, or the release of a packet by a shaper. Puts a transmitted packet on the wire
    /// and starts the next transmission. Returns the delivery time of the transmitted packet if it is delivered next.
    /// Also returns the end of the next transmission.
    pub fn transmitted(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) -> (Option<Time>, Option<Time>) {
        let served = self.served.as_mut().expect("the link has a served queue");
        if served.opens == Some(now) && served.in_service.is_none() {
            served.opens = None;
            return (None, self.serve(now, packets));
        }
        let Waiting { packet, size, .. } = served.in_service.take().expect("a packet is in service");
        served.count_class();
        self.counters.delays.record(served.delay.as_ps());
        if let Some(changing) = &mut self.changing {
            changing.sends(now, size);
        }
        let lost = self.leave::<false>(packet, size, packets);
        let wire = self.wire.as_mut().expect("the link has a wire");
        let deliver = if lost {
            now.saturating_add(self.delay)
        } else {
            wire.due(now)
        };
        let first = self.put_on_wire(Transit {
            deliver,
            delay: COUNTED,
            packet,
            size,
        }) && !self.leads_elsewhere;
        (first.then_some(deliver), self.serve(now, packets))
    }

    /// Returns true if a transmission ends now, or a shaper releases a packet now. False if a change of the link has
    /// made the event obsolete.
    pub fn has_sent(&self, now: Time) -> bool {
        let served = |holds: fn(&Served, Time) -> bool| self.served.as_ref().is_some_and(|served| holds(served, now));
        let opens = || served(|served, now| served.opens == Some(now));
        let serves = || served(|served, _| served.in_service.is_some());
        self.changing
            .as_ref()
            .is_none_or(|changing| opens() || (changing.is_done(now) && serves()))
    }

    /// Returns the time of the next change of capacity, delay or loss.
    pub fn next_change(&self) -> Option<Time> {
        self.changing.as_ref().and_then(|changing| changing.due())
    }

    /// Changes capacity, delay and loss. Returns the end of the current transmission, or of a transmission that starts
    /// now.
    pub fn change(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) -> Option<Time> {
        let changing = self.changing.as_mut()?;
        let (same, notified) = (changing.capacity(), changing.notifies());
        let state = changing.enter();
        self.delay = state.wire.delay;
        if let Some(wire) = &mut self.wire {
            wire.set(state.wire);
        }
        if state.capacity == same {
            return None;
        }
        let before = self.pace;
        if state.capacity > Rate::ZERO {
            self.pace = pace(state.capacity, self.slow);
            self.notify(now, state.capacity, notified);
        }
        let served = self.served.as_ref().expect("the link has a served queue");
        match served.in_service {
            Some(_) => self.changing.as_mut()?.repace(now, before, self.pace),
            None => self.serve(now, packets),
        }
    }

    /// Notifies the queue discipline of a new capacity. If `laws` is true, also notifies the router laws.
    fn notify(&mut self, now: Time, capacity: Rate, laws: bool) {
        for port in self.ports.iter_mut().filter(|_| laws) {
            port.law.on_capacity(&port.params, capacity);
        }
        self.notify_police(capacity);
        if let Some(aqm) = &mut self.aqm {
            aqm.law.on_capacity(&aqm.params, now, capacity);
        }
    }

    /// Removes and returns an evicted packet. The caller frees its slot.
    #[inline]
    pub fn next_evicted(&mut self) -> Option<PacketId> {
        self.served.as_mut()?.evicted.pop()
    }

    /// Evicts a queued packet.
    pub(super) fn evict(&mut self, now: Time, packet: Waiting) {
        let size = u64::from(packet.size);
        self.backlog -= size;
        if let Some(served) = &mut self.served {
            served.evicted.push(packet.packet);
        }
        let (left, transmission) = (self.work_left(now), self.transmission(packet.size));
        if let Some(sizing) = &mut self.sizing {
            sizing.work(left, -transmission.as_secs_f64());
        }
        self.free_at = Time::from_ps(self.free_at.as_ps().saturating_sub(transmission.as_ps()));
    }

    /// Returns true if evictions can make room for `size` bytes. The discipline must evict queued packets for new
    /// packets. The new packet must fit when only the packet in service is left.
    pub(super) fn can_make_room(&self, size: u64) -> bool {
        let Some(served) = self.served.as_ref().filter(|_| self.overflow != Overflow::Tail) else {
            return false;
        };
        let in_service = served.in_service.map_or(0, |packet| u64::from(packet.size));
        match self.buffer {
            Buffer::Unlimited => true,
            Buffer::Bytes(limit) => in_service + size <= limit.get(),
            Buffer::Packets(limit) => u64::from(served.in_service.is_some()) < limit,
        }
    }

    /// Evicts packets from the front of the queue until `size` more bytes fit. If the limit is in packets, evicts at
    /// most one packet, even after the limit has been lowered.
    pub(super) fn make_room(&mut self, now: Time, size: u64) {
        while !self.fits(size, self.queue_packets() as u32) {
            let waiting = self.served.as_mut().and_then(|served| served.waiting.pop_front());
            let packet = waiting.expect("without waiting packets there is room");
            self.evict(now, packet);
            self.drop_for_lack_of_room(u64::from(packet.size));
            if matches!(self.buffer, Buffer::Packets(_)) {
                break;
            }
        }
    }
}
