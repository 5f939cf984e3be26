//! Endpoints on a network that drops, repeats, reorders and damages datagrams: senders and receivers of flows, and the
//! two ends of a measurement.

use std::collections::HashSet;
use std::hash::RandomState;
use std::net::SocketAddr;

use levelflow_journal::Sender;
use levelflow_laws::{FlowInfo, LAWS, params};
use levelflow_probe::message::{CONTROL_BYTES, MAX_MESSAGE_BYTES, Message, Session};
use levelflow_probe::{Channel, EcnProbe, Idle, Limits, Probe, Reflector, Settings};
use levelflow_transport::{LONGEST_ACK, Received, Receiver};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, Shim};

use crate::bytes::Choices;

/// Steps of time, ps.
const STEPS: &[u64] = &[1_000_000, 0, 1000, 10_000_000_000, 300_000_000_000, 100_000_000_000_000];
/// Latest time of a sequence.
const LAST_PS: u64 = 1 << 60;
const FLOW: u32 = 77;
/// Limit on the datagrams that the network holds.
const MAX_HELD: usize = 64;

/// Network between two endpoints.
#[derive(Default)]
struct Held(Vec<Vec<u8>>);

impl Held {
    fn push(&mut self, datagram: &[u8]) {
        if self.0.len() == MAX_HELD {
            self.0.remove(0);
        }
        self.0.push(datagram.to_vec());
    }

    /// Returns a held datagram: removed or kept, and intact or damaged.
    fn take(&mut self, choices: &mut Choices<'_>) -> Option<Vec<u8>> {
        if self.0.is_empty() {
            return None;
        }
        let at = choices.below(self.0.len());
        let mut datagram = match choices.below(4) {
            0 => self.0[at].clone(),
            _ => self.0.remove(at),
        };
        match choices.below(4) {
            0 => {
                let at = choices.below(datagram.len());
                datagram[at] = choices.below(256) as u8;
            }
            1 if choices.below(4) == 0 => datagram.truncate(choices.below(datagram.len())),
            _ => {}
        }
        Some(datagram)
    }
}

/// Flow of a law, and the network between its ends.
struct Transfer {
    sender: Sender,
    receiver: Receiver,
    packet: Bytes,
    now: Time,
    packets: Held,
    acks: Held,
    accepted: HashSet<u32>,
}

/// Sends a flow of a law through the network. A sender accepts an ACK at most once per packet. A rejected ACK changes
/// only counters.
///
/// # Panics
/// When the property above is violated.
pub fn flow(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let law = *choices.of(LAWS);
    let defaults: Vec<f64> = law.params.iter().map(|row| row.default).collect();
    let params = params(law.name, &defaults).expect("defaults fit together");
    let size = *choices.of(&[None, Some(1), Some(5000), Some(u64::MAX)]);
    let info = FlowInfo::of(Bytes::new(*choices.of(&[1000, 200, 65_535])));
    let mut transfer = Transfer {
        sender: Sender::new(params, info, FLOW).with_transfer(size, None, choices.below(2) == 1),
        receiver: Receiver::new(law.signalling.number).expect("the signalling exists"),
        packet: info.packet_size,
        now: Time::ZERO,
        packets: Held::default(),
        acks: Held::default(),
        accepted: HashSet::new(),
    };
    while choices.are_left() {
        match choices.below(4) {
            0 => {
                let step = choices.of(STEPS);
                transfer.now = Time::from_ps((transfer.now.as_ps() + step).min(LAST_PS));
                transfer.sender.handle_timeout(transfer.now);
            }
            1 => transfer.send(1 + choices.below(8)),
            2 => transfer.receive(&mut choices),
            _ => transfer.acknowledge(&mut choices),
        }
        let counters = transfer.sender.counters();
        assert!(counters.acks <= counters.packets);
        assert!(transfer.sender.rate().bps() <= levelflow_transport::Limits::MAX_RATE);
    }
}

impl Transfer {
    fn stamp(&self) -> u64 {
        self.now.as_ps() / 1000
    }

    fn send(&mut self, packets: usize) {
        let mut wire = [0; MAX_PREFIX_BYTES];
        for _ in 0..packets {
            let Some(sent) = self.sender.poll_transmit(self.now, self.stamp(), &mut wire) else {
                return;
            };
            self.packets.push(&wire[..sent.prefix]);
        }
    }

