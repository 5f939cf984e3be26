//! Both ends in virtual time, connected by lines of known capacity, delay and buffer.

use std::collections::hash_map::RandomState;
use std::net::SocketAddr;

use levelflow_path::{Hop, Propagation, Settings as Line, WireLoss};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use crate::message::{Arrived, CONTROL_BYTES, MAX_MESSAGE_BYTES, Message};
use crate::probe::{Channel, Failure, Outcome, Phase, Probe, Settings};
use crate::{Limits, Queue, Reflector};

const AROUND: usize = 42;

fn address(lane: Channel) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 7000 + lane as u16))
}

fn rate(bps: f64) -> Rate {
    Rate::new(bps).unwrap()
}

fn line(bps: f64, delay: Duration, buffer: u64) -> Line {
    Line {
        rate: Rate::new(bps),
        buffer: Buffer::Bytes(Bytes::new(buffer)),
        wire: Propagation {
            delay,
            ..Propagation::default()
        },
    }
}

fn settings() -> Settings {
    Settings {
        time: Duration::from_secs(12),
        max_rate: rate(1e9),
        around: AROUND,
    }
}

type Packet = (Channel, Vec<u8>);

/// Attacker that observes each packet to the near end, and returns forged packets that arrive before the packet.
type Forge = Box<dyn FnMut(&Packet) -> Vec<Packet>>;

struct World {
    now: Time,
    probe: Probe,
    reflector: Reflector,
    up: Hop<Packet>,
    down: Hop<Packet>,
    /// Bytes of all packets that the reflector received, and bytes of its replies.
    small: (u64, u64),
    forge: Option<Forge>,
}

impl World {
    fn new(up: Line, down: Line, seed: u64) -> Self {
        let limits = Limits {
            max_rate: rate(1e9),
            time: Duration::from_secs(120),
        };
        Self {
            now: Time::ZERO,
            probe: Probe::new(Time::ZERO, settings(), 0x1234_5678_9abc_def0 ^ seed),
            reflector: Reflector::new(limits, RandomState::new()),
            up: Hop::new(up, seed, "up"),
            down: Hop::new(down, seed, "down"),
            small: (0, 0),
            forge: None,
        }
    }

    fn run(&mut self) -> Result<Outcome, Failure> {
        loop {
            if let Some(outcome) = self.probe.outcome() {
                return outcome;
            }
            self.step();
            assert!(
                self.now < Time::ZERO + Duration::from_secs(120),
                "{:?}",
                self.probe.stage()
            );
        }
    }

    fn step(&mut self) {
        let next = [
            self.up.poll_timeout(),
            self.down.poll_timeout(),
            self.reflector.poll_timeout(),
        ];
        let next = next.into_iter().flatten().min().unwrap_or(Time::NEVER);
        self.now = self.now.max(next.min(self.probe.poll_timeout()));
        let now = self.now;
        let mut wire = [0; MAX_MESSAGE_BYTES];
        self.probe.handle_timeout(now);
        while let Some((lane, length)) = self.probe.poll_transmit(now, &mut wire) {
            let _ = self.up.handle_input(now, size(length), (lane, wire[..length].to_vec()));
        }
        self.reflector.handle_timeout(now);
        while let Some((to, length, _)) = self.reflector.poll_transmit(now, &mut wire) {
            assert_eq!(to, address(Channel::Load));
            let _ = self
                .down
                .handle_input(now, size(length), (Channel::Load, wire[..length].to_vec()));
        }
        while let Some((at, (lane, packet))) = self.up.poll_output(now) {
            let mut answer = [0; CONTROL_BYTES];
            self.small.0 += packet.len() as u64;
            if let Some((length, _)) = self.reflector.handle_input(at, address(lane), &packet, 0, &mut answer) {
                self.small.1 += length as u64;
                let _ = self
                    .down
                    .handle_input(at, size(length), (lane, answer[..length].to_vec()));
            }
        }
        while let Some((at, packet)) = self.down.poll_output(now) {
            let forged = self.forge.as_mut().map(|forge| forge(&packet)).unwrap_or_default();
            for (lane, wire) in &forged {
                self.probe.handle_input(at, *lane, wire);
            }
            self.probe.handle_input(at, packet.0, &packet.1);
        }
    }
}

