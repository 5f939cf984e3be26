//! Throughput of four honest flows that compete with a flow that lies or ignores feedback. The relay's own queue and
//! router run in virtual time. This command prints the numbers of docs/reference/wire-format.md: `cargo test -p
//! levelflow-router --test hostile_shares -- --nocapture`

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use std::sync::OnceLock;

use levelflow_journal::Sender;
use levelflow_laws::{AnyHeader, FlowInfo};
use levelflow_net_testing::world::{LINE, Rewrite, World, header, ms};
use levelflow_transport::FlowCounters;
use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const LAWS: [&str; 6] = ["jetmax", "level", "emkc", "rcp", "maxnet", "xcp"];
/// Index of the dishonest flow. Flows 0 to 3 are honest.
const LIAR: usize = 4;
/// Smallest fraction of the fair share that honest flows keep if the law protects them.
const KEPT: f64 = 0.9;

/// Goodput of all flows, bit/s, after convergence.
fn settled(world: &mut World) -> Vec<f64> {
    world.goodput(ms(10_000), ms(15_000))
}

/// Goodput of all flows if no flow lies. It is computed once per law for all tests.
fn base(law: &str) -> Vec<f64> {
    static KNOWN: [OnceLock<Vec<f64>>; LAWS.len()] = [const { OnceLock::new() }; LAWS.len()];
    let number = LAWS.iter().position(|known| *known == law).unwrap();
    KNOWN[number].get_or_init(|| settled(&mut World::new(law, 5))).clone()
}

/// Returns the smallest fraction of the fair share that any honest flow keeps. `left` is the sum of the fair shares,
/// bit/s.
fn kept(base: &[f64], rates: &[f64], left: f64) -> f64 {
    let scale = left / base[..LIAR].iter().sum::<f64>();
    let parts = rates[..LIAR].iter().zip(base).map(|(rate, base)| rate / (base * scale));
    parts.fold(f64::INFINITY, f64::min)
}

/// Results that differ from the documentation.
#[derive(Default)]
struct Surprises(Vec<String>);

impl Surprises {
    /// Records a result if the protection of honest flows differs from the documentation. `kept` is the fraction of
    /// their share that honest flows keep.
    fn judge(&mut self, what: &str, kept: f64, protected: bool) {
        if (kept >= KEPT) != protected {
            self.0.push(format!("{what}: {:.0} %", 100.0 * kept));
        }
    }
}

impl Drop for Surprises {
    fn drop(&mut self) {
        assert!(
            std::thread::panicking() || self.0.is_empty(),
            "different from the documents: {:?}",
            self.0
        );
    }
}

fn rate(bps: f64) -> Rate {
    Rate::new(bps).unwrap()
}

/// A deaf sender ignores feedback. In this test, it sends below capacity, with and without a header of the law. The law
/// shares the remaining capacity among the other flows.
#[test]
fn flows_share_what_an_unresponsive_sender_leaves() {
    println!("law      deaf sender  honest flows keep of what is left");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let all: f64 = base.iter().sum();
        for share in [0.25, 0.5] {
            for ours in [false, true] {
                let mut world = World::new(law, 5);
                world.hosts[LIAR].deaf = Some((rate(share * LINE), Time::ZERO));
                if !ours {
                    world.hosts[LIAR].lie = Some(Box::new(|wire| wire.fill(1)));
                }
                let kept = kept(&base, &settled(&mut world), all - share * LINE);
                println!("{law:8} {:3.0} Mb/s     {:3.0} %", share * LINE / 1e6, 100.0 * kept);
                surprises.judge(&format!("{law} with {share} of the line"), kept, true);
            }
        }
    }
}

/// A deaf sender sends at twice the line rate into a FIFO queue. With any law, the other flows then receive nothing.
/// After the deaf sender stops, the other flows regain their shares.
#[test]
fn flows_come_back_when_a_blast_ends() {
    println!("law      during twice the line rate  13 to 15 s later");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let mut world = World::new(law, 5);
        world.run(ms(5_000));
        world.hosts[LIAR].deaf = Some((rate(2.0 * LINE), Time::ZERO + ms(5_000)));
        let during = kept(&base, &world.goodput(ms(8_000), ms(10_000)), base[..LIAR].iter().sum());
        world.hosts[LIAR].deaf = Some((rate(1.0), Time::ZERO + ms(100_000)));
        let after = kept(&base, &world.goodput(ms(23_000), ms(25_000)), base[..LIAR].iter().sum());
        println!(
            "{law:8} {:3.0} %                       {:3.0} %",
            100.0 * during,
            100.0 * after
        );
        surprises.judge(&format!("{law} after it"), after, true);
        surprises.judge(&format!("{law} during it"), during, false);
        assert!(world.lane.backlog(Time::ZERO).2.get() <= 100 * 1000);
    }
}

