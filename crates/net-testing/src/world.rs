//! Simulation of honest and dishonest flows through one direction of a relay. Virtual time makes results reproducible.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use levelflow_journal::Sender;
use levelflow_laws::{AnyHeader, AnyParams, AnyRouterParams, FlowInfo, Kind};
use levelflow_router::direction::{Bottleneck, Direction};
use levelflow_scenario::settings;
use levelflow_transport::{Encoded, LONGEST_ACK, Received, Receiver};
use levelflow_units::headers::{ETHERNET, IPV4, UDP};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use levelflow_wire::shim::{HISTORY_BYTES, MAX_PREFIX_BYTES, SHIM_BYTES, Shim};

/// Length of the history of received packets that follows the header of an ACK, bytes.
pub const HISTORY_LENGTH: usize = HISTORY_BYTES;
/// Size of the headers before a UDP payload, bytes.
pub const HEADER_BYTES: usize = ETHERNET + IPV4 + UDP;
/// Rate of the line, bit/s.
pub const LINE: f64 = 20e6;

/// Function that changes a datagram before the datagram is sent.
pub type Rewrite = Box<dyn FnMut(&mut Vec<u8>)>;
/// Function that forges an ACK from a genuine ACK.
pub type Forge = Box<dyn FnMut(&[u8]) -> Vec<u8>>;
/// Function that changes an ACK. It returns the delay of each copy of the ACK that arrives.
pub type Fate = Box<dyn FnMut(&mut Vec<u8>) -> Vec<Duration>>;

/// Sender and receiver of one flow.
pub struct Host {
    /// Sender of the flow.
    pub sender: Sender,
    receiver: Receiver,
    /// Change of the sender's packets; `None` for an honest sender.
    pub lie: Option<Rewrite>,
    /// Function that changes, delays, copies or loses each ACK.
    pub fate: Fate,
    /// Constant rate of a sender that ignores feedback, and the time of its next packet. `None` for other senders.
    pub deaf: Option<(Rate, Time)>,
    /// Bytes received.
    pub arrived: u64,
}

type InFlight = BinaryHeap<Reverse<(Time, u64, usize, Vec<u8>)>>;

/// Returns the next packet that has arrived by `now`.
fn pop(way: &mut InFlight, now: Time) -> Option<(usize, Vec<u8>)> {
    way.peek().filter(|Reverse((at, ..))| *at <= now)?;
    way.pop().map(|Reverse((_, _, i, wire))| (i, wire))
}

/// Bottleneck shared by all flows.
pub struct World {
    now: Time,
    /// Sender and receiver of each flow.
    pub hosts: Vec<Host>,
    /// Direction of the relay from senders to receivers.
    pub lane: Direction,
    /// Function that forges an additional ACK for each ACK.
    pub forge: Option<Forge>,
    /// Packets in flight to the relay.
    packets: InFlight,
    /// ACKs in flight to the senders.
    acks: InFlight,
    random: u64,
    count: u64,
}

/// Returns the settings of a law for the line of this simulation.
fn sets(law: &str) -> Vec<String> {
    let sets: &[&str] = match law {
        // The defaults suit large links and converge slowly with few flows. At 20 Mb/s, a user sets these values.
        "jetmax" => &["gamma=0.95", "interval=50 ms"],
        _ => &[],
    };
    sets.iter().map(|s| (*s).to_owned()).collect()
}

/// Returns the parameters of the senders of a law for the line of this simulation.
#[must_use]
pub fn params(law: &str) -> AnyParams {
    settings::params(law, &sets(law)).unwrap()
}

/// Returns the parameters of the routers of a law for the line of this simulation.
#[must_use]
pub fn router_params(law: &str) -> AnyRouterParams {
    settings::router_params(law, &sets(law)).unwrap()
}

/// Returns a duration of `ms` milliseconds.
#[must_use]
pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

impl World {
    /// Creates honest flows of a law, with its router. The round-trip time is 20 ms plus the queueing delay.
    #[must_use]
    pub fn new(law: &str, flows: u32) -> Self {
        Self::of(law, vec![params(law); flows as usize])
    }

    /// Creates honest flows with these parameters, and the router of a law. The laws of all flows must have the same
    /// signalling.
    #[must_use]
    pub fn of(law: &str, senders: Vec<AnyParams>) -> Self {
        let bottleneck = Bottleneck {
            params: router_params(law),
            capacity: Rate::new(LINE).unwrap(),
            buffer: Buffer::Packets(100),
        };
        let host = |(number, params): (u32, AnyParams)| Host {
            receiver: Receiver::new(params.law().signalling.number).unwrap(),
            sender: Sender::new(params, FlowInfo::of(Bytes::new(1000)), number),
            lie: None,
            fate: Box::new(|_| vec![ms(10)]),
            deaf: None,
            arrived: 0,
        };
        Self {
            now: Time::ZERO,
            hosts: (100..).zip(senders).map(host).collect(),
            lane: Direction::new(Some(bottleneck), 1, ms(10), false, Time::ZERO),
            forge: None,
            packets: BinaryHeap::new(),
            acks: BinaryHeap::new(),
            random: 1,
            count: 0,
        }
    }

