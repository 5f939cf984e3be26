//! Flows over a bottleneck in virtual time. The bottleneck may have a router of the law.

mod same;
mod timers;

use std::collections::BTreeMap;

use levelflow_laws::{
    AnyHeader, AnyParams, AnyRouter, AnyRouterParams, Arriving, FlowInfo, Kind, LAWS, LawInfo, PortInfo, PortView,
    RouterLaw, SenderLaw, Signal, explicit_laws,
};
use levelflow_path::{Datagram, Hop, Port, Propagation, Settings};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::journal::Sink;
use levelflow_wire::shim::{MAX_PREFIX_BYTES, SHIM_BYTES, Shim};

use crate::{LONGEST_ACK, MAX_PACKETS, Received, Receiver, Rejected};

type Sender = crate::WireSender<NoLog>;

/// Sink of senders without a log.
#[derive(Debug)]
struct NoLog;

impl Sink for NoLog {
    fn write(&mut self, _record: &[u8]) {}
}

const PACKET: Bytes = Bytes::new(1250);

fn params(law: &str) -> AnyParams {
    with(law, &[])
}

/// Returns the parameters of a law. `changes` override the defaults.
pub(crate) fn with(law: &str, changes: &[(&str, f64)]) -> AnyParams {
    let table = LAWS.iter().find(|info| info.name == law).unwrap().params;
    assert!(
        changes
            .iter()
            .all(|(name, _)| table.iter().any(|row| row.name == *name))
    );
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
    let values: Vec<f64> = table.iter().map(|row| value(row.name).unwrap_or(row.default)).collect();
    levelflow_laws::params(law, &values).unwrap()
}

/// Returns the default parameters of the routers of a law.
fn router_params(law: &str) -> AnyRouterParams {
    let signalling = LAWS.iter().find(|info| info.name == law).unwrap().signalling;
    let values: Vec<f64> = signalling.params.iter().map(|row| row.default).collect();
    levelflow_laws::router_params(signalling.name, &values).unwrap()
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

fn ms(ms: u64) -> Duration {
    Duration::from_ms(ms)
}

/// Datagram in flight to the receiver.
struct Packet {
    flow: usize,
    wire: Vec<u8>,
    size: Bytes,
    ours: bool,
}

impl Datagram for Packet {
    fn payload(&mut self) -> &mut [u8] {
        &mut self.wire
    }

    fn ours(&mut self) -> &mut bool {
        &mut self.ours
    }
}

/// Behaviour of the reverse path for an ACK. Returns the delay of each copy of the ACK that arrives. The list is empty
/// if the ACK is lost.
type Fate = Box<dyn FnMut(&mut Vec<u8>) -> Vec<Duration>>;

struct World {
    now: Time,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    hop: Hop<Packet, Option<Port<NoLog>>>,
    /// ACKs in flight, by arrival time.
    acks: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    count: u64,
    fate: Fate,
    history: bool,
}

impl World {
    fn new(law: &str, flows: u32, router: bool) -> Self {
        let params = params(law);
        let capacity = rate("50 Mb/s");
        let number = params.law().signalling.number;
        let settings = Settings {
            rate: Some(capacity),
            wire: Propagation {
                delay: ms(10),
                ..Propagation::default()
            },
            ..Settings::default()
        };
        let port = router.then(|| Port::new(router_params(law), PortInfo { id: 1, capacity }, Time::ZERO));
        Self {
            now: Time::ZERO,
            senders: (0..flows)
                .map(|i| Sender::new(params.clone(), FlowInfo::of(PACKET), 77 + i))
                .collect(),
            receivers: (0..flows).map(|_| Receiver::new(number).unwrap()).collect(),
            hop: Hop::under(port, settings, 0, ""),
            acks: BTreeMap::new(),
            count: 0,
            fate: Box::new(|_| vec![ms(10)]),
            history: true,
        }
    }

    /// Sets the line rate of the bottleneck.
    fn at(mut self, line: &str) -> Self {
        let settings = self.hop.settings();
        let rate = Some(rate(line));
        self.hop.set(self.now, Settings { rate, ..settings });
        self
    }

    fn stamp(&self) -> u64 {
        self.now.as_ps() / 1000
    }

    /// Returns the time of the next event.
    fn upcoming(&self) -> Option<Time> {
        let senders = self.senders.iter().filter_map(Sender::poll_timeout);
        let acks = self.acks.first_key_value().map(|((at, _), _)| *at);
        let next = senders.chain(acks).chain(self.hop.poll_timeout()).min();
        next.map(|at| at.max(self.now))
    }

    fn run(&mut self, until: Duration) {
        while let Some(at) = self.upcoming().filter(|at| *at <= Time::ZERO + until) {
            self.now = at;
            self.hop.handle_timeout(at);
            while let Some((_, packet)) = self.hop.poll_output(at) {
                self.arrive(packet.flow, &packet.wire, packet.size);
            }
            while let Some(ack) = self.acks.first_entry().filter(|ack| ack.key().0 <= at) {
                let (i, wire) = ack.remove();
                self.acked(i, &wire);
            }
            for i in 0..self.senders.len() {
                self.senders[i].handle_timeout(at);
                self.send(i);
            }
        }
        self.now = Time::ZERO + until;
    }

    fn send(&mut self, flow: usize) {
        let (now, stamp) = (self.now, self.stamp());
        let mut wire = vec![0; MAX_PREFIX_BYTES];
        let Some(packet) = self.senders[flow].poll_transmit(now, stamp, &mut wire) else {
            return;
        };
        wire.truncate(packet.prefix);
        let (size, ours) = (packet.size, false);
        let packet = Packet { flow, wire, size, ours };
        assert!(
            self.hop.handle_input(now, size, packet).is_ok(),
            "the queue has no limit"
        );
    }

    fn arrive(&mut self, i: usize, wire: &[u8], size: Bytes) {
        let (shim, header, _) = Shim::decode(wire).unwrap();
        if shim.unacknowledged {
            return;
        }
        let receiver = &mut self.receivers[i];
        let mut out = vec![0; LONGEST_ACK];
        let room = if self.history { LONGEST_ACK } else { 0 };
        let (_, length) = receiver
            .ack(
                self.now,
                Received {
                    shim: &shim,
                    header,
                    size,
                    marked: false,
                },
                room,
                &mut out,
            )
            .unwrap();
        out.truncate(length);
        for after in (self.fate)(&mut out) {
            self.count += 1;
            self.acks.insert((self.now + after, self.count), (i, out.clone()));
        }
    }

    fn acked(&mut self, i: usize, wire: &[u8]) {
        let Ok((shim, header, rest)) = Shim::decode(wire) else {
            return;
        };
        let stamp = self.stamp();
        let _ = self.senders[i].handle_ack(self.now, stamp, &shim, header, rest);
    }

    /// Returns the goodput of each flow between two times, bit/s.
    fn goodput(&mut self, from: Duration, to: Duration) -> Vec<f64> {
        let delivered =
            |w: &Self| -> Vec<u64> { w.senders.iter().map(|s| s.counters().data.delivered_bytes).collect() };
        self.run(from);
        let before = delivered(self);
        self.run(to);
        let time = (to - from).as_secs_f64();
        delivered(self)
            .iter()
            .zip(before)
            .map(|(after, before)| (after - before) as f64 * 8.0 / time)
            .collect()
    }
}

fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1_u64 << 24) as f64
    }
}

