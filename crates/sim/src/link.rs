//! One direction of a link: a queue, a transmitter and a wire.
//!
//! Where every decision falls on arrival, a packet's departure is known then, so it costs one event: delivery at the
//! far end. Departures are caught up with lazily, in order, before anything looks at the queue, so a router law that
//! stamps departing packets sees the same state as if each departure were an event: its state changes only at the end
//! of an interval, and every interval begins by catching up. A queue that drops from its front or decides on departure
//! costs a second event, when the transmitter is done. So does one of several queues, which are those of a [`Scheduler`]; a
//! shaper may let the transmitter wait, and costs one more event then.

mod classes;
mod scheduled;
mod served;
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use levelflow_laws::aqm::{AnyQueue, AnyQueueParams, Overflow, Verdict};
use levelflow_laws::{Arriving, PortInfo, PortView, Protocol, RouterLaw};
use levelflow_path::{Loss, Scheduler, Wire};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::changing::Changing;
use crate::counters::{LinkCounters, LinkSample, LinkWindow};
use crate::interner::Interner;
use crate::packet::{Packet, PacketId, Slab};
use crate::ring::Ring;
use crate::sizing::Sizing;
use levelflow_random::Stream;
use levelflow_scenario::LinkSpec;

use served::Served;
pub use wire::Delivery;
use wire::Overtaking;