macro_rules! lie {
    ($law:literal, $kind:ident, |$h:ident| $write:expr) => {
        header($law, |header| {
            if let AnyHeader::$kind($h) = header {
                $write;
            }
        })
    };
}

/// Lie of a sender. The fields are the name of the lie, a flag, and the change to the header. The flag is true if
/// honest flows keep their shares.
type Lie = (&'static str, bool, Rewrite);

fn lies(law: &str) -> Vec<Lie> {
    match law {
        "jetmax" => jetmax_lies(),
        "emkc" => vec![(
            "price and delta",
            true,
            lie!("emkc", Emkc, |h| (h.price, h.delta) = (0.9, 1e9)),
        )],
        "level" => level_lies(),
        "rcp" => rcp_lies(),
        "maxnet" => vec![("price", true, lie!("maxnet", MaxNet, |h| h.price = 1 << 22))],
        _ => xcp_lies(),
    }
}

fn jetmax_lies() -> Vec<Lie> {
    vec![
        ("gap infinite", true, lie!("jetmax", JetMax, |h| h.gap = f32::INFINITY)),
        ("gap negative", true, lie!("jetmax", JetMax, |h| h.gap = -1.0)),
        ("gap NaN", true, lie!("jetmax", JetMax, |h| h.gap = f32::NAN)),
        ("gap 0", true, lie!("jetmax", JetMax, |h| h.gap = 0.0)),
        ("gap times 1000", false, lie!("jetmax", JetMax, |h| h.gap *= 1000.0)),
        (
            "size infinite",
            true,
            lie!("jetmax", JetMax, |h| h.virtual_size = f32::INFINITY),
        ),
        ("size 0", true, lie!("jetmax", JetMax, |h| h.virtual_size = 0.0)),
        (
            "size times 1000",
            false,
            lie!("jetmax", JetMax, |h| h.virtual_size *= 1000.0),
        ),
        (
            "size of 10 Mb/s",
            false,
            lie!("jetmax", JetMax, |h| h.virtual_size = 10e6 / 8.0 * h.gap),
        ),
        ("R_T never ours", true, lie!("jetmax", JetMax, |h| h.bottleneck = 9)),
        (
            "and 1000 sizes",
            false,
            lie!("jetmax", JetMax, |h| {
                h.bottleneck = 9;
                h.virtual_size *= 1000.0;
            }),
        ),
        ("hop 255", true, lie!("jetmax", JetMax, |h| h.hop = 255)),
    ]
}

fn level_lies() -> Vec<Lie> {
    vec![
        ("gap infinite", true, lie!("level", Level, |h| h.gap = f32::INFINITY)),
        ("gap negative", true, lie!("level", Level, |h| h.gap = -1.0)),
        ("gap NaN", true, lie!("level", Level, |h| h.gap = f32::NAN)),
        ("gap 0", false, lie!("level", Level, |h| h.gap = 0.0)),
        ("gap times 1000", false, lie!("level", Level, |h| h.gap *= 1000.0)),
        ("proposal 1000", false, lie!("level", Level, |h| h.proposal *= 1000.0)),
        ("proposal 10 Mb/s", false, lie!("level", Level, |h| h.proposal = 10e6)),
        ("proposal 0", true, lie!("level", Level, |h| h.proposal = 0.0)),
        (
            "nothing elsewhere",
            false,
            lie!("level", Level, |h| (h.lowest, h.second) = (0.0, 0.0)),
        ),
        (
            "all elsewhere",
            true,
            lie!("level", Level, |h| (h.lowest, h.second) = (f32::MAX, f32::MAX)),
        ),
        ("hop 255", true, lie!("level", Level, |h| h.hop = 255)),
        ("queued 134 ms", true, lie!("level", Level, |h| h.queued = [u8::MAX; 3])),
    ]
}

fn rcp_lies() -> Vec<Lie> {
    vec![
        ("rtt infinite", true, lie!("rcp", Rcp, |h| h.rtt = f32::INFINITY)),
        ("rtt negative", true, lie!("rcp", Rcp, |h| h.rtt = -1.0)),
        ("rtt NaN", true, lie!("rcp", Rcp, |h| h.rtt = f32::NAN)),
        ("rtt 1 us", true, lie!("rcp", Rcp, |h| h.rtt = 1e-6)),
        ("rtt 100 s", false, lie!("rcp", Rcp, |h| h.rtt = 100.0)),
        ("rtt 10 s", false, lie!("rcp", Rcp, |h| h.rtt = 10.0)),
        ("rtt 1 s", true, lie!("rcp", Rcp, |h| h.rtt = 1.0)),
        ("rate 1 b/s", true, lie!("rcp", Rcp, |h| h.rate = 1.0)),
    ]
}

fn xcp_lies() -> Vec<Lie> {
    vec![
        ("gap infinite", true, lie!("xcp", Xcp, |h| h.gap = f32::INFINITY)),
        ("gap NaN", true, lie!("xcp", Xcp, |h| h.gap = f32::NAN)),
        (
            "gap times 10",
            false,
            lie!("xcp", Xcp, |h| h.gap = (10.0 * h.gap).min(100.0)),
        ),
        ("gap 1 rtt", false, lie!("xcp", Xcp, |h| h.gap = h.rtt)),
        (
            "gap, rtt 100 s",
            false,
            lie!("xcp", Xcp, |h| (h.gap, h.rtt) =
                if h.rtt > 0.0 { (100.0, 100.0) } else { (0.0, 0.0) }),
        ),
        (
            "gap, rtt 10 s",
            false,
            lie!("xcp", Xcp, |h| (h.gap, h.rtt) =
                if h.rtt > 0.0 { (10.0, 10.0) } else { (0.0, 0.0) }),
        ),
        (
            "rtt 1 us",
            true,
            lie!("xcp", Xcp, |h| h.rtt = if h.rtt > 0.0 { 1e-6 } else { 0.0 }),
        ),
        (
            "rtt 100 s",
            true,
            lie!("xcp", Xcp, |h| h.rtt = if h.rtt > 0.0 { 100.0 } else { 0.0 }),
        ),
        (
            "requests less",
            true,
            lie!("xcp", Xcp, |h| h.delta_throughput = f32::MIN),
        ),
    ]
}

#[test]
fn false_headers_cost_others_the_documented_share() {
    println!("law      lie              honest flows keep  the liar has");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        for (name, protected, lie) in lies(law) {
            let mut world = World::new(law, 5);
            world.hosts[LIAR].lie = Some(lie);
            let rates = settled(&mut world);
            let kept = kept(&base, &rates, base[..LIAR].iter().sum());
            println!(
                "{law:8} {name:16} {:3.0} %              {:6.2} Mb/s",
                100.0 * kept,
                rates[LIAR] / 1e6
            );
            let port = world.lane.port().unwrap();
            assert!(
                port.counters().intervals > 10,
                "{law}, {name}: the router ended too few intervals"
            );
            surprises.judge(&format!("{law}, {name}"), kept, protected);
        }
    }
}