fn assert_shares(law: &str, goodput: &[f64], total: std::ops::Range<f64>) {
    let sum: f64 = goodput.iter().sum();
    assert!(total.contains(&(sum / 1e6)), "{law}: {goodput:?}");
    let share = sum / goodput.len() as f64;
    let off = goodput.iter().map(|g| (g / share - 1.0).abs()).fold(0.0, f64::max);
    assert!(off < 0.05, "{law}: {goodput:?}");
}

#[test]
fn flows_with_a_router_share_the_bottleneck() {
    for law in ["jetmax", "rcp", "xcp"] {
        let goodput = World::new(law, 4, true).goodput(ms(12_000), ms(16_000));
        assert_shares(law, &goodput, 40.0..50.01);
    }
}

#[test]
fn nine_acks_of_ten_may_be_lost() {
    for law in ["jetmax", "rcp"] {
        let (mut world, mut random) = (World::new(law, 3, true), random(1));
        world.fate = Box::new(move |ack| {
            let opens = ack[12..16] == [0; 4];
            if opens || random() > 0.9 { vec![ms(10)] } else { vec![] }
        });
        let goodput = world.goodput(ms(20_000), ms(30_000));
        assert_shares(law, &goodput, 40.0..50.01);
        let lost: u64 = world
            .senders
            .iter()
            .map(|s| s.counters().data.lost - s.counters().data.spurious)
            .sum();
        assert!(lost < 30, "{law}: {lost} packets are declared lost");
    }
}