/// The queueing delay of a packet that has been counted.
const COUNTED: Duration = Duration::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Transit {
    deliver: Time,
    /// Its queueing delay, until that is counted.
    delay: Duration,
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

impl<P: Protocol> Port<P> {
    fn new(params: &P::Params, info: &PortInfo, shared: &mut Interner<P::Params>) -> Self {
        Self {
            law: P::Router::new(params, info),
            params: shared.of(params.clone()),
            dropped: 0,
        }
    }
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

/// A link at work. What every packet needs comes first, on as few cache lines as possible.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link<P: Protocol> {
    /// Packets from the head of the queue to the far end; the first `departed` of them are on the wire. Where the transmitter
    /// says when it is done, these are all but those that overtake others.
    transit: Ring<Transit>,
    departed: u32,
    /// Departures follow from arrivals, and no packet overtakes another: it has neither a transmitter that says when it is done
    /// nor a wire that does more than delay.
    fifo: bool,
    /// It is first in, first out, without a queue discipline or an algorithm that sizes its buffer, as most links.
    plain: bool,
    stamps: bool,
    /// Its far end is in another part of the network, which gets what has left.
    leads_elsewhere: bool,
    overflow: Overflow,
    delay: Duration,
    free_at: Time,
    /// Picoseconds per byte.
    pace: f64,
    /// Backlog, bytes: waiting or in service.
    backlog: u64,
    /// Largest backlog since the last sample, bytes.
    backlog_max: u64,
    /// Largest backlog up to the last sample, bytes.
    backlog_before: u64,
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
    /// Packets that had left the queue at the last sample.
    left_at_sample: u64,
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
        let port = |params| Port::new(params, &info, shared);
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
            fifo: !served && wire.is_none(),
            plain: !served && wire.is_none() && aqm.is_none() && sizing.is_none(),
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
            backlog: 0,
            stamps: ports.iter().any(|p| p.law.stamps_departures()),
            wire,
            ports,
            counters: LinkCounters::default(),
            window: LinkWindow::default(),
            backlog_max: 0,
            backlog_before: 0,
            arrived_at_sample: 0,
            sent_at_sample: 0,
            left_at_sample: 0,
            arrived_before: 0,
        }
    }

    /// A host at this end has sent a packet, which will come to the queue at `at`. Gives the time at which the link must be
    /// looked at, if it has no event before which nothing needs to know of the packet.
    pub fn expect(&mut self, at: Time, id: PacketId) -> Option<Time> {
        let behind = self.entering.iter().rev().take_while(|&&(other, _)| other > at).count();
        let position = self.entering.len() - behind;
        if behind == 0 {
            // As a rule, and faster so.
            self.entering.push_back((at, id));
        } else {
            self.entering.insert(position, (at, id));
        }
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

    /// Returns whether a packet that came now would need an event of its own. A link to another part needs none: packets of
    /// hosts come to it before those that have left are collected.
    fn is_idle(&self) -> bool {
        match &self.served {
            Some(served) => served.in_service.is_none() && served.opens.is_none(),
            None => self.transit.is_empty() && !self.leads_elsewhere,
        }
    }

    /// Whether it has nothing but a queue with routers and a wire that only delays.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether departures follow from arrivals, and no packet overtakes another or is lost on the wire.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// A packet comes to the queue of a link that is plain.
    #[inline(always)] // per hop
    pub fn offer_plain(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Admission {
        let arriving = self.arrive::<true>(now, id, packets);
        let size = arriving.size.get();
        if !self.fits(size, arriving.packets) {
            self.count_drop(size);
            return Admission::Dropped;
        }
        self.join::<true>(now, id, size as u32)
    }

    /// A packet comes to the queue of any link.
    #[inline(never)]
    pub fn offer(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Admission {
        let arriving = if self.fifo {
            self.arrive::<true>(now, id, packets)
        } else {
            self.arrive::<false>(now, id, packets)
        };
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
        self.join::<false>(now, id, size as u32)
    }

    /// Routers and counters see a packet that comes, also one that is then dropped.
    #[inline(always)]
    fn arrive<const FIFO: bool>(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Arriving {
        self.depart_by::<FIFO>(now, packets);
        let packet = &mut packets[id];
        let size = u64::from(packet.size);
        let waiting = if FIFO { self.queued() } else { self.queue_packets() };
        let arriving = Arriving {
            now,
            size: Bytes::new(size),
            queue: Bytes::new(self.backlog),
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
        self.counters.arrived(size, self.backlog);
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
    fn join<const PLAIN: bool>(&mut self, now: Time, id: PacketId, size: u32) -> Admission {
        let delay = self.account::<PLAIN>(now, size);
        let deliver = self.free_at.saturating_add(self.delay);
        self.transit.push_back(Transit {
            deliver,
            delay,
            packet: id,
            size,
        });
        if self.transit.len() == 1 && !self.leads_elsewhere {
            Admission::First(deliver)
        } else {
            Admission::Follows
        }
    }

    /// Adds a packet to the backlog; returns its queueing delay if it keeps its place and the line its rate.
    #[inline(always)]
    fn account<const PLAIN: bool>(&mut self, now: Time, size: u32) -> Duration {
        let transmission = self.transmission(size);
        let begin = self.free_at.max(now);
        if !PLAIN && let Some(sizing) = &mut self.sizing {
            sizing.work((begin - now).as_secs_f64(), transmission.as_secs_f64());
        }
        self.free_at = begin.saturating_add(transmission);
        self.backlog += u64::from(size);
        self.backlog_max = self.backlog_max.max(self.backlog);
        begin - now
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

    /// Lets every packet leave the queue that has left by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, packets: &mut Slab<P::Header>) {
        self.depart_by::<false>(now, packets);
    }

    #[inline(always)]
    fn depart_by<const FIFO: bool>(&mut self, now: Time, packets: &mut Slab<P::Header>) {
        debug_assert!(!FIFO || self.fifo);
        if FIFO && self.free_at <= now && !self.stamps {
            // The transmitter is idle: all have left.
            debug_assert!(self.transit.back().is_none_or(|last| last.deliver <= now + self.delay));
            self.departed = self.transit.len() as u32;
            self.backlog = 0;
            return;
        }
        while let Some(&next) = self.transit.get(self.departed as usize) {
            if next.deliver > now + self.delay {
                break;
            }
            self.departed += 1;
            self.leave::<FIFO>(next.packet, next.size, packets);
        }
    }

    /// A packet leaves the queue; gives whether the wire will lose it.
    #[inline(always)]
    fn leave<const FIFO: bool>(&mut self, packet: PacketId, size: u32, packets: &mut Slab<P::Header>) -> bool {
        self.backlog -= u64::from(size);
        if self.stamps {
            self.stamp(&mut packets[packet], size);
        }
        let lost = !FIFO && self.wire.as_mut().is_some_and(|wire| wire.loses());
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
            queue: Bytes::new(self.backlog),
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
            queue: Bytes::new(self.backlog),
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
            sizing.close(now, &self.counters, (self.backlog, packets), left);
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
            Buffer::Bytes(limit) => self.backlog + size <= limit.get(),
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
        self.counters.arrived_bytes - self.counters.dropped_bytes - self.backlog
    }

    /// Counts the queueing delays of packets on the wire; departures have been caught up with.
    pub fn count_delays(&mut self) {
        for place in (0..self.departed as usize).rev() {
            match self.transit.get_mut(place) {
                Some(transit) if transit.delay != COUNTED => {
                    self.counters.delays.record(transit.delay.as_ps());
                    transit.delay = COUNTED;
                }
                _ => break, // so have those before it
            }
        }
    }

    /// Returns the sample since the last one. Departures must have been caught up with.
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

    /// Largest backlog so far, bytes.
    pub fn largest_backlog(&self) -> u64 {
        self.backlog_before.max(self.backlog_max)
    }

    /// Backlog, bytes: waiting or in service.
    pub fn backlog(&self) -> u64 {
        self.backlog
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
        let overtaking = self.served.as_ref().map_or(0, |served| served.overtaking.capacity());
        size_of::<Self>()
            + queues
            + overtaking * size_of::<Overtaking>()
            + scheduler
            + self.counters.memory()
            + self.classes_memory()
    }
}