    /// Passes a packet to the receiver.
    fn receive(&mut self, choices: &mut Choices<'_>) {
        let Some(packet) = self.packets.take(choices) else {
            return;
        };
        let Ok((shim, header, _)) = Shim::decode(&packet) else {
            return;
        };
        let received = Received {
            shim: &shim,
            header,
            size: self.packet,
            marked: choices.below(4) == 0,
        };
        let mut wire = [0; LONGEST_ACK];
        let room = *choices.of(&[LONGEST_ACK, 0, 60]);
        if let Ok((_, length)) = self.receiver.ack(self.now, received, room, &mut wire) {
            assert!(length <= room.max(packet.len()), "an ACK of {length} bytes");
            self.acks.push(&wire[..length]);
        }
    }

    /// Passes an ACK to the sender.
    fn acknowledge(&mut self, choices: &mut Choices<'_>) {
        let Some(ack) = self.acks.take(choices) else { return };
        let Ok((shim, header, rest)) = Shim::decode(&ack) else {
            return;
        };
        let (before, counted, stamp) = (state(&self.sender), self.sender.counters(), self.stamp());
        if self.sender.handle_ack(self.now, stamp, &shim, header, rest).is_ok() {
            assert!(self.accepted.insert(shim.number), "packet {} twice", shim.number);
            return;
        }
        let after = self.sender.counters();
        assert_eq!(state(&self.sender), before);
        assert_eq!(after.refused.total(), counted.refused.total() + 1);
        assert_eq!((after.acks, after.data), (counted.acks, counted.data));
    }
}

fn state(sender: &Sender) -> (Rate, u32, u32, Option<Time>, Time, Option<Duration>) {
    (
        sender.rate(),
        sender.window(),
        sender.outstanding(),
        sender.poll_timeout(),
        sender.departure(),
        sender.rtt(),
    )
}

/// Decodes a message of a measurement. Either the message is rejected, or re-encoding preserves it.
///
/// # Panics
/// When the property above is violated.
pub fn message(bytes: &[u8]) {
    if let Some(message) = Message::decode(bytes) {
        let mut wire = [0; CONTROL_BYTES];
        message.encode(&mut wire);
        assert_eq!(Message::decode(&wire), Some(message));
    }
}

/// Near end of a measurement.
enum Near {
    Probe(Box<Probe>),
    Ecn(Box<EcnProbe>),
}

impl Near {
    fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Probe(probe) => probe.handle_timeout(now),
            Self::Ecn(probe) => probe.handle_timeout(now),
        }
    }

    fn poll_transmit(&mut self, now: Time, wire: &mut [u8; MAX_MESSAGE_BYTES]) -> Option<(Channel, usize)> {
        match self {
            Self::Probe(probe) => probe.poll_transmit(now, wire),
            Self::Ecn(probe) => {
                let (channel, length, _) = probe.poll_transmit(now, wire)?;
                Some((channel, length))
            }
        }
    }

    fn handle_input(&mut self, now: Time, channel: Channel, reply: &[u8], choices: &mut Choices<'_>) {
        match self {
            Self::Probe(probe) => probe.handle_input(now, channel, reply),
            Self::Ecn(probe) => probe.handle_input(now, channel, reply, choices.below(4) as u8),
        }
    }

    /// Computes the results so far.
    fn evaluate(&self) {
        match self {
            Self::Probe(probe) => {
                let _ = (probe.outcome(), probe.now_at(), probe.poll_timeout());
            }
            Self::Ecn(probe) => {
                let _ = (probe.outcome(), probe.poll_timeout());
            }
        }
    }
}

/// Two ends of a measurement, and the network between them.
struct Measurement {
    probe: Near,
    reflector: Reflector,
    now: Time,
    /// Requests on each channel.
    requests: [Held; 2],
    replies: Held,
    client: [SocketAddr; 2],
    attacker: SocketAddr,
}

/// Addresses of the client's two channels.
const CLIENT: [&str; 2] = ["192.0.2.1:5", "192.0.2.1:6"];

