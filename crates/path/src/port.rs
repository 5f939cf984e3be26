//! An output port with a router, its control intervals and its counters. The router stamps the headers of datagrams.

use levelflow_laws::offload::Counts;
use levelflow_laws::police::{Police, Verdict};
use levelflow_laws::{
    AnyHeader, AnyRouter, AnyRouterParams, Arriving, Kind, PortInfo, PortView, RouterLaw, SignallingInfo,
};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::{Log, LoggedRouter, Sink};
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use serde::Serialize;

use crate::fifo::{Backlog, Departure};
use crate::law::HopLaw;

/// Lower bound of the control interval. Some laws derive the interval from round-trip times in packet headers, which
/// may be wrong. Routers divide by the interval.
const MIN_INTERVAL: Duration = Duration::from_us(500);

/// Class of a packet at a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketClass {
    /// Packet with a valid header of the router's signalling. The router may stamp the header.
    Ours,
    /// ACK of the router's signalling.
    Ack,
    /// Packet with the shim of the router's signalling but an invalid header.
    Refused,
    /// Any other packet.
    Foreign,
    /// Packet that the policer drops.
    Policed,
}

/// Counters of a port since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PortCounters {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of the packets that arrived, including all headers.
    pub bytes: u64,
    /// Packets whose header the router processed.
    pub stamped: u64,
    /// ACKs of the signalling.
    pub acks: u64,
    /// Packets with the shim of the signalling but an invalid header.
    pub refused: u64,
    /// Packets of any other protocol or signalling.
    pub foreign: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Bytes of the dropped packets.
    pub dropped_bytes: u64,
    /// Packets dropped by the policer. They are not in the other counters, except `packets` and `bytes`.
    pub policed: u64,
    /// Convictions of flows by the policer.
    pub convictions: u64,
    /// Number of control intervals that have ended.
    pub intervals: u64,
    /// Largest time between the scheduled and the actual end of a control interval, ns.
    pub worst_late_ns: u64,
}

/// Counts of an external data path, such as the kernel, since its previous report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes of the packets that arrived, including all headers.
    pub bytes: u64,
    /// Packets whose header was stamped.
    pub stamped: u64,
    /// ACKs of the signalling.
    pub acks: u64,
    /// Packets with the shim of the signalling but an invalid header.
    pub refused: u64,
}

/// A router in operation at an output port. `S` is the destination of its log.
#[derive(Debug)]
pub struct Port<S: Sink> {
    info: PortInfo,
    params: AnyRouterParams,
    law: LoggedRouter<S>,
    police: Option<Box<Police>>,
    opened: Time,
    due: Time,
    /// Bytes dropped in the current control interval.
    dropped: u64,
    counters: PortCounters,
}

impl<S: Sink> Port<S> {
    /// Creates a port whose first control interval begins now.
    #[must_use]
    pub fn new(params: AnyRouterParams, info: PortInfo, now: Time) -> Self {
        let law = LoggedRouter::with_log(AnyRouter::new(&params, &info), None);
        let mut port = Self {
            info,
            params,
            law,
            police: None,
            opened: now,
            due: now,
            dropped: 0,
            counters: PortCounters::default(),
        };
        port.due = port.end_of_interval(now);
        port
    }

    /// Logs all inputs of the law. Call this method before the first packet.
    pub fn log(&mut self, log: Log<S>) {
        self.law = LoggedRouter::with_log(AnyRouter::new(&self.params, &self.info), Some(log));
    }

    /// Polices the headers of later packets. `seed` must be secret.
    pub fn police(&mut self, seed: u64) {
        self.police = Some(Box::new(Police::new(seed, self.info.capacity.bps())));
    }

    /// Changes the line rate, which must be above zero.
    pub fn set_capacity(&mut self, capacity: Rate) {
        self.info.capacity = capacity;
        self.law.on_capacity(&self.params, capacity);
        if let Some(police) = &mut self.police {
            police.on_capacity(capacity.bps());
        }
    }

    /// Handles an arriving packet. `payload` is the start of its UDP payload, and `source` identifies its sender. The
    /// router counts every packet that the policer does not drop. It stamps packets with a header of its signalling,
    /// and does not change other packets.
    pub fn arrive(&mut self, packet: &Arriving, source: u32, payload: &mut [u8]) -> PacketClass {
        let class = match header(self.params.signalling(), payload) {
            Ok(mut header) => {
                if self.police.is_some() && !self.admits(packet, source, payload, &mut header) {
                    return PacketClass::Policed;
                }
                self.law.on_arrival(&self.params, packet, Some(&mut header));
                header.encode(&mut payload[SHIM_BYTES..]);
                PacketClass::Ours
            }
            Err(class) => {
                self.law.on_arrival(&self.params, packet, None);
                class
            }
        };
        self.counters.packets += 1;
        self.counters.bytes += packet.size.get();
        *match class {
            PacketClass::Ours => &mut self.counters.stamped,
            PacketClass::Ack => &mut self.counters.acks,
            PacketClass::Refused => &mut self.counters.refused,
            PacketClass::Foreign | PacketClass::Policed => &mut self.counters.foreign,
        } += 1;
        class
    }

