//! One direction of a link: a queue, a transmitter and a wire.
//!
//! Where every decision falls on arrival, a packet's departure is known then, so it costs one event: delivery at the
//! far end. Departures are caught up with lazily, in order, before anything looks at the queue, so a router law that
//! stamps departing packets sees the same state as if each departure were an event: its state changes only at the end
//! of an interval, and every interval begins by catching up. A queue that drops from its front or decides on departure
//! costs a second event, when the transmitter is done. So does one of several queues, which are those of a [`Scheduler`]; a
//! shaper may let the transmitter wait, and costs one more event then.

mod scheduled;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use levelflow_laws::aqm::{AnyQueue, AnyQueueParams, Overflow, Verdict};
use levelflow_laws::{Arriving, PortInfo, PortView, Protocol, RouterLaw};
use levelflow_path::{Loss, Scheduler, Wire};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::changing::Changing;
use crate::counters::{LinkCounters, LinkSample, LinkWindow};
use crate::interner::Interner;
use crate::packet::{Packet, PacketId, Slab};
use crate::prefetch::ahead;
use crate::ring::Ring;
use crate::sizing::Sizing;
use levelflow_random::Stream;
use levelflow_results::Quantiles;
use levelflow_scenario::LinkSpec;

#[derive(Debug, Clone, Copy, Default)]
struct Transit {
    deliver: Time,
    packet: PacketId,
    size: u32,
}

/// A router half at work, from the beginning of a cache line: JetMax's, EMKC's and Kelly's take one.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Port<P: Protocol> {
    pub params: Arc<P::Params>,
    pub law: P::Router,
    /// Bytes dropped in the running interval.
    dropped: u64,
}

/// A queue discipline at work.
#[derive(Debug)]
struct Aqm {
    law: AnyQueue,
    params: AnyQueueParams,
    ecn: bool,
    stream: Stream,
    /// Bytes dropped in the running interval.
    dropped: u64,
    since: Time,
}

impl Aqm {
    fn new<P: Protocol>(spec: &LinkSpec<P>, info: &PortInfo, seed: u64) -> Self {
        Self {
            law: AnyQueue::new(&spec.queue, info),
            ecn: spec.queue.ecn(),
            params: spec.queue.clone(),
            stream: Stream::new(seed, "queue", &spec.name),
            dropped: 0,
            since: Time::ZERO,
        }
    }
}

/// A packet that waits for the transmitter.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Time,
    packet: PacketId,
    size: u32,
}

/// When a packet that overtakes others reaches the far end, which of those that did so it is, and its index.
type Overtaking = (Time, u64, PacketId);

/// The queue in front of a transmitter that says when it is done.
#[derive(Debug, Default)]
struct Served {
    waiting: VecDeque<Waiting>,
    in_service: Option<Waiting>,
    /// Several queues, instead of `waiting`.
    scheduler: Option<Box<Scheduler<PacketId>>>,
    /// When a shaper lets the next packet go; there is an event then.
    opens: Option<Time>,
    /// Packets that were dropped after they had joined the queue, to be discarded.
    evicted: Vec<PacketId>,
    /// Packets on the wire that overtake others.
    overtaking: BinaryHeap<Reverse<Overtaking>>,
    overtaken: u64,
}

impl Served {
    /// Nothing waits, in one queue or in those of a scheduler.
    fn with(scheduler: Option<Box<Scheduler<PacketId>>>) -> Self {
        Self {
            scheduler,
            ..Self::default()
        }
    }

    /// Packets waiting or in service.
    #[inline(never)]
    fn packets(&self) -> usize {
        let scheduled = self.scheduler.as_ref().map_or(0, |scheduler| scheduler.packets());
        self.waiting.len() + usize::from(self.in_service.is_some()) + scheduled as usize
    }
}