#[test]
fn copies_and_late_acks_change_no_share() {
    let (mut world, mut random) = (World::new("jetmax", 3, true), random(2));
    world.fate = Box::new(move |_| {
        let copies = 1 + (random() * 3.0) as usize;
        (0..copies).map(|_| ms(10 + (random() * 30.0) as u64)).collect()
    });
    let goodput = world.goodput(ms(12_000), ms(16_000));
    assert_shares("jetmax", &goodput, 45.0..50.01);
    let refused: u64 = world.senders.iter().map(|s| s.counters().refused.total()).sum();
    let acks: u64 = world.senders.iter().map(|s| s.counters().acks).sum();
    assert!(refused > acks / 2, "every copy is refused: {refused}, {acks} accepted");
}

// **Invariant** (The transport): reordered ACKs are all processed.
/// At 1 Gb/s, 30 ms of jitter reorder ACKs by thousands of packets.
#[test]
fn acks_that_overtake_each_other_all_count() {
    let (mut world, mut random) = (World::new("jetmax", 1, true).at("1 Gb/s"), random(4));
    world.fate = Box::new(move |_| vec![ms(10 + (random() * 30.0) as u64)]);
    world.run(ms(5_000));
    let counters = world.senders[0].counters();
    assert!(counters.acks > 10_000, "{counters:?}");
    assert_eq!((counters.refused.total(), counters.data.lost), (0, 0), "{counters:?}");
}

#[test]
fn a_receiver_that_invents_feedback_gets_no_more_than_the_largest_rate() {
    for law in explicit_laws() {
        let mut world = World::new(law.name, 1, false).at("10 Gb/s");
        let mut random = random(3);
        world.senders = vec![Sender::new(params(law.name), FlowInfo::of(PACKET), 77).with_max_rate(rate("20 Mb/s"))];
        world.fate = Box::new(move |ack| {
            for byte in &mut ack[SHIM_BYTES..] {
                if random() < 0.3 {
                    *byte = (random() * 256.0) as u8;
                }
            }
            vec![ms(10)]
        });
        world.run(ms(5_000));
        let counters = world.senders[0].counters();
        let most = 20e6 / 8.0 * 5.0 + 20.0 * 1250.0;
        assert!((counters.bytes as f64) < most, "{}: {counters:?}", law.name);
        assert!(world.senders[0].rate() <= rate("20 Mb/s"));
    }
}

// **Invariant** (The transport): with any law, a sender that needs ACKs and receives none slows down to one packet per
// second. A sender that needs no ACKs does not slow down. An idle time slows down no sender. See
// `a_sender_that_needs_no_acks_never_slows_down`, `an_idle_time_slows_no_law_down`.
#[test]
fn without_acks_a_sender_slows_down_to_a_packet_per_second() {
    for law in LAWS.iter().filter(|law| law.signal != Signal::Nothing) {
        let mut world = World::new(law.name, 1, false).at("10 Gb/s");
        world.senders = vec![Sender::new(params(law.name), FlowInfo::of(PACKET), 77).with_max_rate(rate("10 Mb/s"))];
        world.run(ms(2_000));
        world.fate = Box::new(|_| vec![]);
        world.run(ms(40_000));
        let before = world.senders[0].counters().packets;
        world.run(ms(50_000));
        let packets = world.senders[0].counters().packets - before;
        assert!(
            packets <= 11,
            "{} sent {packets} packets in 10 s without ACKs",
            law.name
        );
        world.fate = Box::new(|_| vec![ms(10)]);
        world.run(ms(130_000));
        assert!(
            world.senders[0].counters().packets > before + packets,
            "{} never speeds up again",
            law.name
        );
    }
}

/// A sender whose law needs no ACKs sends at the rate of its law, up to the host's rate limit.
#[test]
fn a_sender_that_needs_no_acks_never_slows_down() {
    for law in LAWS.iter().filter(|law| law.signal == Signal::Nothing) {
        for (most, bits) in [("10 Mb/s", 1e6), ("100 kb/s", 1e5)] {
            let mut world = World::new(law.name, 1, false).at("10 Gb/s");
            world.senders = vec![Sender::new(params(law.name), FlowInfo::of(PACKET), 77).with_max_rate(rate(most))];
            world.run(ms(100_000));
            let counters = world.senders[0].counters();
            let expected = 100.0 * bits / PACKET.as_bits_f64();
            assert!(
                (counters.packets as f64 - expected).abs() <= 1.0,
                "{}: {counters:?}",
                law.name
            );
            assert_eq!((counters.acks, world.senders[0].rtt()), (0, None), "{}", law.name);
        }
    }
}