    /// Corrects the header. Returns false if the policer drops the packet.
    fn admits(&mut self, packet: &Arriving, source: u32, payload: &[u8], header: &mut AnyHeader) -> bool {
        let (Some(police), Ok((shim, ..))) = (&mut self.police, Shim::decode(payload)) else {
            return true;
        };
        let Some(gap) = AnyRouter::claimed(&self.params, header) else {
            return true;
        };
        let flow = u64::from(source) << 32 | u64::from(shim.flow);
        let verdict = police.on_arrival(packet.now, flow, packet.size, self.law.permitted(), gap);
        self.counters.convictions = police.convictions();
        match verdict {
            Verdict::Pass(limits) => {
                self.law.correct(&self.params, packet.size, &limits, header);
                true
            }
            Verdict::Drop => {
                self.counters.packets += 1;
                self.counters.bytes += packet.size.get();
                self.counters.policed += 1;
                false
            }
        }
    }

    /// Handles the departure of a packet that arrived as [`PacketClass::Ours`].
    pub fn depart(&mut self, size: Bytes, payload: &mut [u8]) {
        if self.law.stamps_departures()
            && let Ok(mut header) = header(self.params.signalling(), payload)
        {
            self.law.on_departure(&self.params, size, &mut header);
            header.encode(&mut payload[SHIM_BYTES..]);
        }
    }

    /// Adds packets dropped by the queue, and their bytes, to the counters.
    pub fn lose(&mut self, packets: u32, bytes: Bytes) {
        self.dropped = self.dropped.saturating_add(bytes.get());
        self.counters.dropped += u64::from(packets);
        self.counters.dropped_bytes = self.counters.dropped_bytes.saturating_add(bytes.get());
    }

    /// Adds the counts of an external data path that has processed and stamped packets itself. Callers must then close
    /// the control interval.
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

    /// Returns the end of the current control interval.
    #[must_use]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Returns the start of the current control interval.
    #[must_use]
    pub fn opened(&self) -> Time {
        self.opened
    }

    /// Ends the current control interval. `backlog` is the current content of the queue.
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

    /// Returns the end of a control interval that begins now. The interval has its full length, even if the previous
    /// interval ended late. A shorter interval would have few packets, and laws divide by packet counts.
    fn end_of_interval(&self, now: Time) -> Time {
        let length = self.law.interval(&self.params).max(MIN_INTERVAL);
        now.saturating_add(length)
    }

    /// Returns the router's state.
    #[must_use]
    pub fn law(&self) -> &AnyRouter {
        &self.law
    }

    /// Returns the router's parameters.
    #[must_use]
    pub fn params(&self) -> &AnyRouterParams {
        &self.params
    }

    /// Returns the identity and line rate of the port.
    #[must_use]
    pub fn info(&self) -> &PortInfo {
        &self.info
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> &PortCounters {
        &self.counters
    }
}

/// A packet whose UDP payload a [`Port`] may stamp.
pub trait Datagram {
    /// Returns the UDP payload. Empty for a packet of another protocol.
    fn payload(&mut self) -> &mut [u8];

    /// Returns a number that identifies the sender, for the policer.
    fn source(&self) -> u32 {
        0
    }

    /// Returns the flag that the port sets if the packet arrived as [`PacketClass::Ours`].
    fn ours(&mut self) -> &mut bool;

    /// Updates checksums after the payload has been stamped.
    fn fix_checksum(&mut self) {}
}

impl<S: Sink, T: Datagram> HopLaw<T> for Port<S> {
    fn handle_arrival(&mut self, arriving: &Arriving, packet: &mut T) -> bool {
        let class = self.arrive(arriving, packet.source(), packet.payload());
        let ours = class == PacketClass::Ours;
        *packet.ours() = ours;
        if ours {
            packet.fix_checksum();
        }
        class != PacketClass::Policed
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

/// Returns the header of this signalling at the start of a UDP payload. Reads only the first shim of the payload. The
/// header must have the exact length of its signalling.
///
/// # Errors
/// Returns the class of a packet that the router must not stamp.
pub fn header(signalling: &SignallingInfo, payload: &[u8]) -> Result<AnyHeader, PacketClass> {
    let Ok((shim, bytes, _)) = Shim::decode(payload) else {
        return Err(PacketClass::Foreign);
    };
    if !signalling.is_explicit() || shim.signalling != signalling.number {
        return Err(PacketClass::Foreign);
    }
    if shim.kind == Kind::Ack {
        return Err(PacketClass::Ack);
    }
    if bytes.len() != signalling.header_bytes() {
        return Err(PacketClass::Refused);
    }
    AnyHeader::decode(signalling, bytes).map_err(|_| PacketClass::Refused)
}