/// A link at work. What every packet needs comes first, on as few cache lines as possible.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link<P: Protocol> {
    /// Packets from the head of the queue to the far end; the first `departed` of them are on the wire. Where the transmitter
    /// says when it is done, these are all but those that overtake others.
    transit: Ring<Transit>,
    departed: u32,
    /// It has none of what most links do without: a transmitter that says when it is done, a queue discipline, an algorithm
    /// that sizes its buffer, a wire that does more than delay.
    plain: bool,
    stamps: bool,
    /// Its far end is in another part of the network, which gets what has left.
    leads_elsewhere: bool,
    overflow: Overflow,
    delay: Duration,
    free_at: Time,
    /// Picoseconds per byte.
    pace: f64,
    queue_bytes: u64,
    /// The most that it was since the last sample.
    queue_max: u64,
    buffer: Buffer,
    /// When the first of `entering` comes to the queue, perhaps never.
    pub first_entry: Time,
    pub ports: Vec<Port<P>>,
    pub counters: LinkCounters,
    served: Option<Box<Served>>,
    aqm: Option<Box<Aqm>>,
    sizing: Option<Box<Sizing>>,
    /// One that does more to packets than delay them evenly.
    wire: Option<Box<Wire>>,
    window: LinkWindow,
    /// Bytes that had arrived at the last sample.
    arrived_at_sample: u64,
    /// Bytes that had left the queue at the last sample.
    sent_at_sample: u64,
    /// Of `counters.arrived_bytes`, those that came before the first port's running interval.
    arrived_before: u64,
    /// Packets that hosts at this end have sent and that have not come to the queue, in the order in which they will.
    entering: VecDeque<(Time, PacketId)>,
    /// By what share its clock is slow.
    slow: f64,
    changing: Option<Box<Changing>>,
}

/// What became of a packet that came to a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the only one: deliver it then.
    First(Time),
    /// The transmitter takes it at once, and will be done then.
    Served(Time),
    /// It follows others.
    Follows,
    /// The buffer has no room for it, or the queue discipline dropped it.
    Dropped,
}

/// A packet at the far end of a link.
#[derive(Debug)]
pub struct Delivery {
    pub packet: PacketId,
    /// The wire lost it.
    pub lost: bool,
    /// When the next one is due.
    pub next: Option<Time>,
}

/// Picoseconds per byte.
fn pace(capacity: Rate, slow: f64) -> f64 {
    8e12 / (capacity.bps() * (1.0 - slow))
}

impl<P: Protocol> Link<P> {
    /// An idle link; `id` is what its routers call themselves.
    pub fn new(spec: &LinkSpec<P>, id: u32, seed: u64, shared: &mut Interner<P::Params>) -> Self {
        let info = PortInfo {
            id,
            capacity: spec.capacity,
        };
        let port = |params: &P::Params| Port {
            law: P::Router::new(params, &info),
            params: shared.of(params.clone()),
            dropped: 0,
        };
        let ports: Vec<Port<P>> = spec.routers.iter().map(port).collect();
        let overflow = spec.queue.overflow();
        let changes = !spec.changes.is_empty();
        let scheduler = Scheduler::new(&spec.queue, Stream::new(seed, "queue", &spec.name)).map(Box::new);
        let served = overflow == Overflow::Front
            || spec.queue.acts_on_departure()
            || scheduler.is_some()
            || changes
            || !spec.wire.is_even();
        let changing = || Box::new(Changing::new(spec.capacity, &spec.changes, spec.measured, ports.len()));
        let aqm = || Box::new(Aqm::new(spec, &info, seed));
        let wire = || Box::new(Wire::new(spec.wire, Stream::new(seed, "loss", &spec.name)));
        let sizing = spec
            .algorithm
            .as_ref()
            .map(|params| Box::new(Sizing::new(params, &info)));
        let buffer = match &sizing {
            Some(sizing) => Buffer::Packets(sizing.law.packets() as u64),
            None => spec.buffer,
        };
        let aqm = (!spec.queue.discipline().params.is_empty() && scheduler.is_none()).then(aqm);
        let wire = (served || spec.wire.loss != Loss::NONE).then(wire);
        Self {
            plain: !served && aqm.is_none() && sizing.is_none() && wire.is_none(),
            sizing,
            aqm,
            changing: changes.then(changing),
            served: served.then(|| Box::new(Served::with(scheduler))),
            overflow,
            leads_elsewhere: false,
            pace: pace(spec.capacity, spec.slow),
            slow: spec.slow,
            delay: spec.wire.delay,
            buffer,
            free_at: Time::ZERO,
            transit: Ring::default(),
            departed: 0,
            first_entry: Time::NEVER,
            entering: VecDeque::new(),
            queue_bytes: 0,
            stamps: ports.iter().any(|p| p.law.stamps_departures()),
            wire,
            ports,
            counters: LinkCounters::default(),
            window: LinkWindow::default(),
            queue_max: 0,
            arrived_at_sample: 0,
            sent_at_sample: 0,
            arrived_before: 0,
        }
    }