fn size(length: usize) -> Bytes {
    Bytes::new((length + AROUND) as u64)
}

fn near(found: f64, truth: f64, part: f64) -> bool {
    (found / truth - 1.0).abs() <= part
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// Compares the measured values with the parameters of the line.
    #[test]
    fn a_line_is_measured_to_a_few_percent(
        up in 0.5_f64..40.0, down in 0.5_f64..40.0, ms in (1_u64..80, 1_u64..80),
        waits in (0.02_f64..0.7, 0.02_f64..0.7), seed in 0_u64..1000,
    ) {
        let room = |mbps: f64, wait: f64| ((mbps * 1e6 / 8.0 * wait) as u64).max(25_000);
        let rooms = [room(up, waits.0), room(down, waits.1)];
        let delays = [ms.0, ms.1].map(Duration::from_ms);
        let mut world = World::new(line(up * 1e6, delays[0], rooms[0]), line(down * 1e6, delays[1], rooms[1]), seed);
        let found = world.run().unwrap();
        let small = (CONTROL_BYTES + AROUND) as f64 * 8e-6;
        let idle = (ms.0 + ms.1) as f64 / 1e3 + small / up + small / down;
        prop_assert!(near(found.idle.median, idle, 0.001), "{} is not {idle}", found.idle.median);
        prop_assert_eq!(found.garbage, 0);
        for ((found, mbps), room) in found.loaded.iter().zip([up, down]).zip(rooms) {
            prop_assert!(near(found.capacity, mbps * 1e6, 0.02), "{} is not {mbps} Mb/s", found.capacity);
            let buffer = found.buffer.unwrap() as f64;
            // The occupancy of a full buffer varies by one packet, so an error of one packet is allowed.
            prop_assert!((buffer - room as f64).abs() <= 0.03 * room as f64 + 1242.0, "{buffer} is not {room}");
            prop_assert_eq!(found.queue, Queue::DropTail);
            let wait = room as f64 * 8.0 / (mbps * 1e6);
            // The queueing delay varies by one load packet.
            let packet = 1242.0 * 8.0 / (mbps * 1e6);
            prop_assert!((found.added - wait).abs() <= 0.03 * wait + 1.5 * packet, "{} is not {wait}", found.added);
        }
    }
}

#[test]
fn a_policer_has_no_buffer() {
    let two_packets = line(10e6, Duration::from_ms(10), 2600);
    let found = World::new(two_packets, two_packets, 1).run().unwrap();
    for way in found.loaded {
        assert_eq!(way.queue, Queue::Policer, "{way:?}");
        assert!(way.buffer.unwrap() < 3000 && way.added < 0.003, "{way:?}");
    }
}

#[test]
fn an_unfilled_buffer_is_reported_as_a_lower_bound() {
    let vast = line(1e6, Duration::from_ms(10), 100_000_000);
    let mut world = World::new(vast, vast, 1);
    world.probe = Probe::new(
        Time::ZERO,
        Settings {
            time: Duration::from_secs(5),
            max_rate: rate(1e9),
            around: AROUND,
        },
        1,
    );
    for way in world.run().unwrap().loaded {
        assert_eq!(way.queue, Queue::Larger, "{way:?}");
        assert!(near(way.capacity, 1e6, 0.02), "{way:?}");
    }
}

#[test]
fn a_line_that_the_largest_rate_does_not_fill_is_at_least_as_fast() {
    let fast = line(1e9, Duration::from_ms(5), 1_000_000);
    let mut world = World::new(fast, fast, 1);
    world.reflector = Reflector::new(
        Limits {
            max_rate: rate(4e6),
            time: Duration::from_secs(60),
        },
        RandomState::new(),
    );
    for way in world.run().unwrap().loaded {
        assert_eq!((way.queue, way.buffer), (Queue::Unseen, None));
        assert!(near(way.capacity, 4e6, 0.02), "{way:?}");
    }
}