#[test]
fn without_a_router_a_flow_keeps_its_first_rate_and_reports_it() {
    // Without its router, ABC behaves as CUBIC, whose rate increases while no packet is lost.
    for law in explicit_laws().map(|law| law.name).filter(|law| *law != "abc") {
        let mut world = World::new(law, 1, false);
        let first = world.senders[0].rate();
        world.run(ms(5_000));
        let sender = &world.senders[0];
        let bound = match law {
            "xcp" => rate("2 Mb/s"),
            "maxnet" => rate("1 Mb/s"),
            _ => Rate::clamped(1.01 * first.bps()),
        };
        assert!(sender.rate() <= bound, "{law}: {} then {}", first, sender.rate());
        assert!(sender.counters().acks > 0);
    }
}

#[test]
fn an_ack_of_every_law_shows_whether_a_router_saw_the_packet() {
    for law in explicit_laws() {
        let params = router_params(law.name);
        let mut sender = Sender::new(self::params(law.name), FlowInfo::of(PACKET), 5);
        let mut router = AnyRouter::new(
            &params,
            &PortInfo {
                id: 1,
                capacity: rate("50 Mb/s"),
            },
        );
        for (at, seen) in [(0, false), (100, true)] {
            let now = Time::ZERO + ms(at);
            let (shim, header) = exchange_through(&mut sender, at, |header| {
                if seen {
                    router.on_arrival(&params, &Arriving::alone(PACKET), None);
                    router.on_interval(&params, router.interval(&params), &PortView::IDLE);
                    router.on_arrival(
                        &params,
                        &Arriving {
                            now,
                            ..Arriving::alone(PACKET)
                        },
                        Some(header),
                    );
                    router.on_departure(&params, PACKET, header);
                }
            });
            let ack = sender.handle_ack(Time::ZERO + ms(at + 1), (at + 1) * 1_000_000, &shim, &header, &[]);
            let routed = ack.unwrap().routed;
            // The header of an XCP packet that requests no change does not show whether a router processed it.
            assert!(
                routed == Some(seen) || !seen && routed.is_none(),
                "{}: {routed:?}",
                law.name
            );
        }
    }
}

/// Sends a packet at the time `at` (ms) and returns its ACK.
fn exchange(sender: &mut Sender, at: u64) -> (Shim, Vec<u8>) {
    exchange_through(sender, at, |_| {})
}

/// Sends a packet at the time `at` (ms) and returns its ACK. `router` may change the header of the packet.
fn exchange_through(sender: &mut Sender, at: u64, router: impl FnOnce(&mut AnyHeader)) -> (Shim, Vec<u8>) {
    let mut wire = [0; MAX_PREFIX_BYTES];
    let now = Time::ZERO + ms(at);
    sender.transmit_sized(now, at * 1_000_000, PACKET.get() as u16, false, &mut wire);
    let mut header = AnyHeader::decode(sender.params().law().signalling, &wire[SHIM_BYTES..]).unwrap();
    router(&mut header);
    header.encode(&mut wire[SHIM_BYTES..]);
    let (shim, header, _) = Shim::decode(&wire).unwrap();
    let mut receiver = Receiver::new(shim.signalling).unwrap();
    let mut out = [0; MAX_PREFIX_BYTES];
    receiver
        .ack(
            now,
            Received {
                shim: &shim,
                header,
                size: PACKET,
                marked: false,
            },
            0,
            &mut out,
        )
        .unwrap();
    let (shim, header, _) = Shim::decode(&out).unwrap();
    (shim, header.to_vec())
}

// **Invariant** (The data plane): feedback is validated. A duplicate, late, forged or malformed ACK has no effect. No
// feedback makes a sender exceed `--max-rate`. See `copies_and_late_acks_change_no_share`,
// `garbage_and_forged_acks_change_nothing`, `a_receiver_that_invents_feedback_gets_no_more_than_the_largest_rate`.
#[test]
fn only_true_acks_count() {
    let mut sender = Sender::new(params("jetmax"), FlowInfo::of(PACKET), 5);
    let now = Time::ZERO + ms(10);
    let (shim, header) = exchange(&mut sender, 1);
    let before = sender.law().clone();
    let mut refused = |shim: Shim, header: &[u8]| sender.handle_ack(now, 10_000_000, &shim, header, &[]).unwrap_err();
    assert_eq!(refused(Shim { flow: 6, ..shim }, &header), Rejected::UnknownFlow);
    assert_eq!(
        refused(
            Shim {
                kind: Kind::Data,
                ..shim
            },
            &header
        ),
        Rejected::UnknownFlow
    );
    assert_eq!(refused(Shim { signalling: 3, ..shim }, &header), Rejected::Signalling);
    assert_eq!(refused(shim, &header[..27]), Rejected::Signalling);
    assert_eq!(refused(Shim { number: 1, ..shim }, &header), Rejected::Unknown);
    assert_eq!(
        refused(
            Shim {
                number: u32::MAX,
                ..shim
            },
            &header
        ),
        Rejected::Unknown
    );
    assert_eq!(refused(Shim { time: 999_999, ..shim }, &header), Rejected::Time);
    assert_eq!(
        refused(
            Shim {
                time: 10_000_001,
                ..shim
            },
            &header
        ),
        Rejected::Time
    );
    let mut nan = header.clone();
    nan[12..16].copy_from_slice(&f32::NAN.to_be_bytes());
    assert!(matches!(refused(shim, &nan), Rejected::Header(_)));
    assert_eq!((sender.counters().refused.total(), sender.law()), (9, &before));
    assert!(sender.handle_ack(now, 10_000_000, &shim, &header, &[]).is_ok());
    let again = sender.handle_ack(now, 10_000_000, &shim, &header, &[]).unwrap_err();
    assert!(matches!(again, Rejected::Replayed | Rejected::Unknown));
}

