//! Flows, honest and not, through one direction of a relay, in virtual time: exact numbers on any machine.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use levelflow_host::journal::Sender;
use levelflow_host::law;
use levelflow_laws::{AnyHeader, AnyParams, FlowInfo, Kind};
use levelflow_router::direction::{Bottleneck, Direction};
use levelflow_transport::{Encoded, HISTORY, LONGEST_ACK, Received, Receiver};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use levelflow_wire::shim::{ETHERNET, IPV4, LENGTH, LONGEST, Shim, UDP};

/// Bytes behind the header of an ACK.
pub const HISTORY_LENGTH: usize = HISTORY;
/// Bytes of a packet around the payload of UDP.
pub const AROUND: usize = ETHERNET + IPV4 + UDP;
/// Rate of the line, bit/s.
pub const LINE: f64 = 20e6;

/// Rewrites a datagram on its way.
pub type Rewrite = Box<dyn FnMut(&mut Vec<u8>)>;
/// Forges an ACK from an ACK.
pub type Forge = Box<dyn FnMut(&[u8]) -> Vec<u8>>;
/// Changes an ACK; returns the delays after which copies of it arrive.
pub type Fate = Box<dyn FnMut(&mut Vec<u8>) -> Vec<Duration>>;

/// What one flow does.
pub struct Host {
    /// Its flow.
    pub sender: Sender,
    receiver: Receiver,
    /// What the sender writes instead of what its law says.
    pub lie: Option<Rewrite>,
    /// What happens to ACKs.
    pub fate: Fate,
    /// It sends at this rate, whatever it hears, what its law would.
    pub deaf: Option<(Rate, Time)>,
    /// Bytes that arrived.
    pub arrived: u64,
}

type InFlight = BinaryHeap<Reverse<(Time, u64, usize, Vec<u8>)>>;

/// What is at its end by now.
fn pop(way: &mut InFlight, now: Time) -> Option<(usize, Vec<u8>)> {
    way.peek().filter(|Reverse((at, ..))| *at <= now)?;
    way.pop().map(|Reverse((_, _, i, wire))| (i, wire))
}

/// A place where packets of all flows meet.
pub struct World {
    now: Time,
    /// One per flow.
    pub hosts: Vec<Host>,
    /// The direction of the relay that packets take.
    pub lane: Direction,
    /// Forges a packet to go with each ACK.
    pub forge: Option<Forge>,
    /// On their way to the relay.
    packets: InFlight,
    /// On their way back.
    acks: InFlight,
    random: u64,
    count: u64,
}

/// Parameters of a law for the line of this world.
#[must_use]
pub fn params(law: &str) -> AnyParams {
    let sets: &[&str] = match law {
        // Defaults wait long for small flows; this is what a user of a link of 20 Mb/s asks for.
        "jetmax" => &["gamma=0.95", "interval=50 ms"],
        _ => &[],
    };
    law::params(law, &sets.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// A number of milliseconds.
#[must_use]
pub fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

impl World {
    /// Honest flows of a law at a router of it; round trips take 20 ms and what packets wait.
    #[must_use]
    pub fn new(law: &str, flows: u32) -> Self {
        let params = params(law);
        let bottleneck = Bottleneck {
            params: params.clone(),
            capacity: Rate::new(LINE).unwrap(),
            buffer: Buffer::Packets(100),
        };
        let host = |i| Host {
            sender: Sender::new(params.clone(), FlowInfo::of(Bytes::new(1000)), 100 + i),
            receiver: Receiver::new(params.law().number).unwrap(),
            lie: None,
            fate: Box::new(|_| vec![ms(10)]),
            deaf: None,
            arrived: 0,
        };
        Self {
            now: Time::ZERO,
            hosts: (0..flows).map(host).collect(),
            lane: Direction::new(Some(bottleneck), 1, ms(10), false, Time::ZERO),
            forge: None,
            packets: BinaryHeap::new(),
            acks: BinaryHeap::new(),
            random: 1,
            count: 0,
        }
    }

    /// Goes on until then.
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
        let mut wire = vec![0; 1000 - AROUND];
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
        wire.truncate((size.get() as usize).saturating_sub(AROUND).max(LONGEST));
        if let Some(lie) = &mut host.lie {
            lie(&mut wire);
        }
        // Hosts are never exact. Without this, which flow meets a full queue would be the same one each time.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let late = Duration::from_us((self.random >> 33) % 500);
        self.count += 1;
        self.packets.push(Reverse((now + late, self.count, i, wire)));
    }

    fn arrive(&mut self, i: usize, wire: &[u8]) {
        let (now, host) = (self.now, &mut self.hosts[i]);
        host.arrived += (wire.len() + AROUND) as u64;
        let Ok((shim, header, _)) = Shim::decode(wire) else {
            return;
        };
        let mut out = vec![0; LONGEST_ACK];
        let size = Bytes::new((wire.len() + AROUND) as u64);
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
            self.heard(i, &forged);
        }
        self.heard(i, wire);
    }

    fn heard(&mut self, i: usize, wire: &[u8]) {
        let Ok((shim, header, rest)) = Shim::decode(wire) else {
            return;
        };
        let stamp = self.now.as_ps() / 1000;
        let sender = &mut self.hosts[i].sender;
        let _ = sender.handle_ack(self.now, stamp, &shim, header, rest);
    }

    /// Bits per second of each flow that arrive between two times.
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

/// Lets a rewrite change the header of packets of this law, where they have one.
pub fn header(law: &str, mut write: impl FnMut(&mut AnyHeader) + 'static) -> Rewrite {
    let params = params(law);
    Box::new(move |wire| {
        let Ok((shim, bytes, _)) = Shim::decode(wire) else {
            return;
        };
        if let (Kind::Data | Kind::Ack, Ok(mut header)) = (shim.kind, AnyHeader::decode(&params, bytes)) {
            write(&mut header);
            header.encode(&mut wire[LENGTH..]);
        }
    })
}