/// Lie of a sender that sends a few packets per second. The fields are the law, the name of the lie, the largest
/// harmless rate in packets/s, and the change to the header.
type SmallLie = (&'static str, &'static str, f64, fn() -> Rewrite);

fn small_lies() -> Vec<SmallLie> {
    vec![
        ("rcp", "rtt 100 s", 10.0, || lie!("rcp", Rcp, |h| h.rtt = 100.0)),
        ("xcp", "gap, rtt 100 s", 0.0, || {
            lie!("xcp", Xcp, |h| (h.gap, h.rtt) = (100.0, 100.0))
        }),
        ("xcp", "gap 20 ms", 100.0, || {
            lie!("xcp", Xcp, |h| (h.gap, h.rtt) = (0.02, 0.02))
        }),
        ("xcp", "requests less", 100.0, || {
            lie!("xcp", Xcp, |h| {
                (h.gap, h.rtt) = (0.02, 0.02);
                h.delta_throughput = f32::MIN;
            })
        }),
    ]
}

#[test]
fn a_few_false_headers_cost_others_the_documented_share() {
    println!("law      lie              packets/s  honest flows keep");
    let mut surprises = Surprises::default();
    for (law, name, most, lie) in small_lies() {
        let base = base(law);
        for count in [1.0, 10.0, 100.0] {
            let mut world = World::new(law, 5);
            world.hosts[LIAR].deaf = Some((rate(8000.0 * count), Time::ZERO));
            world.hosts[LIAR].lie = Some(lie());
            let rates = settled(&mut world);
            let kept = kept(&base, &rates, base.iter().sum::<f64>() - 8000.0 * count);
            println!("{law:8} {name:16} {count:6.0}     {:3.0} %", 100.0 * kept);
            surprises.judge(&format!("{law}, {name}, {count} packets a second"), kept, count <= most);
        }
    }
}

