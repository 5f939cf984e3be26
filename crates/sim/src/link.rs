//! One direction of a link: a queue, a transmitter and a wire.
//!
//! Most links make every decision on arrival, so the departure time of a packet is known when it arrives. Such a packet
//! takes one event: its delivery at the far end. Departures before the current time are processed in order before the
//! queue is read. The state of a router law changes only at the end of a control interval. Earlier departures are
//! processed before this end, so a law that stamps departing packets uses the correct state. Queues that drop from
//! their front or decide on departure need a second event, at the end of each transmission. The queues of a
//! [`Scheduler`] need this event, too, and so do links that change or have jitter or batches. A shaper that delays the
//! transmitter needs a third event.

mod classes;
mod inspect;
mod intervals;
mod policing;
mod scheduled;
mod served;
mod wire;

use std::collections::VecDeque;
use std::sync::Arc;

use levelflow_laws::aqm::{AnyQueue, AnyQueueParams, Overflow, Verdict};
use levelflow_laws::police::Police;
use levelflow_laws::{Arriving, HeaderOf, PortInfo, Protocol, RouterLaw, RouterOf, RouterParamsOf};
use levelflow_path::{Scheduler, Wire, WireLoss};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::changing::Changing;
use crate::counters::{LinkCounters, LinkWindow};
use crate::id::PacketId;
use crate::interner::Interner;
use crate::packet::{Packet, Slab};
use crate::ring::Ring;
use crate::sizing::Sizing;
use levelflow_random::Stream;
use levelflow_scenario::LinkSpec;

use served::Served;
pub use wire::Delivery;

/// Delay value of a packet whose queueing delay has already been recorded.
const COUNTED: Duration = Duration::MAX;

#[derive(Debug, Clone, Copy, Default)]
struct Transit {
    deliver: Time,
    /// Queueing delay, or [`COUNTED`].
    delay: Duration,
    packet: PacketId,
    size: u32,
}

/// State of a router, aligned to a cache line. The routers of JetMax, EMKC and Kelly fit into one line.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct LawPort<P: Protocol> {
    pub params: Arc<RouterParamsOf<P>>,
    pub law: RouterOf<P>,
    /// Bytes dropped in the current control interval.
    dropped: u64,
}

impl<P: Protocol> LawPort<P> {
    fn new(params: &RouterParamsOf<P>, info: &PortInfo, shared: &mut Interner<RouterParamsOf<P>>) -> Self {
        Self {
            law: RouterOf::<P>::new(params, info),
            params: shared.of(params.clone()),
            dropped: 0,
        }
    }
}

/// State of a queue discipline.
#[derive(Debug)]
struct Aqm {
    law: AnyQueue,
    params: AnyQueueParams,
    ecn: bool,
    stream: Stream,
    /// Bytes dropped in the current control interval.
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

/// State of a link. The first fields are used for every packet and occupy few cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link<P: Protocol> {
    /// Packets in order, from the far end of the wire to the tail of the queue. The first `departed` packets are on the
    /// wire. If the transmitter has its own events, the ring contains only packets on the wire that are not in
    /// `overtaking`.
    transit: Ring<Transit>,
    departed: u32,
    /// True if departure times follow from arrivals and no packet overtakes another. The transmitter then has no events
    /// of its own, and the wire only delays packets.
    fifo: bool,
    /// True for a FIFO with neither queue discipline, buffer-sizing algorithm nor policer. Most links are plain.
    plain: bool,
    stamps: bool,
    /// True if the far end is in another part of the network. Departed packets are then moved to that part.
    leads_elsewhere: bool,
    overflow: Overflow,
    delay: Duration,
    free_at: Time,
    /// Transmission time per byte, ps.
    pace: f64,
    /// Bytes queued or in service.
    backlog: u64,
    /// Largest backlog since the last sample, bytes.
    backlog_max: u64,
    /// Largest backlog up to the last sample, bytes.
    backlog_before: u64,
    buffer: Buffer,
    /// Time at which the first packet in `entering` arrives at the queue. NEVER if `entering` is empty.
    pub first_entry: Time,
    pub ports: Vec<LawPort<P>>,
    pub counters: LinkCounters,
    served: Option<Box<Served>>,
    aqm: Option<Box<Aqm>>,
    sizing: Option<Box<Sizing>>,
    /// Policer of each port; empty if the routers do not police headers.
    police: Vec<Police>,
    /// Loss, jitter and delay of the wire. `None` if the wire loses no packet and the transmitter has no events of its
    /// own.
    wire: Option<Box<Wire>>,
    window: LinkWindow,
    /// Bytes that had arrived at the latest sample.
    arrived_at_sample: u64,
    /// Bytes that had left the queue at the latest sample.
    sent_at_sample: u64,
    /// Packets that had left the queue at the latest sample.
    left_at_sample: u64,
    /// Value of `counters.arrived_bytes` at the start of the first port's current interval.
    arrived_before: u64,
    /// Packets sent by hosts at this node that have not yet arrived at the queue, in order of arrival.
    entering: VecDeque<(Time, PacketId)>,
    /// Relative error of the transmitter's clock; positive if the clock is slow.
    slow: f64,
    changing: Option<Box<Changing>>,
}