#[test]
fn loss_and_jitter_of_an_idle_line_are_measured() {
    let mut lossy = line(10e6, Duration::from_ms(20), 125_000);
    lossy.wire.loss = WireLoss::Independent(0.02);
    lossy.wire.jitter = Duration::from_ms(4);
    let found = World::new(lossy, lossy, 7).run().unwrap();
    assert!((0.005..0.1).contains(&found.idle.loss), "{:?}", found.idle);
    assert!((0.0005..0.004).contains(&found.idle.jitter), "{:?}", found.idle);
    for way in found.loaded {
        assert_eq!(way.queue, Queue::DropTail, "{way:?}");
        // Random losses on the wire reduce the measured capacity.
        assert!(near(way.capacity, 9.8e6, 0.02), "{way:?}");
        assert!(near(way.buffer.unwrap() as f64, 125_000.0, 0.1), "{way:?}");
    }
}

#[test]
fn a_missing_and_a_busy_reflector_are_distinguished() {
    let clear = line(10e6, Duration::from_ms(5), 100_000);
    let mut dead = clear;
    dead.wire.loss = WireLoss::Independent(1.0);
    assert_eq!(World::new(dead, clear, 1).run(), Err(Failure::NoReply));
    let mut world = World::new(clear, clear, 1);
    let other = SocketAddr::from(([10, 0, 0, 9], 7000));
    let request = |world: &mut World, message: Message| {
        let (mut wire, mut answer) = ([0; CONTROL_BYTES], [0; CONTROL_BYTES]);
        message.encode(&mut wire);
        world.reflector.handle_input(world.now, other, &wire, 0, &mut answer);
        Message::decode(&answer)
    };
    let Some(Message::Welcome { token, .. }) = request(&mut world, Message::Hello { id: 1 }) else {
        panic!("no welcome");
    };
    let ping = Message::Ping {
        id: 1,
        token,
        seq: 0,
        ecn: 0,
    };
    request(&mut world, ping);
    while world.probe.outcome().is_none() {
        world.step();
        request(&mut world, ping);
    }
    assert_eq!(world.probe.outcome(), Some(Err(Failure::Busy)));
    // The other client sends no more packets. Its session therefore ends, and the next client is served.
    world.probe = Probe::new(world.now, settings(), 5);
    assert!(world.run().is_ok());
}

#[test]
fn forged_answers_change_nothing() {
    let clear = line(5e6, Duration::from_ms(10), 50_000);
    let honest = World::new(clear, clear, 3).run().unwrap();
    let mut world = World::new(clear, clear, 3);
    let mut count = 0_u64;
    world.forge = Some(Box::new(move |(lane, wire)| {
        count += 1;
        let guess = |message: Message| {
            let mut forged = vec![0; CONTROL_BYTES];
            message.encode(&mut forged);
            (*lane, forged)
        };
        let load = Arrived {
            packets: 1 << 40,
            bytes: 1 << 50,
            sent: 1 << 40,
            ..Arrived::default()
        };
        let mut broken = wire.clone();
        broken[(count % 8) as usize] ^= 1;
        let mut other = wire.clone();
        other[8 + (count % 8) as usize] ^= 0x10;
        let pong = |id, seq, load| Message::Pong {
            id,
            seq,
            at: 1,
            pings: 0,
            load,
            seen: 0,
        };
        let mut forged = vec![
            guess(pong(count, 0, load)),
            guess(Message::Busy { id: count }),
            (*lane, broken),
            (*lane, other),
        ];
        // A datagram with the correct secret is rejected, too, if it reports packets that were never sent.
        if let Some(Message::Pong { id, .. }) = Message::decode(wire) {
            forged.push(guess(pong(id, u64::MAX, Arrived::default())));
            forged.push(guess(pong(id, 0, load)));
        }
        forged.push((*lane, wire[..wire.len() / 2].to_vec()));
        forged
    }));
    let found = world.run().unwrap();
    assert!(found.garbage > 1000);
    assert_eq!((found.idle, found.loaded), (honest.idle, honest.loaded));
}

#[test]
fn duplicate_answers_count_once() {
    let clear = line(5e6, Duration::from_ms(10), 50_000);
    let honest = World::new(clear, clear, 3).run().unwrap();
    let mut world = World::new(clear, clear, 3);
    let mut last: Option<Packet> = None;
    world.forge = Some(Box::new(move |packet| {
        let again = last.take().filter(|(lane, _)| *lane == Channel::Call);
        last = Some(packet.clone());
        again.into_iter().collect()
    }));
    assert_eq!(world.run().unwrap().loaded, honest.loaded);
}