/// Returns the most favourable feedback that a receiver can forge for its flow.
fn flattery(law: &str) -> Rewrite {
    match law {
        "jetmax" => lie!("jetmax", JetMax, |h| (h.price, h.share) = (-1.0, 1e12)),
        "emkc" => lie!("emkc", Emkc, |h| (h.price, h.seq) = (-1e6, h.seq.wrapping_add(1))),
        "level" => lie!("level", Level, |h| (h.new_lowest, h.new_second) = (1e12, 1e12)),
        "rcp" => lie!("rcp", Rcp, |h| h.rate = 1e12),
        "maxnet" => lie!("maxnet", MaxNet, |h| h.echo = 1),
        _ => lie!("xcp", Xcp, |h| h.reverse_feedback = h.reverse_feedback.abs().max(1e6)),
    }
}

/// Limits the sending rate of the last flow.
fn cap(world: &mut World, law: &str, largest: f64) {
    let sender = Sender::new(
        levelflow_net_testing::world::params(law),
        FlowInfo::of(Bytes::new(1000)),
        999,
    );
    world.hosts[LIAR].sender = sender.with_max_rate(rate(largest));
}

/// A flow with little data is not treated as a liar. The other flows share the remaining capacity.
#[test]
fn flows_share_what_a_slow_flow_leaves() {
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let mut world = World::new(law, 5);
        cap(&mut world, law, 1e6);
        let rates = settled(&mut world);
        let kept = kept(&base, &rates, base.iter().sum::<f64>() - 1e6);
        surprises.judge(law, kept, true);
    }
}

/// `--max-rate` bounds a flow whose receiver forges favourable feedback. Other flows share the remaining capacity.
#[test]
fn a_receiver_that_invents_feedback_is_bounded_by_the_largest_rate() {
    println!("law      largest rate  the flow has  honest flows keep of what is left");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let all: f64 = base.iter().sum();
        let (mut world, largest) = (World::new(law, 5), 0.3 * LINE);
        cap(&mut world, law, largest);
        let mut flatter = flattery(law);
        world.hosts[LIAR].fate = Box::new(move |ack| {
            flatter(ack);
            vec![ms(10)]
        });
        let rates = settled(&mut world);
        let kept = kept(&base, &rates, all - largest);
        println!(
            "{law:8} {:.1} Mb/s      {:.2} Mb/s     {:3.0} %",
            largest / 1e6,
            rates[LIAR] / 1e6,
            100.0 * kept
        );
        assert!(rates[LIAR] <= 1.01 * largest, "{law}: {rates:?}");
        surprises.judge(law, kept, !matches!(law, "jetmax" | "level"));
    }
}

