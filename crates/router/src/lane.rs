//! One direction of a relay: law, queue, line, and the delay behind it. It has no clock and no socket.

use std::collections::VecDeque;

use levelflow_laws::shim::{ETHERNET, IPV4, IPV6, UDP};
use levelflow_laws::{AnyParams, Arriving, PortInfo};
use levelflow_units::{Bytes, Duration, Rate, Time};

use levelflow_host::journal::Logging;

use super::port::{Class, Port};
use super::queue::Queue;
use levelflow_host::buffer::Buffer;

/// A datagram on its way through a relay.
#[derive(Debug)]
pub struct Packet {
    /// Its UDP payload.
    pub payload: Vec<u8>,
    /// To which of the relay's clients it belongs.
    pub client: u32,
    ours: bool,
}

/// A bottleneck: what a law needs of it.
#[derive(Debug, Clone)]
pub struct Bottleneck {
    /// The law and its parameters.
    pub params: AnyParams,
    /// Rate of the line.
    pub capacity: Rate,
    /// Room before it.
    pub buffer: Buffer,
}

#[derive(Debug)]
struct Line {
    port: Port,
    queue: Queue<Packet>,
    /// Most bytes that have waited.
    peak: Bytes,
}

/// One direction.
#[derive(Debug)]
pub struct Lane {
    line: Option<Line>,
    delay: Duration,
    wire: VecDeque<(Time, Packet)>,
    spare: Vec<Vec<u8>>,
    /// What a UDP payload has around it on the wire.
    around: u64,
}

/// Packets on a wire that has only a delay: more are not kept.
const MOST_ON_WIRE: usize = 1 << 16;

impl Lane {
    /// A direction with a bottleneck, or without one, which then only delays.
    #[must_use]
    pub fn new(bottleneck: Option<Bottleneck>, id: u32, delay: Duration, ipv6: bool, now: Time) -> Self {
        let line = bottleneck.map(|b| {
            let capacity = b.capacity;
            Line {
                port: Port::new(b.params, PortInfo { id, capacity }, now),
                queue: Queue::new(capacity, b.buffer),
                peak: Bytes::ZERO,
            }
        });
        Self {
            line,
            delay,
            wire: VecDeque::new(),
            spare: Vec::new(),
            around: (ETHERNET + UDP + if ipv6 { IPV6 } else { IPV4 }) as u64,
        }
    }

    /// Logs what the law at the bottleneck is told, if there is one; before the first packet.
    pub fn log(&mut self, logging: &Logging) {
        if let Some(line) = &mut self.line {
            line.port.log(logging);
        }
    }

    /// A datagram comes; tells whether it is taken.
    pub fn arrive(&mut self, now: Time, payload: &[u8], client: u32) -> bool {
        let size = Bytes::new(self.around + payload.len() as u64);
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.extend_from_slice(payload);
        let mut packet = Packet {
            payload: copy,
            client,
            ours: false,
        };
        let refused = if let Some(line) = &mut self.line {
            let arriving = Arriving {
                now,
                size,
                queue: line.queue.bytes(),
                packets: line.queue.packets(),
            };
            packet.ours = line.port.arrive(&arriving, &mut packet.payload) == Class::Ours;
            let refused = line.queue.push(now, size, packet).err();
            if refused.is_some() {
                line.port.lose(1, size);
            }
            line.peak = line.peak.max(line.queue.bytes());
            refused
        } else if self.wire.len() < MOST_ON_WIRE {
            self.wire.push_back((later(now, self.delay), packet));
            None
        } else {
            Some(packet)
        };
        let taken = refused.is_none();
        self.recycle(refused);
        taken
    }

    /// Brings everything up to now: departures, then the end of an interval.
    pub fn advance(&mut self, now: Time) {
        let Some(Line { port, queue, .. }) = &mut self.line else {
            return;
        };
        while let Some((left, size, mut packet)) = queue.pop(now) {
            if packet.ours {
                port.depart(size, &mut packet.payload);
            }
            self.wire.push_back((later(left, self.delay), packet));
        }
        if port.due() <= now {
            port.close(now, queue.bytes(), queue.packets());
        }
    }

    /// Packets that are to be handed on by now.
    pub fn ready(&mut self, now: Time) -> impl ExactSizeIterator<Item = Packet> + '_ {
        let count = self.wire.iter().take_while(|(at, _)| *at <= now).count();
        self.wire.drain(..count).map(|(_, packet)| packet)
    }

    /// When there is something to do next.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        let line = self.line.as_ref();
        let departure = line.and_then(|l| l.queue.next());
        let interval = line.map(|l| l.port.due());
        let arrival = self.wire.front().map(|(at, _)| *at);
        [departure, interval, arrival].into_iter().flatten().min()
    }

    /// Takes back the memory of packets that have been handed on.
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
        self.line.as_ref().map(|l| &l.port)
    }

    /// Bytes and packets that wait, and the most bytes that ever have.
    #[must_use]
    pub fn waiting(&self) -> (Bytes, u32, Bytes) {
        self.line.as_ref().map_or((Bytes::ZERO, 0, Bytes::ZERO), |l| {
            (l.queue.bytes(), l.queue.packets(), l.peak)
        })
    }
}

fn later(time: Time, delay: Duration) -> Time {
    time.checked_add(delay).unwrap_or(Time::from_ps(u64::MAX))
}