    /// Advances the simulation to time `until`.
    pub fn run(&mut self, until: Duration) {
        let end = Time::ZERO + until;
        while let Some(at) = self.upcoming().filter(|at| *at <= end) {
            self.now = at.max(self.now);
            self.lane.handle_timeout(self.now);
            while let Some(packet) = self.lane.poll_output(self.now) {
                self.arrive(packet.client as usize, &packet.payload);
            }
            while let Some((i, wire)) = pop(&mut self.packets, self.now) {
                self.lane.handle_input(self.now, &wire, i as u32);
            }
            while let Some((i, wire)) = pop(&mut self.acks, self.now) {
                self.acked(i, &wire);
            }
            for i in 0..self.hosts.len() {
                self.act(i);
            }
        }
        self.now = end;
    }

    fn upcoming(&self) -> Option<Time> {
        let hosts = self.hosts.iter().flat_map(|h| match h.deaf {
            Some((_, at)) => [Some(at), None],
            None => [h.sender.poll_timeout(), None],
        });
        let first = |way: &InFlight| way.peek().map(|Reverse((at, ..))| *at);
        let others = [first(&self.packets), first(&self.acks), self.lane.poll_timeout()];
        hosts.chain(others).flatten().min()
    }

    fn act(&mut self, i: usize) {
        let (now, host) = (self.now, &mut self.hosts[i]);
        let mut wire = vec![0; 1000 - HEADER_BYTES];
        let sender = &mut host.sender;
        let encoded = match &mut host.deaf {
            Some((_, at)) if *at > now => None,
            Some((rate, at)) => {
                *at += rate.time_to_send(Bytes::new(1000)).unwrap();
                Some(sender.transmit_sized(now, now.as_ps() / 1000, 1000, false, &mut wire))
            }
            None => {
                sender.handle_timeout(now);
                sender.poll_transmit(now, now.as_ps() / 1000, &mut wire)
            }
        };
        let Some(Encoded { size, .. }) = encoded else {
            return;
        };
        wire.truncate((size.get() as usize).saturating_sub(HEADER_BYTES).max(MAX_PREFIX_BYTES));
        if let Some(lie) = &mut host.lie {
            lie(&mut wire);
        }
        // Real hosts have jitter. Without jitter, the same flow would always find a full queue.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let late = Duration::from_us((self.random >> 33) % 500);
        self.count += 1;
        self.packets.push(Reverse((now + late, self.count, i, wire)));
    }

    fn arrive(&mut self, i: usize, wire: &[u8]) {
        let (now, host) = (self.now, &mut self.hosts[i]);
        host.arrived += (wire.len() + HEADER_BYTES) as u64;
        let Ok((shim, header, _)) = Shim::decode(wire) else {
            return;
        };
        let mut out = vec![0; LONGEST_ACK];
        let size = Bytes::new((wire.len() + HEADER_BYTES) as u64);
        let ack = host.receiver.ack(
            now,
            Received {
                shim: &shim,
                header,
                size,
                marked: false,
            },
            LONGEST_ACK,
            &mut out,
        );
        let Ok((_, length)) = ack else {
            return;
        };
        out.truncate(length);
        for after in (host.fate)(&mut out) {
            self.count += 1;
            self.acks.push(Reverse((now + after, self.count, i, out.clone())));
        }
    }

    fn acked(&mut self, i: usize, wire: &[u8]) {
        if let Some(forged) = self.forge.as_mut().map(|forge| forge(wire)) {
            self.deliver_ack(i, &forged);
        }
        self.deliver_ack(i, wire);
    }

    fn deliver_ack(&mut self, i: usize, wire: &[u8]) {
        let Ok((shim, header, rest)) = Shim::decode(wire) else {
            return;
        };
        let stamp = self.now.as_ps() / 1000;
        let sender = &mut self.hosts[i].sender;
        let _ = sender.handle_ack(self.now, stamp, &shim, header, rest);
    }

    /// Goodput of each flow between two times, bit/s.
    pub fn goodput(&mut self, from: Duration, to: Duration) -> Vec<f64> {
        let arrived = |w: &Self| -> Vec<u64> { w.hosts.iter().map(|h| h.arrived).collect() };
        self.run(from);
        let before = arrived(self);
        self.run(to);
        let seconds = (to - from).as_secs_f64();
        let rates = arrived(self).into_iter().zip(before);
        rates
            .map(|(after, before)| (after - before) as f64 * 8.0 / seconds)
            .collect()
    }
}

/// Returns a function that changes the header of packets with this law's signalling. Other packets stay unchanged.
pub fn header(law: &str, mut write: impl FnMut(&mut AnyHeader) + 'static) -> Rewrite {
    let signalling = params(law).law().signalling;
    Box::new(move |wire| {
        let Ok((shim, bytes, _)) = Shim::decode(wire) else {
            return;
        };
        if let (Kind::Data | Kind::Ack, Ok(mut header)) = (shim.kind, AnyHeader::decode(signalling, bytes)) {
            write(&mut header);
            header.encode(&mut wire[SHIM_BYTES..]);
        }
    })
}