fn reflector() -> Reflector {
    let limits = Limits {
        max_rate: Rate::clamped(1e9),
        time: Duration::from_secs(60),
    };
    Reflector::new(limits, RandomState::new())
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Runs a measurement.
///
/// # Panics
/// As [`run`].
pub fn measurement(bytes: &[u8]) {
    let settings = Settings {
        time: Duration::from_secs(1),
        max_rate: Rate::clamped(1e9),
        around: 28,
    };
    let probe = Near::Probe(Box::new(Probe::new(Time::ZERO, settings, 9)));
    run(bytes, probe, reflector());
}

/// Runs a test for L4S.
///
/// # Panics
/// As [`run`].
pub fn l4s(bytes: &[u8]) {
    let mut reflector = reflector();
    let (mut hello, mut answer) = ([0; CONTROL_BYTES], [0; CONTROL_BYTES]);
    Message::Hello { id: 9 }.encode(&mut hello);
    let tokens = CLIENT.map(|client| {
        reflector.handle_input(Time::ZERO, address(client), &hello, 0, &mut answer);
        match Message::decode(&answer) {
            Some(Message::Welcome { token, .. }) => token,
            other => panic!("{other:?} instead of a token"),
        }
    });
    let session = Session {
        id: 9,
        tokens,
        pings: 0,
        sent: 0,
        pulls: 0,
        most_packets: 0,
        around: 28,
    };
    let idle = Idle::of(&[Some(0.02)]).expect("a round-trip time");
    let probe = EcnProbe::new(Time::ZERO, session, [1e9; 2], &idle);
    run(bytes, Near::Ecn(Box::new(probe)), reflector);
}

/// Runs a measurement through the network, with an attacker at another address that has copies of messages but no
/// token. A reply is never longer than the request. Load goes only to the client.
///
/// # Panics
/// When the property above is violated.
fn run(bytes: &[u8], probe: Near, reflector: Reflector) {
    let mut choices = Choices::new(bytes);
    let mut ends = Measurement {
        probe,
        reflector,
        now: Time::ZERO,
        requests: [Held::default(), Held::default()],
        replies: Held::default(),
        client: CLIENT.map(address),
        attacker: address("[2001:db8::2]:7"),
    };
    while choices.are_left() {
        match choices.below(8) {
            0 => {
                let step = choices.of(STEPS);
                ends.now = Time::from_ps((ends.now.as_ps() + step).min(LAST_PS));
                ends.probe.handle_timeout(ends.now);
                ends.reflector.handle_timeout(ends.now);
            }
            1 | 2 => ends.ask(1 + choices.below(8)),
            3..=5 => ends.request(&mut choices),
            6 => ends.load(),
            _ => {
                let Some(reply) = ends.replies.take(&mut choices) else {
                    continue;
                };
                let channel = *choices.of(&[Channel::Call, Channel::Load]);
                ends.probe.handle_input(ends.now, channel, &reply, &mut choices);
            }
        }
        ends.probe.evaluate();
    }
}

impl Measurement {
    fn ask(&mut self, messages: usize) {
        let mut wire = [0; MAX_MESSAGE_BYTES];
        for _ in 0..messages {
            let Some((channel, length)) = self.probe.poll_transmit(self.now, &mut wire) else {
                return;
            };
            self.requests[usize::from(channel == Channel::Load)].push(&wire[..length]);
        }
    }

    /// Passes a request to the reflector, from the client or the attacker.
    fn request(&mut self, choices: &mut Choices<'_>) {
        let channel = choices.below(2);
        let Some(request) = self.requests[channel].take(choices) else {
            return;
        };
        let is_forged = choices.below(4) == 0;
        let from = if is_forged { self.attacker } else { self.client[channel] };
        let mut answer = [0; CONTROL_BYTES];
        if let Some((length, _)) = self.reflector.handle_input(self.now, from, &request, 0, &mut answer) {
            assert!(length <= request.len(), "{length} bytes for {}", request.len());
            // The client does not receive the replies to the attacker.
            if !is_forged {
                self.replies.push(&answer[..length]);
            }
        }
        assert_ne!(self.reflector.serves().map(|(ip, _)| ip), Some(self.attacker.ip()));
    }

    /// Passes a packet of the reflector's load to the probe's network.
    fn load(&mut self) {
        let mut wire = [0; MAX_MESSAGE_BYTES];
        if let Some((to, length, _)) = self.reflector.poll_transmit(self.now, &mut wire) {
            assert!(self.client.contains(&to), "load goes to {to}");
            self.replies.push(&wire[..length]);
        }
    }
}