    /// A host at this end has sent a packet, which will come to the queue at `at`. Gives the time at which the link must be
    /// looked at, if it has no event before which nothing needs to know of the packet.
    pub fn expect(&mut self, at: Time, id: PacketId) -> Option<Time> {
        let behind = self.entering.iter().rev().take_while(|&&(other, _)| other > at).count();
        let position = self.entering.len() - behind;
        self.entering.insert(position, (at, id));
        self.first_entry = self.first_entry.min(at);
        (position == 0 && self.is_idle()).then_some(at)
    }

    /// The next packet of a host that has come to the queue by `now`, and when it came.
    pub fn entered(&mut self, now: Time) -> Option<(Time, PacketId)> {
        if self.first_entry > now {
            return None;
        }
        let entry = self.entering.pop_front();
        self.first_entry = self.entering.front().map_or(Time::NEVER, |&(at, _)| at);
        entry
    }

    /// When the next packet of a host comes to the queue, if the link has no event before which nothing needs to know of it.
    #[inline]
    pub fn next_entry(&self) -> Option<Time> {
        (self.first_entry < Time::NEVER && self.is_idle()).then_some(self.first_entry)
    }

    /// Whether a packet that came now would need an event of its own.
    fn is_idle(&self) -> bool {
        match &self.served {
            Some(served) => served.in_service.is_none() && served.opens.is_none(),
            None => self.transit.is_empty(),
        }
    }

