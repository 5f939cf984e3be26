//! One output port: the router half of a law, its intervals, and counters for people. It stamps datagrams.

use levelflow_laws::offload::Counts;
use levelflow_laws::{Any, AnyHeader, AnyParams, AnyRouter, Arriving, Kind, PortInfo, PortView, Protocol, RouterLaw};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{Log, LoggedRouter, Sink};
use levelflow_wire::shim::{LENGTH, Shim};
use serde::Serialize;

use crate::fifo::{Backlog, Departure};
use crate::law::HopLaw;

/// Intervals are not closed more often than this, whatever round-trip times packets claim: a law divides by the time
/// that it measures.
const SHORTEST: Duration = Duration::from_us(500);

/// What a packet is to a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It has a header of the router's law, which may be stamped.
    Ours,
    /// An ACK of the router's law.
    Ack,
    /// It has the shim of the router's law, and a header that no sender or router writes.
    Refused,
    /// Anything else.
    Foreign,
}

/// What has come and gone since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Packets that came.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets whose header the law saw.
    pub stamped: u64,
    /// ACKs of the law.
    pub acks: u64,
    /// Packets with the shim of the law and a header that no sender or router writes.
    pub refused: u64,
    /// Other packets.
    pub foreign: u64,
    /// Packets dropped for want of room.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Intervals closed.
    pub intervals: u64,
    /// Nanoseconds by which the latest of their ends was late.
    pub worst_late_ns: u64,
}

/// What a data path has counted since it was last asked, for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that came.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets whose header was stamped.
    pub stamped: u64,
    /// ACKs of the law.
    pub acks: u64,
    /// Packets with the shim of the law and a header that no sender or router writes.
    pub refused: u64,
}

/// A law at work at an output port, whose log goes to `S`.
#[derive(Debug)]
pub struct Port<S: Sink> {
    info: PortInfo,
    params: AnyParams,
    law: LoggedRouter<S>,
    opened: Time,
    due: Time,
    /// Bytes dropped in this interval.
    dropped: u64,
    counters: Counters,
}

impl<S: Sink> Port<S> {
    /// A port whose first interval begins now.
    #[must_use]
    pub fn new(params: AnyParams, info: PortInfo, now: Time) -> Self {
        let law = LoggedRouter::new(&params, &info, None);
        let mut port = Self {
            info,
            params,
            law,
            opened: now,
            due: now,
            dropped: 0,
            counters: Counters::default(),
        };
        port.due = port.end_of_interval(now);
        port
    }

    /// Logs the input of the law from now on, which must be before the first packet.
    pub fn log(&mut self, log: Log<S>) {
        self.law = LoggedRouter::new(&self.params, &self.info, Some(log));
    }

    /// The line has another rate from now on, above zero.
    pub fn set_capacity(&mut self, capacity: Rate) {
        self.info.capacity = capacity;
        self.law.on_capacity(&self.params, capacity);
    }

    /// A packet of this size comes, and its payload begins with these bytes. The law counts it, and stamps it if it is one of
    /// its own; bytes of any other packet stay as they are.
    pub fn arrive(&mut self, packet: &Arriving, payload: &mut [u8]) -> Class {
        let class = match header(&self.params, payload) {
            Ok(mut header) => {
                self.law.on_arrival(&self.params, packet, Some(&mut header));
                header.encode(&mut payload[LENGTH..]);
                Class::Ours
            }
            Err(class) => {
                self.law.on_arrival(&self.params, packet, None);
                class
            }
        };
        self.counters.packets += 1;
        self.counters.bytes += packet.size.get();
        *match class {
            Class::Ours => &mut self.counters.stamped,
            Class::Ack => &mut self.counters.acks,
            Class::Refused => &mut self.counters.refused,
            Class::Foreign => &mut self.counters.foreign,
        } += 1;
        class
    }

    /// A packet that came as [`Class::Ours`] leaves.
    pub fn depart(&mut self, size: Bytes, payload: &mut [u8]) {
        if self.law.stamps_departures()
            && let Ok(mut header) = header(&self.params, payload)
        {
            self.law.on_departure(&self.params, size, &mut header);
            header.encode(&mut payload[LENGTH..]);
        }
    }

