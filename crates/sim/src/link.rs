//! One direction of a link: a drop-tail queue, a transmitter and a wire.
//!
//! A packet's departure is known when it arrives, so it costs one event: delivery at the far end. Departures are
//! caught up with lazily, in order, before anything looks at the queue, so a router law that stamps departing packets
//! sees the same state as if each departure were an event: its state changes only at the end of an interval, and
//! every interval begins by catching up.

use std::collections::VecDeque;

use levelflow_protocols::{PortInfo, PortView, Protocol, RouterLaw};
use levelflow_units::{Bytes, Duration, Time};

use crate::counters::{LinkCounters, LinkWindow};
use crate::flow::later;
use crate::network::{Buffer, LinkSpec};
use crate::packet::{PacketId, Slab};
use crate::rng::Stream;

#[derive(Debug, Clone, Copy)]
struct Transit {
    deliver: Time,
    packet: PacketId,
    size: u32,
}

/// A router half at work.
#[derive(Debug)]
pub struct Port<P: Protocol> {
    pub law: P::Router,
    pub params: P::Params,
    /// Bytes dropped in the running interval.
    dropped: u64,
}

/// A link at work.
#[derive(Debug)]
pub struct Link<P: Protocol> {
    /// Picoseconds per byte.
    pace: f64,
    delay: Duration,
    buffer: Buffer,
    free_at: Time,
    /// Packets from the head of the queue to the far end; the first `departed` of them are on the wire.
    transit: VecDeque<Transit>,
    departed: usize,
    queue_bytes: u64,
    stamps: bool,
    loss: f64,
    stream: Stream,
    pub ports: Vec<Port<P>>,
    pub counters: LinkCounters,
    pub window: LinkWindow,
    /// Bytes that arrived in the first port's running interval.
    interval_arrived: u64,
}

/// What became of a packet that came to a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is the only one: deliver it then.
    First(Time),
    /// It follows others.
    Follows,
    /// There was no room.
    Dropped,
}

/// A packet at the far end of a link.
#[derive(Debug)]
pub struct Delivery {
    pub packet: PacketId,
    /// The wire lost it.
    pub lost: bool,
    /// The next one, and when it is due.
    pub next: Option<(Time, PacketId)>,
}

impl<P: Protocol> Link<P> {
    /// An idle link; `id` is what its routers call themselves.
    pub fn new(spec: &LinkSpec<P>, id: u32, seed: u64) -> Self {
        let info = PortInfo {
            id,
            capacity: spec.capacity,
        };
        let port = |params: &P::Params| Port {
            law: P::Router::new(params, &info),
            params: params.clone(),
            dropped: 0,
        };
        let ports: Vec<Port<P>> = spec.routers.iter().map(port).collect();
        Self {
            pace: 8e12 / spec.capacity.bps(),
            delay: spec.delay,
            buffer: spec.buffer,
            free_at: Time::ZERO,
            transit: VecDeque::new(),
            departed: 0,
            queue_bytes: 0,
            stamps: ports.iter().any(|p| p.law.stamps_departures()),
            loss: spec.loss,
            stream: Stream::new(seed, "loss", &spec.name),
            ports,
            counters: LinkCounters::default(),
            window: LinkWindow::default(),
            interval_arrived: 0,
        }
    }

    /// A packet comes to the queue.
    #[inline]
    pub fn admit(&mut self, now: Time, id: PacketId, packets: &mut Slab<P::Header>) -> Admission {
        self.catch_up(now, packets);
        let packet = &mut packets[id];
        let size = packet.size;
        for port in &mut self.ports {
            let own = if packet.answer { None } else { Some(&mut packet.header) };
            port.law.on_arrival(&port.params, Bytes::new(u64::from(size)), own);
        }
        let size = u64::from(size);
        self.interval_arrived += size;
        self.window.arrived_bytes += size;
        self.counters.arrived(size, self.queue_bytes);
        if !self.has_room(size) {
            self.ports.iter_mut().for_each(|port| port.dropped += size);
            self.window.dropped += 1;
            self.window.dropped_bytes += size;
            self.counters.dropped(size);
            return Admission::Dropped;
        }
        self.queue_bytes += size;
        self.window.queue_max = self.window.queue_max.max(self.queue_bytes);
        self.free_at = later(self.free_at.max(now), self.transmission(size));
        let deliver = later(self.free_at, self.delay);
        self.transit.push_back(Transit {
            deliver,
            packet: id,
            size: size as u32,
        });
        if self.transit.len() == 1 {
            Admission::First(deliver)
        } else {
            Admission::Follows
        }
    }

    /// The packet that is due reaches the far end.
    #[inline]
    pub fn deliver(&mut self, packets: &mut Slab<P::Header>) -> Delivery {
        if self.departed == 0 {
            self.depart(packets);
        }
        self.departed -= 1;
        let transit = self.transit.pop_front().expect("an event per packet");
        let lost = self.loss > 0.0 && self.stream.unit() < self.loss;
        if lost {
            self.counters.lost += 1;
        } else {
            self.counters.delivered += 1;
        }
        Delivery {
            packet: transit.packet,
            lost,
            next: self.transit.front().map(|t| (t.deliver, t.packet)),
        }
    }

    /// Lets every packet leave the queue that has left by `now`.
    #[inline]
    pub fn catch_up(&mut self, now: Time, packets: &mut Slab<P::Header>) {
        while let Some(next) = self.transit.get(self.departed) {
            if next.deliver > now + self.delay {
                break;
            }
            self.depart(packets);
        }
    }

    #[inline]
    fn depart(&mut self, packets: &mut Slab<P::Header>) {
        let Transit { packet, size, .. } = self.transit[self.departed];
        self.departed += 1;
        self.queue_bytes -= u64::from(size);
        self.window.sent_bytes += u64::from(size);
        if self.stamps {
            let packet = &mut packets[packet];
            if !packet.answer {
                for port in &mut self.ports {
                    port.law.on_departure(&port.params, &mut packet.header);
                }
            }
        }
    }

    /// The interval of one port ends; the departures up to now have been caught up with.
    pub fn close_interval(&mut self, port: usize, elapsed: Duration) {
        let Port { law, params, dropped } = &mut self.ports[port];
        let dropped = std::mem::take(dropped);
        let view = PortView {
            queue: Bytes::new(self.queue_bytes),
            dropped: Bytes::new(dropped),
        };
        law.on_interval(params, elapsed, &view);
        if port == 0 {
            let arrived = std::mem::take(&mut self.interval_arrived);
            self.window.interval(arrived, dropped, elapsed);
        }
    }

    fn has_room(&self, size: u64) -> bool {
        match self.buffer {
            Buffer::Unlimited => true,
            Buffer::Bytes(limit) => self.queue_bytes + size <= limit.get(),
            Buffer::Packets(limit) => (self.queue_packets() as u64) < limit,
        }
    }

    /// To the nearest picosecond; at most 7 days at the slowest rate.
    fn transmission(&self, size: u64) -> Duration {
        Duration::from_ps((size as f64 * self.pace + 0.5) as u64)
    }

    /// Packets waiting or in service.
    pub fn queue_packets(&self) -> usize {
        self.transit.len() - self.departed
    }

    /// Bytes waiting or in service.
    pub fn queue_bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Packets waiting, in service or on the wire.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.transit.iter().map(|t| t.packet)
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.transit.capacity() * size_of::<Transit>() + self.counters.memory()
    }
}
