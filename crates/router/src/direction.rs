//! One direction of a relay: a hop whose packets are datagrams.

use levelflow_laws::{AnyParams, PortInfo};
use levelflow_path::{Datagram, Hop, Propagation, Settings};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use levelflow_wire::journal::Role;
use levelflow_wire::shim::{ETHERNET, IPV4, IPV6, UDP};

use levelflow_host::journal::Logging;

use super::Port;

/// A datagram on its way through a relay.
#[derive(Debug)]
pub struct Packet {
    /// Its UDP payload.
    pub payload: Vec<u8>,
    /// To which of the relay's clients it belongs.
    pub client: u32,
    ours: bool,
}

impl Datagram for Packet {
    fn payload(&mut self) -> &mut [u8] {
        &mut self.payload
    }

    fn ours(&mut self) -> &mut bool {
        &mut self.ours
    }
}

/// A line under a law.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// The law and its parameters.
    pub params: AnyParams,
    /// Rate of the line.
    pub capacity: Rate,
    /// Limit of its queue.
    pub buffer: Buffer,
}

/// One direction.
#[derive(Debug)]
pub struct Direction {
    hop: Hop<Packet, Option<Port>>,
    spare: Vec<Vec<u8>>,
    /// Bytes around a UDP payload on the wire.
    overhead: u64,
}

/// Packets on a wire that has only a delay; more are dropped.
const MAX_ON_WIRE: usize = 1 << 16;

impl Direction {
    /// A direction with a bottleneck, or without one, which then only delays.
    #[must_use]
    pub fn new(bottleneck: Option<Bottleneck>, id: u32, delay: Duration, ipv6: bool, now: Time) -> Self {
        let mut settings = Settings {
            wire: Propagation {
                delay,
                ..Propagation::default()
            },
            ..Settings::default()
        };
        let port = bottleneck.map(
            |Bottleneck {
                 params,
                 capacity,
                 buffer,
             }| {
                (settings.rate, settings.buffer) = (Some(capacity), buffer);
                Port::new(params, PortInfo { id, capacity }, now)
            },
        );
        Self {
            hop: Hop::under(port, settings, 0, ""),
            spare: Vec::new(),
            overhead: (ETHERNET + UDP + if ipv6 { IPV6 } else { IPV4 }) as u64,
        }
    }

    /// Changes the rate of the bottleneck, if there is one; a rate of zero is an outage, which is no news for the law.
    pub fn set_capacity(&mut self, now: Time, capacity: Rate) {
        if self.hop.law().is_none() {
            return;
        }
        let mut settings = self.hop.settings();
        settings.rate = Some(capacity);
        self.hop.set(now, settings);
        if let Some(port) = self.hop.law_mut().as_mut().filter(|_| capacity.bps() > 0.0) {
            port.set_capacity(capacity);
        }
    }

    /// Logs the input of the law at the bottleneck, if there is one; before the first packet.
    pub fn log(&mut self, logging: &Logging) {
        if let Some(port) = self.hop.law_mut() {
            port.log(logging.log(Role::Router(*port.info())));
        }
    }

    /// A datagram comes; `false` if it is dropped.
    pub fn handle_input(&mut self, now: Time, payload: &[u8], client: u32) -> bool {
        if self.hop.law().is_none() && self.hop.under_way() >= MAX_ON_WIRE {
            return false;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.extend_from_slice(payload);
        let packet = Packet {
            payload: copy,
            client,
            ours: false,
        };
        let size = Bytes::new(self.overhead + payload.len() as u64);
        let dropped = self.hop.handle_input(now, size, packet).err();
        let taken = dropped.is_none();
        self.recycle(dropped);
        taken
    }

    /// Performs the departures up to now, then ends the interval of the law if it is over.
    pub fn handle_timeout(&mut self, now: Time) {
        self.hop.handle_timeout(now);
    }

    /// The next packet that is to be forwarded by now.
    pub fn poll_output(&mut self, now: Time) -> Option<Packet> {
        self.hop.poll_output(now).map(|(_, packet)| packet)
    }

    /// When something happens next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.hop.poll_timeout()
    }

    /// Takes back the memory of packets that have been forwarded.
    pub fn recycle(&mut self, packets: impl IntoIterator<Item = Packet>) {
        const KEPT: usize = 1024;
        for packet in packets {
            if self.spare.len() < KEPT {
                let mut payload = packet.payload;
                payload.clear();
                self.spare.push(payload);
            }
        }
    }

    /// The law's port, if there is a bottleneck.
    #[must_use]
    pub fn port(&self) -> Option<&Port> {
        self.hop.law().as_ref()
    }

    /// Bytes and packets in the queue, and the most bytes that were there at once.
    pub fn backlog(&mut self, now: Time) -> (Bytes, u32, Bytes) {
        let (bytes, packets) = self.hop.backlog(now);
        (bytes, packets as u32, Bytes::new(self.hop.counters().peak))
    }
}