// **Invariant** (Laws): with one liar in five flows at a policing relay, honest JetMax and Level flows keep 90 % of
// their goodput, for each false header of the wire format's table except one, and at twice the line rate.
#[test]
fn policing_protects_the_flows_of_jetmax_and_level() {
    println!("law      lie, policed     honest flows keep");
    let mut surprises = Surprises::default();
    for law in ["jetmax", "level"] {
        let base = base(law);
        let mut judge = |name: &str, change: &dyn Fn(&mut World)| {
            let mut world = World::new(law, 5);
            world.lane.police(1);
            change(&mut world);
            let kept = kept(&base, &settled(&mut world), base[..LIAR].iter().sum());
            println!("{law:8} {name:16} {:3.0} %", 100.0 * kept);
            let open = law == "jetmax" && ["and 1000 sizes", "best feedback"].contains(&name);
            surprises.judge(&format!("{law}, {name}, policed"), kept, !open);
            world.lane.port().unwrap().counters().convictions
        };
        assert_eq!(judge("none", &|_| {}), 0);
        for (i, (name, ..)) in lies(law).iter().enumerate() {
            judge(name, &|world| world.hosts[LIAR].lie = Some(lies(law).swap_remove(i).2));
        }
        judge("best feedback", &|world| {
            cap(world, law, 0.3 * LINE);
            let mut flatter = flattery(law);
            world.hosts[LIAR].fate = Box::new(move |ack| {
                flatter(ack);
                vec![ms(10)]
            });
        });
        judge("twice the line", &|world| {
            world.hosts[LIAR].deaf = Some((rate(2.0 * LINE), Time::ZERO));
        });
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

/// Applies the same changes and delays to the ACKs of all flows.
fn troubled(law: &str, fate: impl FnMut(&mut Vec<u8>, f64) -> Vec<Duration> + Clone + 'static) -> (World, Vec<f64>) {
    let mut world = World::new(law, 5);
    for (i, host) in world.hosts.iter_mut().enumerate() {
        let (mut random, mut fate) = (random(i as u64 + 1), fate.clone());
        host.fate = Box::new(move |ack| fate(ack, random()));
    }
    let rates = settled(&mut world);
    (world, rates)
}

#[test]
fn duplicate_and_reordered_acks_are_tolerated() {
    println!("law      flows keep with ACKs in disorder");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let (world, rates) = troubled(law, |_, random| {
            let late = ms(10 + (20.0 * random) as u64);
            vec![late, late + ms(7), ms(10_000)]
        });
        let kept = kept(&base, &rates, base[..LIAR].iter().sum());
        println!("{law:8} {:3.0} %", 100.0 * kept);
        let counters =
            |f: fn(&FlowCounters) -> u64| -> u64 { world.hosts.iter().map(|h| f(&h.sender.counters())).sum() };
        let (acks, refused) = (counters(|c| c.acks), counters(|c| c.refused.total()));
        assert!(refused > 9 * acks / 10, "{law}: {refused} refused and {acks} ACKs");
        // XCP's rate is its window divided by the smoothed round-trip time, and late ACKs lengthen this time.
        surprises.judge(law, kept, law != "xcp");
        assert!(kept > 0.6, "{law}: {rates:?}, not {base:?}");
    }
}

#[test]
fn nine_acks_of_ten_may_be_lost() {
    println!("law      flows keep with 90 % of ACKs lost");
    let mut surprises = Surprises::default();
    for law in LAWS {
        let base = base(law);
        let (_, rates) = troubled(law, |ack, random| {
            let opens = ack[12..16] == [0; 4];
            if opens || random > 0.9 { vec![ms(10)] } else { vec![] }
        });
        let kept = kept(&base, &rates, base[..LIAR].iter().sum());
        println!("{law:8} {:3.0} %", 100.0 * kept);
        match law {
            "jetmax" | "level" | "rcp" => surprises.judge(law, kept, true),
            // EMKC measures its own rate from the ACKs of two consecutive intervals, and most of these ACKs are lost.
            "emkc" => {
                surprises.judge(law, kept, false);
                let all = |rates: &[f64]| rates.iter().sum::<f64>();
                assert!(all(&rates) > KEPT * all(&base), "{law}: {rates:?}, not {base:?}");
            }
            // Each ACK enlarges the window. As with TCP, windows hardly grow beyond their initial size.
            _ => surprises.judge(law, kept, false),
        }
    }
}

/// ACKs that no receiver sends: truncated ACKs, oversized ACKs, noise, and ACKs with a wrong version, law, flow or
/// number.
fn broken(ack: &[u8], choice: usize, runner: &mut TestRunner) -> Vec<u8> {
    let noise: Vec<u8> = prop::collection::vec(any::<u8>(), 0..200)
        .new_tree(runner)
        .unwrap()
        .current();
    let mut bytes = ack.to_vec();
    match choice % 8 {
        0 => bytes.truncate(noise.len() % (ack.len() - levelflow_net_testing::world::HISTORY_LENGTH)),
        1 => bytes[7] = bytes[7].wrapping_add(1 + noise.len() as u8),
        2 => bytes[3] = 2,
        3 => bytes[6] ^= 0x40,
        4 => bytes[8] ^= 0x80,
        5 => bytes[12] ^= 0x80,
        6 => bytes = noise,
        _ => bytes = [&noise[..], &vec![0xff; 9000]].concat(),
    }
    bytes
}

/// The results of a run with forged ACKs are bit-identical to the results of a run without them.
#[test]
fn broken_acks_change_nothing_at_all() {
    for law in LAWS {
        let base = base(law);
        let mut world = World::new(law, 5);
        let mut runner = TestRunner::deterministic();
        let mut count = 0;
        world.forge = Some(Box::new(move |ack| {
            count += 1;
            broken(ack, count, &mut runner)
        }));
        assert_eq!(settled(&mut world), base, "{law}");
        let refused: u64 = world.hosts.iter().map(|h| h.sender.counters().refused.total()).sum();
        assert!(refused > 1000, "{law}: {refused}");
    }
}
