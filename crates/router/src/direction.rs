//! One direction of a relay. It queues and delays UDP datagrams.

use levelflow_laws::{AnyRouterParams, PortInfo};
use levelflow_path::{Datagram, Hop, Propagation, Settings};
use levelflow_units::headers::{ETHERNET, IPV4, IPV6, UDP};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use super::Port;
use super::logging::Logging;

/// Datagram inside a relay.
#[derive(Debug)]
pub struct Packet {
    /// UDP payload.
    pub payload: Vec<u8>,
    /// Number of the client that sends or receives the datagram.
    pub client: u32,
    ours: bool,
}

impl Datagram for Packet {
    fn payload(&mut self) -> &mut [u8] {
        &mut self.payload
    }

    fn source(&self) -> u32 {
        self.client
    }

    fn ours(&mut self) -> &mut bool {
        &mut self.ours
    }
}

/// Bottleneck line with a router.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// Parameters of the router.
    pub params: AnyRouterParams,
    /// Rate of the line.
    pub capacity: Rate,
    /// Limit of the queue in front of the line.
    pub buffer: Buffer,
}

/// One direction of a relay.
#[derive(Debug)]
pub struct Direction {
    hop: Hop<Packet, Option<Port>>,
    spare: Vec<Vec<u8>>,
    /// Size of the headers before a UDP payload on the wire, bytes.
    overhead: u64,
}

/// Limit on packets in flight on a line without bottleneck. Packets above this limit are dropped.
const MAX_ON_WIRE: usize = 1 << 16;

impl Direction {
    /// Creates a direction. Without a bottleneck, it only delays packets.
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

    /// Changes the rate of the bottleneck, if there is one. A rate of zero is an outage, and the law is not notified of
    /// it.
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

    /// Logs the inputs of the bottleneck's law, if the direction has a bottleneck. Call this method before the first
    /// packet.
    pub fn log(&mut self, logging: &Logging) {
        if let Some(port) = self.hop.law_mut() {
            port.log(logging.log(*port.info()));
        }
    }

    /// Polices the headers at the bottleneck, if the direction has one. `seed` must be secret.
    pub fn police(&mut self, seed: u64) {
        if let Some(port) = self.hop.law_mut() {
            port.police(seed);
        }
    }

    /// Accepts a datagram. Returns `false` if the datagram is dropped.
    pub fn handle_input(&mut self, now: Time, payload: &[u8], client: u32) -> bool {
        if self.hop.law().is_none() && self.hop.in_flight() >= MAX_ON_WIRE {
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

    /// Processes departures up to `now`, and ends the control interval if its time is over.
    pub fn handle_timeout(&mut self, now: Time) {
        self.hop.handle_timeout(now);
    }

    /// Returns the next packet to be forwarded at or before `now`.
    pub fn poll_output(&mut self, now: Time) -> Option<Packet> {
        self.hop.poll_output(now).map(|(_, packet)| packet)
    }

    /// Time of the next event.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.hop.poll_timeout()
    }

    /// Keeps the buffers of forwarded packets for reuse.
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

    /// Port of the law, if there is a bottleneck.
    #[must_use]
    pub fn port(&self) -> Option<&Port> {
        self.hop.law().as_ref()
    }

    /// Returns the bytes and packets in the queue, and the largest backlog in bytes since the start.
    pub fn backlog(&mut self, now: Time) -> (Bytes, u32, Bytes) {
        let (bytes, packets) = self.hop.backlog(now);
        (bytes, packets as u32, Bytes::new(self.hop.counters().peak))
    }
}