#[test]
fn the_state_of_packets_is_bounded() {
    let mut sender = Sender::new(params("kelly"), FlowInfo::of(PACKET), 5);
    let mut wire = [0; MAX_PREFIX_BYTES];
    let many = 3 * MAX_PACKETS as u64;
    for i in 0..many {
        sender.transmit_sized(Time::from_ps(i), i, PACKET.get() as u16, false, &mut wire);
    }
    assert_eq!(sender.outstanding() as usize, MAX_PACKETS);
    assert_eq!(sender.counters().data.lost, many - MAX_PACKETS as u64);
}

#[test]
fn numbers_wrap() {
    let mut world = World::new("kelly", 1, false);
    world.senders[0].skip_to(u32::MAX - 20);
    world.run(ms(5_000));
    let counters = world.senders[0].counters();
    assert!(counters.packets > 40 && counters.data.lost == 0 && counters.refused.total() == 0);
    assert!(counters.packets - counters.data.delivered < 20, "{counters:?}");
}

#[test]
fn the_sent_rate_is_that_of_the_law() {
    let mut world = World::new("cbr", 1, false).at("10 Gb/s");
    let asked = world.senders[0].law().rate().bps();
    world.run(ms(10_000));
    let sent = world.senders[0].counters().bytes as f64 * 8.0 / 10.0;
    assert!(
        (sent / asked - 1.0).abs() < 0.01,
        "{sent} bit/s is not the rate of the law"
    );
}

/// QUIC has its own handshake. Over QUIC, a law that needs a handshake paces from its first packet on.
#[test]
fn without_a_handshake_of_its_own_a_law_paces_at_once() {
    for law in explicit_laws() {
        let mut sender = Sender::new(params(law.name), FlowInfo::of(PACKET), 1).without_handshake();
        let now = Time::ZERO + ms(5000);
        let mut out = [0; MAX_PREFIX_BYTES];
        for _ in 0..100 {
            sender.transmit_sized(now, 0, 1200, false, &mut out);
        }
        assert_eq!(sender.departure() > now, sender.law().paces(), "{}", law.name);
    }
}

#[test]
fn the_first_packet_leaves_alone() {
    for law in explicit_laws() {
        let mut sender = Sender::new(params(law.name), FlowInfo::of(PACKET), 1).without_handshake();
        let now = Time::ZERO + ms(5000);
        sender.transmit_sized(now, 0, 1200, false, &mut [0; MAX_PREFIX_BYTES]);
        assert_eq!(sender.departure() > now, sender.law().paces(), "{}", law.name);
    }
}

/// The sender sends four packets in 1.5 s and receives no ACK. The first timeout follows 1 s after the last packet.
#[test]
fn the_last_packet_of_a_slow_flow_has_a_whole_timeout() {
    let mut sender = Sender::new(params("kelly"), FlowInfo::of(PACKET), 1)
        .with_max_rate(rate("20 kb/s"))
        .with_transfer(Some(4 * PACKET.get()), None, true);
    let mut wire = [0; MAX_PREFIX_BYTES];
    let mut last = Time::ZERO;
    while sender.counters().packets < 4 {
        last = sender.poll_timeout().unwrap();
        sender.poll_transmit(last, last.as_ps() / 1000, &mut wire).unwrap();
    }
    assert_eq!(sender.outstanding(), 4);
    assert!(last > Time::ZERO + ms(1000), "{last:?}");
    sender.handle_timeout(last);
    assert_eq!((sender.counters().data.timeouts, sender.outstanding()), (0, 4));
    assert_eq!(sender.poll_timeout(), Some(last + ms(1000)));
}