    /// Whether it has nothing but a queue with routers and a wire that only delays.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// A packet comes to the queue.
    #[inline(always)]
    pub fn offer(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Admission {
        if !self.plain {
            return self.offer_special(now, id, packets);
        }
        let arriving = self.arrive::<true>(now, id, packets);
        let size = arriving.size.get();
        if !self.fits(size, arriving.packets) {
            self.count_drop(size);
            return Admission::Dropped;
        }
        self.join(now, id, size as u32)
    }

    /// A packet comes to the queue of a link that is not plain.
    #[inline(never)]
    fn offer_special(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Admission {
        let arriving = self.arrive::<false>(now, id, packets);
        let size = arriving.size.get();
        let full = !self.fits(size, arriving.packets);
        if full && !self.can_make_room(size) {
            self.drop_for_lack_of_room(size);
            return Admission::Dropped;
        }
        if self.aqm.is_some() && !self.passes(&arriving, id, packets) {
            self.count_drop(size);
            return Admission::Dropped;
        }
        if full && self.overflow == Overflow::Front {
            self.make_room(now, size);
        }
        if self.served.is_some() {
            return self.wait(now, id, size as u32, packets);
        }
        self.join(now, id, size as u32)
    }

    /// Routers and counters see a packet that comes, also one that is then dropped.
    #[inline(always)]
    fn arrive<const PLAIN: bool>(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Arriving {
        self.depart_by::<PLAIN>(now, packets);
        let packet = &mut packets[id];
        let size = u64::from(packet.size);
        let waiting = if PLAIN { self.queued() } else { self.queue_packets() };
        let arriving = Arriving {
            now,
            size: Bytes::new(size),
            queue: Bytes::new(self.queue_bytes),
            packets: waiting as u32,
        };
        for port in &mut self.ports {
            let own = if packet.label.is_ack() {
                None
            } else {
                Some(&mut packet.header)
            };
            port.law.on_arrival(&port.params, &arriving, own);
        }
        self.counters.arrived(size, self.queue_bytes);
        arriving
    }

    /// Whether the queue discipline lets a packet pass, which it may have marked.
    #[inline(never)]
    fn passes(&mut self, arriving: &Arriving, id: PacketId, packets: &mut Slab<P::Header>) -> bool {
        let Some(aqm) = &mut self.aqm else { return true };
        match aqm.law.on_arrival(&aqm.params, arriving, aqm.stream.unit()) {
            Verdict::Pass => true,
            Verdict::Notify if aqm.ecn && packets[id].label.mark() => {
                self.window.marked += 1;
                self.counters.marked += 1;
                true
            }
            Verdict::Notify | Verdict::Drop => false,
        }
    }

    /// A packet for which there is room joins the queue.
    #[inline(always)]
    fn join(&mut self, now: Time, id: PacketId, size: u32) -> Admission {
        self.account(now, size);
        let deliver = self.free_at.saturating_add(self.delay);
        self.transit.push_back(Transit {
            deliver,
            packet: id,
            size,
        });
        if self.transit.len() == 1 && !self.leads_elsewhere {
            Admission::First(deliver)
        } else {
            Admission::Follows
        }
    }

    /// Adds a packet to what the transmitter has before it.
    #[inline(always)]
    fn account(&mut self, now: Time, size: u32) {
        let transmission = self.transmission(size);
        let begin = self.free_at.max(now);
        if let Some(sizing) = &mut self.sizing {
            sizing.work((begin - now).as_secs_f64(), transmission.as_secs_f64());
        }
        self.free_at = begin.saturating_add(transmission);
        self.queue_bytes += u64::from(size);
        self.queue_max = self.queue_max.max(self.queue_bytes);
    }

    /// A packet waits for the transmitter, which takes it at once if it is free.
    #[inline(never)]
    fn wait(&mut self, now: Time, id: PacketId, size: u32, packets: &mut Slab<P::Header>) -> Admission {
        match &mut self.served {
            Some(served) if served.scheduler.is_none() => {
                self.account(now, size);
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

    /// The transmitter takes a packet; gives the time when it will be done with it.
    fn begin(&mut self, now: Time, next: Waiting) -> Time {
        if let Some(served) = &mut self.served {
            served.in_service = Some(next);
        }
        let done = now.saturating_add(self.transmission(next.size));
        if let Some(changing) = &mut self.changing {
            changing.begins(now, next.since, done);
        }
        done
    }

    /// Lets the transmitter take the next packet, if it is free; gives the time when it will be done with it.
    fn serve(&mut self, now: Time, packets: &mut Slab<P::Header>) -> Option<Time> {
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
                    queue: Bytes::new(self.queue_bytes - u64::from(next.size)),
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

    /// The transmitter is done with a packet, which goes on the wire, and takes the next one. Gives the time of delivery
    /// if nothing else is on the wire, and the time when it will be done again. Or a shaper lets it have a packet.
    pub fn transmitted(&mut self, now: Time, packets: &mut Slab<P::Header>) -> (Option<Time>, Option<Time>) {
        let served = self.served.as_mut().expect("only such a link has this event");
        if served.opens == Some(now) && served.in_service.is_none() {
            served.opens = None;
            return (None, self.serve(now, packets));
        }
        let Waiting { packet, size, .. } = served.in_service.take().expect("an event per packet");
        if let Some(changing) = &mut self.changing {
            changing.sends(now, size);
        }
        let lost = self.leave::<false>(packet, size, packets);
        let wire = self.wire.as_mut().expect("such a link has one");
        let deliver = if lost {
            now.saturating_add(self.delay)
        } else {
            wire.due(now)
        };
        let first = self.put_on_wire(Transit { deliver, packet, size }) && !self.leads_elsewhere;
        (first.then_some(deliver), self.serve(now, packets))
    }

    /// A packet has left, and may overtake others; gives whether it is the next to reach the far end.
    fn put_on_wire(&mut self, transit: Transit) -> bool {
        let first = self.next_delivery().is_none_or(|next| transit.deliver < next);
        let overtakes = self.transit.back().is_some_and(|last| last.deliver > transit.deliver);
        match &mut self.served {
            Some(served) if overtakes => {
                served.overtaken += 1;
                let entry = (transit.deliver, served.overtaken, transit.packet);
                served.overtaking.push(Reverse(entry));
            }
            _ => {
                self.transit.push_back(transit);
                self.departed += 1;
            }
        }
        first
    }

    /// When the next packet reaches the far end.
    fn next_delivery(&self) -> Option<Time> {
        let served = self.served.as_ref();
        let overtaking = served
            .and_then(|served| served.overtaking.peek())
            .map(|entry| entry.0.0);
        let in_order = self.transit.front().map(|transit| transit.deliver);
        overtaking.into_iter().chain(in_order).min()
    }

    /// The next packet at the far end, if it has overtaken another.
    fn take_overtaking(&mut self) -> Option<PacketId> {
        let overtaking = &mut self.served.as_mut()?.overtaking;
        let &Reverse((deliver, _, packet)) = overtaking.peek()?;
        if self.transit.front().is_some_and(|next| next.deliver <= deliver) {
            return None;
        }
        overtaking.pop();
        Some(packet)
    }

    /// Whether the packet in service has been sent: a link that changes may have put that off.
    pub fn has_sent(&self, now: Time) -> bool {
        let served = |holds: fn(&Served, Time) -> bool| self.served.as_ref().is_some_and(|served| holds(served, now));
        let opens = || served(|served, now| served.opens == Some(now));
        let serves = || served(|served, _| served.in_service.is_some());
        self.changing
            .as_ref()
            .is_none_or(|changing| opens() || (changing.is_done(now) && serves()))
    }

    /// When capacity, delay or loss change next.
    pub fn next_change(&self) -> Option<Time> {
        self.changing.as_ref().and_then(|changing| changing.due())
    }

    /// Capacity, delay and loss change; gives the time when the transmitter will be done with what it has or now takes.
    pub fn change(&mut self, now: Time, packets: &mut Slab<P::Header>) -> Option<Time> {
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
        let served = self.served.as_ref().expect("a link that changes serves packets");
        match served.in_service {
            Some(_) => self.changing.as_mut()?.repace(now, before, self.pace),
            None => self.serve(now, packets),
        }
    }

    /// The queue discipline and, if they do not measure it, router laws learn of another capacity.
    fn notify(&mut self, now: Time, capacity: Rate, laws: bool) {
        for port in self.ports.iter_mut().filter(|_| laws) {
            port.law.on_capacity(&port.params, capacity);
        }
        if let Some(aqm) = &mut self.aqm {
            aqm.law.on_capacity(&aqm.params, now, capacity);
        }
    }

    /// A packet that was dropped after it had joined the queue, to be discarded.
    #[inline]
    pub fn next_evicted(&mut self) -> Option<PacketId> {
        self.served.as_mut()?.evicted.pop()
    }

    /// Drops a packet that waits.
    fn evict(&mut self, now: Time, packet: Waiting) {
        let size = u64::from(packet.size);
        self.queue_bytes -= size;
        if let Some(served) = &mut self.served {
            served.evicted.push(packet.packet);
        }
        let (left, transmission) = (self.work_left(now), self.transmission(packet.size));
        if let Some(sizing) = &mut self.sizing {
            sizing.work(left, -transmission.as_secs_f64());
        }
        self.free_at = Time::from_ps(self.free_at.as_ps().saturating_sub(transmission.as_ps()));
    }

    /// Whether `size` more bytes fit once nothing waits but the packet in service, where what waits makes room.
    fn can_make_room(&self, size: u64) -> bool {
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

    /// Drops from the front until `size` more bytes fit. Of packets that no longer fit because the limit fell, only one makes way
    /// for another.
    fn make_room(&mut self, now: Time, size: u64) {
        while !self.fits(size, self.queue_packets() as u32) {
            let waiting = self.served.as_mut().and_then(|served| served.waiting.pop_front());
            let packet = waiting.expect("there is room without those that wait");
            self.evict(now, packet);
            self.drop_for_lack_of_room(u64::from(packet.size));
            if matches!(self.buffer, Buffer::Packets(_)) {
                break;
            }
        }
    }

    /// Counts a drop against which a larger buffer helps: what buffer-sizing algorithms count.
    fn drop_for_lack_of_room(&mut self, size: u64) {
        if let Some(sizing) = &mut self.sizing {
            sizing.refuse(size);
        }
        self.count_drop(size);
    }

    fn count_drop(&mut self, size: u64) {
        self.ports.iter_mut().for_each(|port| port.dropped += size);
        if let Some(aqm) = &mut self.aqm {
            aqm.dropped += size;
        }
        self.window.dropped += 1;
        self.window.dropped_bytes += size;
        self.counters.dropped(size);
    }

    /// The packet that is due reaches the far end.
    #[inline]
    pub fn deliver(&mut self, packets: &mut Slab<P::Header>) -> Delivery {
        if !self.plain {
            return self.deliver_special(packets);
        }
        let packet = self.next_in_order::<true>(packets);
        self.counters.delivered += 1;
        Delivery {
            packet,
            lost: false,
            next: self.transit.front().map(|next| next.deliver),
        }
    }

    /// The same for a link that is not plain.
    #[inline(never)]
    fn deliver_special(&mut self, packets: &mut Slab<P::Header>) -> Delivery {
        let overtaking = self.take_overtaking();
        let packet = overtaking.unwrap_or_else(|| self.next_in_order::<false>(packets));
        let lost = self.wire.is_some() && packets[packet].label.is_lost();
        if lost {
            self.counters.lost += 1;
        } else {
            self.counters.delivered += 1;
        }
        Delivery {
            packet,
            lost,
            next: self.next_delivery(),
        }
    }

    /// Takes the first packet, which leaves the queue if it has not.
    #[inline(always)]
    fn next_in_order<const PLAIN: bool>(&mut self, packets: &mut Slab<P::Header>) -> PacketId {
        let Transit { packet, size, .. } = self.transit.pop_front().expect("an event per packet");
        match self.departed.checked_sub(1) {
            Some(departed) => self.departed = departed,
            None => _ = self.leave::<PLAIN>(packet, size, packets),
        }
        packet
    }

    /// Packets to ask for: see [`ahead`].
    #[inline]
    pub fn ahead(&self) -> Option<[PacketId; 2]> {
        ahead(&self.transit, |t| t.packet)
    }

    /// Its far end is in another part of the network.
    pub fn lead_elsewhere(&mut self) {
        self.leads_elsewhere = true;
    }

    /// The next packet that has left for another part, and when it reaches the far end.
    pub fn pass_on(&mut self) -> Option<(Time, PacketId)> {
        self.departed = self.departed.checked_sub(1)?;
        self.transit
            .pop_front()
            .map(|transit| (transit.deliver, transit.packet))
    }

    /// When the next packet leaves for another part, if no event is due then.
    pub fn next_departure(&self) -> Option<Time> {
        let next = self.transit.get(self.departed as usize)?;
        Some(Time::from_ps(next.deliver.as_ps() - self.delay.as_ps()))
    }

    /// A packet has left in another part; gives whether it is the only one here.
    pub fn accept(&mut self, deliver: Time, packet: PacketId, size: u32) -> bool {
        self.transit.push_back(Transit { deliver, packet, size });
        self.departed += 1;
        self.transit.len() == 1
    }

    /// Lets every packet leave the queue that has left by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, packets: &mut Slab<P::Header>) {
        self.depart_by::<false>(now, packets);
    }

    #[inline(always)]
    fn depart_by<const PLAIN: bool>(&mut self, now: Time, packets: &mut Slab<P::Header>) {
        debug_assert!(!PLAIN || self.plain);
        while let Some(&next) = self.transit.get(self.departed as usize) {
            if next.deliver > now + self.delay {
                break;
            }
            self.departed += 1;
            self.leave::<PLAIN>(next.packet, next.size, packets);
        }
    }

    /// A packet leaves the queue; gives whether the wire will lose it.
    #[inline(always)]
    fn leave<const PLAIN: bool>(&mut self, packet: PacketId, size: u32, packets: &mut Slab<P::Header>) -> bool {
        self.queue_bytes -= u64::from(size);
        if self.stamps {
            self.stamp(&mut packets[packet], size);
        }
        let lost = !PLAIN && self.wire.as_mut().is_some_and(|wire| wire.loses());
        if lost {
            packets[packet].label.lose();
        }
        lost
    }

    /// Router laws see a data packet that leaves the queue.
    #[inline(never)]
    fn stamp(&mut self, packet: &mut Packet<P::Header>, size: u32) {
        if !packet.label.is_ack() {
            for port in &mut self.ports {
                port.law
                    .on_departure(&port.params, Bytes::new(u64::from(size)), &mut packet.header);
            }
        }
    }

    /// The interval of one port ends; the departures up to now have been caught up with.
    pub fn close_interval(&mut self, port: usize, elapsed: Duration) {
        let (packets, in_service) = (self.queue_packets() as u32, self.in_service());
        let measured = self.changing.as_mut().and_then(|changing| changing.measured(port));
        let Port { law, params, dropped } = &mut self.ports[port];
        if let Some(capacity) = measured {
            law.on_capacity(params, capacity);
        }
        let dropped = std::mem::take(dropped);
        let view = PortView {
            queue: Bytes::new(self.queue_bytes),
            packets,
            in_service,
            dropped: Bytes::new(dropped),
        };
        law.on_interval(params, elapsed, &view);
        if port == 0 {
            let before = std::mem::replace(&mut self.arrived_before, self.counters.arrived_bytes);
            let arrived = self.counters.arrived_bytes - before;
            self.window.interval(arrived, dropped, elapsed);
        }
    }

    /// Time between two calls of [`close_queue_interval`](Self::close_queue_interval), if the discipline has one.
    pub fn queue_interval(&self) -> Option<Duration> {
        match &self.aqm {
            Some(aqm) => aqm.params.interval(),
            None => self.scheduler().and_then(Scheduler::interval),
        }
    }

    /// The interval of the queue discipline ends; the departures up to now have been caught up with.
    pub fn close_queue_interval(&mut self, now: Time) {
        let (packets, in_service) = (self.queue_packets() as u32, self.in_service());
        self.with_scheduler(|scheduler| scheduler.handle_interval(now));
        let Some(aqm) = &mut self.aqm else { return };
        let view = PortView {
            queue: Bytes::new(self.queue_bytes),
            packets,
            in_service,
            dropped: Bytes::new(std::mem::take(&mut aqm.dropped)),
        };
        let elapsed = now - std::mem::replace(&mut aqm.since, now);
        aqm.law.on_interval(&aqm.params, elapsed, &view);
    }

    /// Time between two calls of [`size_buffer`](Self::size_buffer), if there is an algorithm.
    pub fn sizing_interval(&self) -> Option<Duration> {
        self.sizing.as_ref().map(|sizing| sizing.law.interval())
    }

    /// The interval of the algorithm ends, which then [requests](Self::wanted_packets) packets; the departures up to now have been
    /// caught up with. Packets that no longer fit stay.
    pub fn size_buffer(&mut self, now: Time) {
        let packets = self.queue_packets() as u32;
        let left = self.work_left(now);
        if let Some(sizing) = &mut self.sizing {
            sizing.close(now, &self.counters, (self.queue_bytes, packets), left);
        }
    }

    /// Seconds for which the transmitter is busy with what it has.
    fn work_left(&self, now: Time) -> f64 {
        (self.free_at.max(now) - now).as_secs_f64()
    }

    /// Packets that the algorithm requests, if there is one.
    pub fn wanted_packets(&self) -> Option<f64> {
        self.sizing.as_ref().map(|sizing| sizing.law.packets())
    }

    /// The algorithm gets `packets`, at most its request.
    pub fn grant(&mut self, packets: f64) {
        let Some(sizing) = &mut self.sizing else { return };
        self.buffer = Buffer::Packets(packets as u64);
        if packets < sizing.law.packets() * (1.0 - 1e-9) {
            sizing.law.on_grant(packets);
        }
    }

    /// Whether a packet is due at the far end: one that has overtaken others leaves events behind that nothing is due at.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.plain || self.served.is_none() || self.next_delivery().is_some_and(|next| next <= now)
    }

    /// How long packets waited, s, if the link changes.
    pub fn waits(&self) -> Option<Quantiles> {
        self.changing.as_ref().and_then(|changing| changing.waits())
    }

    /// Packets that fit the buffer; NaN if it is in bytes or has no limit.
    pub fn buffer_packets(&self) -> f64 {
        match self.buffer {
            Buffer::Packets(packets) => packets as f64,
            Buffer::Bytes(_) | Buffer::Unlimited => f64::NAN,
        }
    }

    /// What the first router law here feeds back, or else what the queue discipline says of itself; NaN if nothing.
    pub fn signal(&self) -> f64 {
        match (self.ports.first(), &self.aqm) {
            (Some(port), _) => port.law.signal(),
            (None, Some(aqm)) => aqm.law.signal(),
            (None, None) => self.scheduler().map_or(f64::NAN, Scheduler::signal),
        }
    }

    /// Whether there is room for `size` more bytes beside so many packets.
    #[inline]
    fn fits(&self, size: u64, packets: u32) -> bool {
        match self.buffer {
            Buffer::Unlimited => true,
            Buffer::Bytes(limit) => self.queue_bytes + size <= limit.get(),
            Buffer::Packets(limit) => u64::from(packets) < limit,
        }
    }

    /// To the nearest picosecond; at most 7 days at the slowest rate, so that a signed number holds it, which is faster to
    /// convert to.
    fn transmission(&self, size: u32) -> Duration {
        Duration::from_ps((f64::from(size) * self.pace + 0.5) as i64 as u64)
    }

    /// Packets waiting or in service.
    #[inline]
    pub fn queue_packets(&self) -> usize {
        let served = self.served.as_ref().map_or(0, |served| served.packets());
        self.queued() + served
    }

    #[inline]
    fn queued(&self) -> usize {
        self.transit.len() - self.departed as usize
    }

    /// Bytes of the packet in service.
    fn in_service(&self) -> Bytes {
        let served = self.served.as_ref().and_then(|served| served.in_service);
        let next = self.transit.get(self.departed as usize).map(|next| next.size);
        Bytes::new(served.map(|served| served.size).or(next).unwrap_or(0).into())
    }

    /// Bytes that left the queue for the wire.
    pub fn sent_bytes(&self) -> u64 {
        self.counters.arrived_bytes - self.counters.dropped_bytes - self.queue_bytes
    }

    /// What happened since the last sample.
    pub fn sample(&mut self) -> LinkSample {
        let (arrived, sent) = (self.counters.arrived_bytes, self.sent_bytes());
        LinkSample {
            arrived_bytes: arrived - std::mem::replace(&mut self.arrived_at_sample, arrived),
            sent_bytes: sent - std::mem::replace(&mut self.sent_at_sample, sent),
            queue_max: std::mem::take(&mut self.queue_max).max(self.queue_bytes),
            window: std::mem::take(&mut self.window),
        }
    }

    /// Bytes waiting or in service.
    pub fn queue_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Packets on their way from hosts at this end.
    pub fn entering(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.entering.iter().map(|&(_, packet)| packet)
    }

    /// Packets waiting, in service or on the wire.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        let waiting = self.served.iter().flat_map(|s| s.waiting.iter().chain(&s.in_service));
        let on_wire = self.transit.iter().map(|t| t.packet);
        on_wire
            .chain(self.overtaking().map(|(packet, _)| packet))
            .chain(waiting.map(|w| w.packet))
            .chain(self.scheduled())
    }

    /// Packets on the wire that overtake others, and when each reaches the far end.
    fn overtaking(&self) -> impl Iterator<Item = (PacketId, Time)> + '_ {
        let served = self.served.iter();
        served.flat_map(|served| {
            served
                .overtaking
                .iter()
                .map(|&Reverse((deliver, _, packet))| (packet, deliver))
        })
    }

    /// Propagation delay.
    pub fn delay(&self) -> Duration {
        self.delay
    }

    /// Packets here, and when each reaches the far end, if that is known.
    pub fn stays(&self) -> impl Iterator<Item = (PacketId, Option<Time>)> + '_ {
        let waiting = self.served.iter().flat_map(|s| s.in_service.iter().chain(&s.waiting));
        let in_order = self.transit.iter().map(|t| (t.packet, Some(t.deliver)));
        let on_wire = in_order.chain(self.overtaking().map(|(packet, deliver)| (packet, Some(deliver))));
        let waiting = waiting.map(|w| w.packet).chain(self.scheduled());
        on_wire.chain(waiting.map(|packet| (packet, None)))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        let queues = self.transit.memory() + self.entering.capacity() * size_of::<(Time, PacketId)>();
        let scheduler = self.scheduler().map_or(0, Scheduler::memory_held);
        let overtaking = self.overtaking().count() * size_of::<Overtaking>();
        size_of::<Self>() + queues + overtaking + scheduler + self.counters.memory()
    }
}