    /// Packets that came found no room; their bytes.
    pub fn lose(&mut self, packets: u32, bytes: Bytes) {
        self.dropped = self.dropped.saturating_add(bytes.get());
        self.counters.dropped += u64::from(packets);
        self.counters.dropped_bytes = self.counters.dropped_bytes.saturating_add(bytes.get());
    }

    /// A data path has done the work of [`arrive`](Self::arrive) and [`depart`](Self::depart) for these packets. The interval
    /// must be closed next.
    pub fn absorb(&mut self, counted: &Counts, traffic: &Traffic) {
        self.law.absorb(&self.params, counted);
        let known = traffic.stamped + traffic.acks + traffic.refused;
        let c = &mut self.counters;
        c.packets += traffic.packets;
        c.bytes += traffic.bytes;
        c.stamped += traffic.stamped;
        c.acks += traffic.acks;
        c.refused += traffic.refused;
        c.foreign += traffic.packets.saturating_sub(known);
    }

    /// When the running interval ends.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// When the running interval began.
    #[must_use]
    pub fn opened(&self) -> Time {
        self.opened
    }

    /// Ends the running interval, with this much in the queue.
    pub fn close(&mut self, now: Time, backlog: Backlog) {
        let view = PortView {
            queue: backlog.bytes,
            packets: backlog.packets,
            in_service: backlog.in_service,
            dropped: Bytes::new(std::mem::take(&mut self.dropped)),
        };
        self.law.on_interval(&self.params, now.since(self.opened), &view);
        self.counters.intervals += 1;
        let late = now.since(self.due).as_ps() / 1000;
        self.counters.worst_late_ns = self.counters.worst_late_ns.max(late);
        self.opened = now;
        self.due = self.end_of_interval(now);
    }

    /// Counted from now, not from when the last one should have ended: a short interval after a late one would hold a
    /// handful of packets, and laws divide by what they count.
    fn end_of_interval(&self, now: Time) -> Time {
        let length = self.law.interval(&self.params).max(SHORTEST);
        now.saturating_add(length)
    }

    /// The law's state.
    #[must_use]
    pub fn law(&self) -> &AnyRouter {
        &self.law
    }

    /// The law's parameters.
    #[must_use]
    pub fn params(&self) -> &AnyParams {
        &self.params
    }

    /// Identity and line rate.
    #[must_use]
    pub fn info(&self) -> &PortInfo {
        &self.info
    }

    /// What was counted.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// A packet whose UDP payload a [`Port`] may stamp.
pub trait Datagram {
    /// The payload; empty in a packet of another kind.
    fn payload(&mut self) -> &mut [u8];

    /// Whether the packet came as [`Class::Ours`], which the port notes here.
    fn ours(&mut self) -> &mut bool;

    /// The payload has been stamped, and so checksums are wrong.
    fn fix_checksum(&mut self) {}
}

impl<S: Sink, T: Datagram> HopLaw<T> for Port<S> {
    fn handle_arrival(&mut self, arriving: &Arriving, packet: &mut T) {
        let ours = self.arrive(arriving, packet.payload()) == Class::Ours;
        *packet.ours() = ours;
        if ours {
            packet.fix_checksum();
        }
    }

    fn handle_departure(&mut self, departure: &mut Departure<T>) {
        if *departure.packet.ours() {
            self.depart(departure.size, departure.packet.payload());
            departure.packet.fix_checksum();
        }
    }

    fn handle_drop(&mut self, size: Bytes) {
        self.lose(1, size);
    }

    fn poll_timeout(&self) -> Option<Time> {
        Some(self.due())
    }

    fn handle_timeout(&mut self, now: Time, backlog: Backlog) {
        self.close(now, backlog);
    }
}

/// The header of this law at the front of a datagram's payload, or else what the packet is. A router looks at the first shim
/// only, and wants its header to have the law's own length.
///
/// # Errors
/// When there is none that a router may stamp.
pub fn header(params: &<Any as Protocol>::Params, payload: &[u8]) -> Result<AnyHeader, Class> {
    let law = params.law();
    let Ok((shim, bytes, _)) = Shim::decode(payload) else {
        return Err(Class::Foreign);
    };
    if law.number == 0 || shim.law != law.number {
        return Err(Class::Foreign);
    }
    if shim.kind == Kind::Ack {
        return Err(Class::Ack);
    }
    if bytes.len() != law.header_bytes() {
        return Err(Class::Refused);
    }
    AnyHeader::decode(params, bytes).map_err(|_| Class::Refused)
}