/// Result of a packet's arrival at a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// Accepted, and no other packet is on the link. The delivery needs an event at this time.
    First(Time),
    /// Accepted, and its transmission starts at once. The transmission ends at this time.
    Served(Time),
    /// Accepted. No new event is needed.
    Follows,
    /// Dropped by the queue discipline, or because the buffer is full.
    Dropped,
}

/// Returns the transmission time per byte, ps.
fn pace(capacity: Rate, slow: f64) -> f64 {
    8e12 / (capacity.bps() * (1.0 - slow))
}

impl<P: Protocol> Link<P> {
    /// Creates an idle link. `id` identifies its routers.
    pub fn new(spec: &LinkSpec<P>, id: u32, seed: u64, shared: &mut Interner<RouterParamsOf<P>>) -> Self {
        let info = PortInfo {
            id,
            capacity: spec.capacity,
        };
        let port = |params| LawPort::new(params, &info, shared);
        let ports: Vec<LawPort<P>> = spec.routers.iter().map(port).collect();
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
        let wire = (served || spec.wire.loss != WireLoss::NONE).then(wire);
        Self {
            fifo: !served && wire.is_none(),
            plain: !served && wire.is_none() && aqm.is_none() && sizing.is_none() && !spec.police,
            sizing,
            police: Self::policers(spec, seed),
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

    /// Adds a packet sent by a host at this node. The packet arrives at the queue at `at`. Returns a wake-up time if no
    /// pending event of this link will admit the packet.
    pub fn expect(&mut self, at: Time, id: PacketId) -> Option<Time> {
        let behind = self.entering.iter().rev().take_while(|&&(other, _)| other > at).count();
        let position = self.entering.len() - behind;
        if behind == 0 {
            // This case is common, and an append is faster than an insertion.
            self.entering.push_back((at, id));
        } else {
            self.entering.insert(position, (at, id));
        }
        self.first_entry = self.first_entry.min(at);
        (position == 0 && self.is_idle()).then_some(at)
    }

    /// Removes and returns a packet of a host that has arrived at the queue by `now`, and its arrival time.
    pub fn entered(&mut self, now: Time) -> Option<(Time, PacketId)> {
        if self.first_entry > now {
            return None;
        }
        let entry = self.entering.pop_front();
        self.first_entry = self.entering.front().map_or(Time::NEVER, |&(at, _)| at);
        entry
    }

    /// Returns the arrival time of the next packet of a host. `None` if a pending event of this link will admit the
    /// packet.
    #[inline]
    pub fn next_entry(&self) -> Option<Time> {
        (self.first_entry < Time::NEVER && self.is_idle()).then_some(self.first_entry)
    }

    /// Returns true if an arriving packet needs its own event because the link has no pending event. A link to another
    /// part of the network needs no event: packets of hosts are admitted before departed packets are collected.
    fn is_idle(&self) -> bool {
        match &self.served {
            Some(served) => served.in_service.is_none() && served.opens.is_none(),
            None => self.transit.is_empty() && !self.leads_elsewhere,
        }
    }

    /// Returns true for a FIFO with neither queue discipline, buffer-sizing algorithm nor policer, whose wire only
    /// delays packets.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Returns true if departure times follow from arrivals, and the wire neither reorders nor loses packets.
    #[inline]
    pub fn is_fifo(&self) -> bool {
        self.fifo
    }

    /// Handles a packet that arrives at the queue of a plain link.
    #[inline(always)] // runs once per hop
    pub fn offer_plain(&mut self, now: Time, id: PacketId, packets: &mut Slab<HeaderOf<P>>) -> Admission {
        let arriving = self.arrive::<true>(now, id, packets);
        let size = arriving.size.get();
        if !self.fits(size, arriving.packets) {
            self.count_drop(size);
            return Admission::Dropped;
        }
        self.join::<true>(now, id, size as u32)
    }

    /// Handles a packet that arrives at the queue of any link.
    #[inline(never)]
    pub fn offer(&mut self, now: Time, id: PacketId, packets: &mut Slab<HeaderOf<P>>) -> Admission {
        if !self.police.is_empty() && self.refuses(now, id, packets) {
            return Admission::Dropped;
        }
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

    /// Updates routers and counters for an arriving packet. The packet may still be dropped.
    #[inline(always)]
    fn arrive<const FIFO: bool>(&mut self, now: Time, id: PacketId, packets: &mut Slab<HeaderOf<P>>) -> Arriving {
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

    /// Returns true if the queue discipline accepts the packet. The discipline may mark the packet.
    #[inline(never)]
    fn passes(&mut self, arriving: &Arriving, id: PacketId, packets: &mut Slab<HeaderOf<P>>) -> bool {
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

    /// Enqueues a packet that fits into the buffer.
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

    /// Adds a packet to the backlog. Returns its queueing delay, under the assumption that the packet is not dropped
    /// and the line rate does not change.
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

    /// Counts a drop that a larger buffer would have prevented. Buffer-sizing algorithms count only such drops.
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

    /// Removes from the queue every packet that has departed by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) {
        self.depart_by::<false>(now, packets);
    }

    #[inline(always)]
    fn depart_by<const FIFO: bool>(&mut self, now: Time, packets: &mut Slab<HeaderOf<P>>) {
        debug_assert!(!FIFO || self.fifo);
        if FIFO && self.free_at <= now && !self.stamps {
            // The transmitter is idle, so all packets have departed.
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

    /// Removes a packet from the queue. Returns true if the wire will lose the packet.
    #[inline(always)]
    fn leave<const FIFO: bool>(&mut self, packet: PacketId, size: u32, packets: &mut Slab<HeaderOf<P>>) -> bool {
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

    /// Passes a departing data packet to the router laws.
    #[inline(never)]
    fn stamp(&mut self, packet: &mut Packet<HeaderOf<P>>, size: u32) {
        if !packet.label.is_ack() {
            for port in &mut self.ports {
                port.law
                    .on_departure(&port.params, Bytes::new(u64::from(size)), &mut packet.header);
            }
        }
    }

    /// Returns true if `size` more bytes fit into the buffer. `packets` is the number of packets in the buffer.
    #[inline]
    fn fits(&self, size: u64, packets: u32) -> bool {
        match self.buffer {
            Buffer::Unlimited => true,
            Buffer::Bytes(limit) => self.backlog + size <= limit.get(),
            Buffer::Packets(limit) => u64::from(packets) < limit,
        }
    }

    /// Returns the transmission time, rounded to the nearest picosecond. The time is at most 7 days at the slowest
    /// rate, so it fits into a signed number. A float is converted faster to a signed than to an unsigned number.
    fn transmission(&self, size: u32) -> Duration {
        Duration::from_ps((f64::from(size) * self.pace + 0.5) as i64 as u64)
    }

    /// Returns the number of packets queued or in service.
    #[inline]
    pub fn queue_packets(&self) -> usize {
        let served = self.served.as_ref().map_or(0, |served| served.packets());
        self.queued() + served
    }

    #[inline]
    fn queued(&self) -> usize {
        self.transit.len() - self.departed as usize
    }

    /// Returns the size of the packet in service.
    fn in_service(&self) -> Bytes {
        let served = self.served.as_ref().and_then(|served| served.in_service);
        let next = self.transit.get(self.departed as usize).map(|next| next.size);
        Bytes::new(served.map(|served| served.size).or(next).unwrap_or(0).into())
    }
}