/// A client that has not proved its address receives at most as many bytes as it sent.
#[test]
fn a_reflector_amplifies_nothing() {
    let limits = Limits {
        max_rate: rate(2e6),
        time: Duration::from_secs(3),
    };
    let mut reflector = Reflector::new(limits, RandomState::new());
    let victim = address(Channel::Load);
    let (mut came, mut left) = (0, 0);
    let mut random = 1_u64;
    for step in 0..4000_u64 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let now = Time::ZERO + Duration::from_ms(step);
        let (id, token, seq) = (random >> 60, random, step);
        let message = [
            Message::Hello { id },
            Message::Ping { id, token, seq, ecn: 0 },
            Message::Pull {
                id,
                token,
                seq,
                rate: u64::MAX,
                ecn: 0,
            },
            Message::Load {
                id,
                token,
                seq,
                sent: 0,
            },
        ][(random >> 33) as usize % 4];
        let (mut wire, mut answer) = ([0; CONTROL_BYTES], [0; CONTROL_BYTES]);
        message.encode(&mut wire);
        came += CONTROL_BYTES;
        left += reflector
            .handle_input(now, victim, &wire, 0, &mut answer)
            .map_or(0, |(length, _)| length);
        assert_eq!(reflector.poll_transmit(now, &mut [0; MAX_MESSAGE_BYTES]), None);
    }
    assert!(left <= came && reflector.sessions == 0 && reflector.garbage > 0);
}

#[test]
fn requested_load_is_limited() {
    let limits = Limits {
        max_rate: rate(2e6),
        time: Duration::from_secs(3),
    };
    let mut reflector = Reflector::new(limits, RandomState::new());
    let near = address(Channel::Load);
    let (mut wire, mut answer) = ([0; CONTROL_BYTES], [0; CONTROL_BYTES]);
    let mut sent = 0;
    let mut token = 0;
    for ms in 0..6000_u64 {
        let now = Time::ZERO + Duration::from_ms(10_000 + ms);
        let message = match ms {
            0 => Message::Hello { id: 7 },
            _ => Message::Pull {
                id: 7,
                token,
                seq: ms,
                rate: u64::MAX,
                ecn: 0,
            },
        };
        message.encode(&mut wire);
        if reflector.handle_input(now, near, &wire, 0, &mut answer).is_some()
            && let Some(Message::Welcome { token: given, .. }) = Message::decode(&answer)
        {
            token = given;
        }
        while let Some((_, length, _)) = reflector.poll_transmit(now, &mut [0; MAX_MESSAGE_BYTES]) {
            sent += length + AROUND;
        }
    }
    let most = 2e6 / 8.0 * 6.1;
    assert!((sent as f64) < most && sent > 0, "{sent} bytes");
    // A session lasts at most 3 s, so a second session has followed the first. The second session ends when no more
    // datagrams arrive.
    let later = Time::ZERO + Duration::from_secs(30);
    reflector.handle_timeout(later);
    assert_eq!((reflector.serves(), reflector.poll_timeout()), (None, None));
}

proptest! {
    /// Arbitrary datagrams do not make either end panic, and a reply is never longer than its request.
    #[test]
    fn arbitrary_datagrams_are_harmless(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..40), kind in 0_u8..9) {
        let clear = line(5e6, Duration::from_ms(10), 50_000);
        let mut world = World::new(clear, clear, 3);
        while world.probe.stage() == Phase::Handshake { world.step(); }
        for mut wire in datagrams {
            if wire.len() >= 8 { wire[..8].copy_from_slice(&[b'L', b'F', b'P', b'B', 1, kind, 0, 0]); }
            wire.resize(wire.len().max(CONTROL_BYTES), 0xff);
            let mut answer = [0; CONTROL_BYTES];
            let left = world.reflector.handle_input(world.now, address(Channel::Call), &wire, 0, &mut answer);
            prop_assert!(left.map_or(0, |(length, _)| length) <= wire.len());
            world.probe.handle_input(world.now, Channel::Call, &wire);
            world.probe.handle_input(world.now, Channel::Load, &wire);
        }
    }
}
