//! Properties of every network. Packets are conserved at any time. Runs are repeatable and can be interrupted. Separate
//! networks in one scenario do not affect each other. Reliable transfers complete.

use std::collections::BTreeMap;

use crate::common::{NO_LIMIT, Run, column, finish, start, try_start};
use levelflow_laws::aqm::QUEUES;
use levelflow_laws::{Any, AnyParams, LAWS, LawInfo, Protocol};
use levelflow_results::{Column, Table};
use levelflow_scenario::{Encapsulation, law_params};
use levelflow_units::{Duration, Time};
use proptest::prelude::*;
use serde_json::{Value, json};

const NODES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// Returns the parameters of a law, all at their defaults.
fn defaults(law: &str) -> AnyParams {
    law_params(law, &BTreeMap::new()).unwrap()
}

/// Returns the laws that need no marks, except Kelly control. Kelly control adds signed prices. If one link drops
/// packets and another link is then underused, the sender's rate grows without bound.
fn laws() -> Vec<&'static str> {
    let plain = |law: &&LawInfo| law.name != "kelly" && !Any::transport(&defaults(law.name)).ecn;
    LAWS.iter().filter(plain).map(|law| law.name).collect()
}

/// Returns the laws of [`laws`] in the notation of scenarios. Reno and NewReno are included a second time without SACK.
fn written() -> Vec<String> {
    let without = ["reno", "newreno"].map(|law| format!("{{ {law} = {{ sack = false }} }}"));
    laws().iter().map(|law| format!("{law:?}")).chain(without).collect()
}

/// Returns the laws that retransmit lost data.
fn repairing() -> Vec<String> {
    let mut written = written();
    written.retain(|law| law != "\"cbr\"");
    written
}

fn tracks_losses(law: &str) -> bool {
    Any::transport(&defaults(law)).tracks_losses
}

fn named(law: &Value) -> &str {
    law.as_str()
        .unwrap_or_else(|| law.as_object().unwrap().keys().next().unwrap())
}

/// Returns the smallest packet that has room for the headers of every law in every encapsulation, bytes.
fn smallest() -> u32 {
    let headers = LAWS.iter().map(|law| Encapsulation::Quic.headers(law).get());
    headers.max().unwrap() as u32 + 1
}

fn text(unit: &'static str, range: std::ops::Range<u32>) -> impl Strategy<Value = String> {
    range.prop_map(move |x| format!("{x} {unit}"))
}

/// Generates steps, ramps and outages of a link, in order of time.
fn changes() -> impl Strategy<Value = Value> {
    let capacity = prop_oneof![1 => Just("0 b/s".to_owned()), 4 => text("kb/s", 50..5000)];
    let down = prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let change = (1..500u32, 0..3u32, capacity, text("us", 0..60_000), 0.0..0.3, down);
    let changes = prop::collection::vec(change, 1..6).prop_map(|all| {
        let mut at = 0;
        let next = |(gap, ramp, capacity, delay, loss, down): (u32, u32, String, String, f64, Option<bool>)| {
            let (begin, over) = (at + gap, 20 * ramp);
            at = begin + over;
            let loss = (ramp == 0).then_some(loss);
            let (over, down) = if down.is_some() {
                (None, down)
            } else {
                (Some(format!("{over} ms")), None)
            };
            json!({ "at": format!("{begin} ms"), "over": over, "capacity": capacity, "delay": delay, "loss": loss,
                    "down": down })
        };
        all.into_iter().map(next).collect()
    });
    prop_oneof![2 => Just(json!([])), 1 => changes]
}

/// Generates a duplex link between these nodes.
fn link(from: String, to: String) -> impl Strategy<Value = Value> {
    let buffer = prop_oneof![
        Just("unlimited".to_owned()),
        text("packets", 1..20),
        text("B", 1500..20_000),
    ];
    let bursts = (0.001..0.1, 0.1..1.0).prop_map(|(p, r)| json!({ "gilbert_elliott": { "p": p, "r": r, "bad": 0.7 } }));
    let loss = prop_oneof![3 => Just(json!(0.0)), 1 => (0.0..0.3).prop_map(Value::from), 1 => bursts];
    let jitter = prop_oneof![2 => Just(Value::Null), 1 => text("us", 1..9000).prop_map(Value::from)];
    let slot = prop_oneof![3 => Just(Value::Null), 1 => text("us", 1..9000).prop_map(Value::from)];
    let queue = (prop::sample::select(QUEUES), 20..3000u32, any::<bool>()).prop_map(|(queue, kbps, shapes)| {
        match (queue.name, shapes) {
            ("cake", true) => json!({ "cake": { "rate": format!("{kbps} kb/s") } }),
            ("fq_codel" | "dualpi2", true) => json!({ queue.name: { "limit": format!("{} packets", 1 + kbps / 100) } }),
            (name, _) => json!(name),
        }
    });
    (
        text("kb/s", 100..5000),
        prop_oneof![1 => Just("0 s".to_owned()), 4 => text("us", 1..30_000)],
        (buffer, queue),
        (loss.clone(), loss),
        (changes(), any::<bool>()),
        (jitter, any::<bool>(), slot, 1..4u32),
    )
        .prop_map(move |(capacity, delay, (buffer, queue), (there, back), (changes, measured), more)| {
            let (jitter, reorder, slot, weight) = more;
            let measured = measured && changes != json!([]);
            let reorder = reorder && jitter != Value::Null;
            json!({ "from": from, "to": to, "capacity": capacity, "delay": delay, "buffer": buffer, "queue": queue, "loss": there,
                    "duplex": true, "reverse": { "loss": back }, "changes": changes, "measured": measured,
                    "jitter": jitter, "reorder": reorder, "slot": slot, "weight": weight })
        })
}

fn times() -> impl Strategy<Value = Value> {
    let ms = |range| text("ms", range);
    prop_oneof![
        ms(0..2500).prop_map(Value::from),
        (ms(0..1000), ms(1000..2000)).prop_map(|(a, b)| json!({ "uniform": [a, b] })),
        ms(1..900).prop_map(|m| json!({ "exponential": m })),
    ]
}

fn size() -> impl Strategy<Value = Value> {
    prop_oneof![
        text("B", 1..30_000).prop_map(Value::from),
        text("packets", 1..30).prop_map(|m| json!({ "pareto": { "mean": m, "shape": 1.3 } })),
    ]
}

/// Returns a law with a value for one option of the transport. `turn` selects the option.
fn with_options(law: &str, turn: u8) -> Value {
    match (law, turn) {
        ("newreno", 0) => json!({ "newreno": { "delayed_ack": true } }),
        ("newreno", 1) => json!({ "newreno": { "sack": false } }),
        ("reno", 0) => json!({ "reno": { "delayed_ack": true, "sack": false } }),
        ("reno", 1) => json!({ "reno": { "sack": false } }),
        ("cubic", 0) => json!({ "cubic": { "paced": true, "delayed_ack": true } }),
        _ => json!(law),
    }
}

/// Generates the optional keys of a flow. Keys that exclude each other are removed later. `smallest` is the smallest
/// packet size, bytes.
fn flow(name: String, nodes: usize, prefix: &'static str, smallest: u32) -> impl Strategy<Value = Value> {
    let arrivals = prop_oneof![
        (5..60u32).prop_map(|n| json!({ "poisson": format!("{n} /s") })),
        (1..4u32, 20..300u32).prop_map(|(n, ms)| json!({ "batches": { "batch": n, "interval": format!("{ms} ms") } })),
        times().prop_filter_map("a constant", |t| t.is_string().then(|| json!({ "times": [t] }))),
    ];
    let ack_delay =
        (0..5u32, 0..40u32).prop_map(|(n, ms)| json!({ "every": n, "hold": format!("{ms} ms"), "spacing": "20 us" }));
    let session = (1..4u32, 1..4u32, 0..300u32)
        .prop_map(|(pages, objects, ms)| json!({ "pages": pages, "objects": objects, "think": format!("{ms} ms") }));
    let maybe = proptest::option::of::<BoxedStrategy<Value>>;
    let law = prop::sample::select(laws());
    let ends = (0..nodes, 1..nodes).prop_map(move |(from, step)| (from, (from + step) % nodes));
    (
        (law, ends, 0..3u8),
        maybe(size().boxed()),
        maybe(times().boxed()),
        maybe(times().boxed()),
        maybe(arrivals.boxed()),
        maybe(ack_delay.boxed()),
        maybe(session.boxed()),
        (1..5u32, text("B", smallest..1500)),
    )
        .prop_map(
            move |((law, (from, to), unreliable), size, begin, life, arrivals, ack_delay, session, (count, packet))| {
                let node = |i: usize| format!("{prefix}{}", NODES[i]);
                let law = with_options(law, unreliable);
                let mut flow =
                    json!({ "name": name, "law": law, "from": node(from), "to": node(to), "packet": packet });
                match arrivals {
                    Some(arrivals) => flow["arrivals"] = arrivals,
                    None => flow["count"] = json!(count),
                }
                let endless = size.is_none();
                let session = session.filter(|_| !endless && life.is_none() && flow["arrivals"].is_object());
                let rest = [
                    ("size", size),
                    ("start", begin),
                    ("lifetime", life),
                    ("ack_delay", ack_delay),
                    ("session", session),
                ];
                for (key, value) in rest {
                    if let Some(value) = value {
                        flow[key] = value;
                    }
                }
                if unreliable == 0 && !endless && !tracks_losses(named(&law)) {
                    flow["reliable"] = json!(false);
                }
                if flow["arrivals"]["times"].is_array() {
                    flow.as_object_mut().unwrap().remove("start");
                }
                flow
            },
        )
}

/// Generates flows and links. The links form a tree, and one more link connects the root to the last node. All links
/// are duplex. All names have the prefix `prefix`. `smallest` is the smallest packet size, bytes.
fn part(prefix: &'static str, smallest: u32) -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    (2..=6usize, 1..=8usize).prop_flat_map(move |(nodes, flows)| {
        let links = (1..nodes).map(|i| {
            let parents = (0..i).prop_flat_map(move |parent| {
                link(format!("{prefix}{}", NODES[parent]), format!("{prefix}{}", NODES[i]))
            });
            parents.boxed()
        });
        let named = move |mut link: Value| {
            link["name"] = json!(format!("{prefix}other"));
            link
        };
        let other = link(format!("{prefix}A"), format!("{prefix}{}", NODES[nodes - 1])).prop_map(named);
        let links: Vec<_> = links.chain([other.boxed()]).collect();
        let flows: Vec<_> = (0..flows)
            .map(|i| flow(format!("{prefix}x{i}"), nodes, prefix, smallest))
            .collect();
        (links, flows)
    })
}

fn scenario(seed: u64, links: &[Value], flows: &[Value]) -> Value {
    let fails = links.iter().any(|link| {
        link["changes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|change| change["down"] == true)
    });
    json!({ "name": "random", "duration": "3 s", "sample": "70 ms", "seed": seed, "link": links, "flow": flows,
            "routing": if seed.is_multiple_of(2) { "ecmp" } else { "shortest" }, "reroute": fails.then_some("30 ms") })
}

pub fn network() -> impl Strategy<Value = Value> {
    let encapsulation = prop_oneof![Just("none"), Just("ethernet+ipv4+udp"), Just("ipv6"), Just("quic")];
    let parts = encapsulation.prop_flat_map(|encapsulation| {
        let smallest = if encapsulation == "none" { 40 } else { smallest() };
        (Just(encapsulation), part("", smallest))
    });
    (any::<u32>(), parts, any::<bool>()).prop_map(|(seed, (encapsulation, (links, flows)), ideal)| {
        let mut scenario = scenario(seed.into(), &links, &flows);
        scenario["profile"] = json!(if ideal { "paper" } else { "linux" });
        scenario["encapsulation"] = json!(encapsulation);
        scenario
    })
}

fn run(scenario: &Value) -> Run {
    finish(try_start(scenario).unwrap_or_else(|e| panic!("{e}\n{scenario:#}")))
}

/// Converts a table to text that represents each number exactly. Two NaN values have equal texts.
fn bits(table: &Table) -> Vec<String> {
    let bits = |c: &Column| match c {
        Column::F64(v) => format!("{:?}", v.iter().map(|x| x.to_bits()).collect::<Vec<_>>()),
        other => format!("{other:?}"),
    };
    table
        .columns
        .iter()
        .map(|(name, c)| format!("{name} {}", bits(c)))
        .collect()
}

pub fn assert_same(a: &Run, b: &Run) {
    assert_eq!(a.summary, b.summary);
    for (a, b) in [(&a.flows, &b.flows), (&a.links, &b.links), (&a.transfers, &b.transfers)] {
        assert_eq!(bits(a), bits(b));
    }
}

/// Returns the rows of the first `count` flows or links, as bits. `key` is the column with the index.
fn rows_of_first(table: &Table, key: &str, count: usize) -> Vec<Vec<u64>> {
    let who = column(table, key);
    let columns: Vec<Vec<f64>> = table.columns.iter().map(|(name, _)| column(table, name)).collect();
    (0..who.len())
        .filter(|&i| who[i] < count as f64)
        .map(|i| columns.iter().map(|c| c[i].to_bits()).collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    // **Invariant** (The engine): running in pieces does not change the results. Packets are conserved whenever the run
    // halts. For each flow group and each link, sent = delivered + dropped + lost + in flight, where packets in flight
    // are counted in the queues. A run that violates this invariant ends with an error and writes no summary.
    /// Interrupts a run after random numbers of events and at random times. Packets are conserved at each interruption,
    /// and the results do not change.
    #[test]
    fn packets_are_conserved_at_any_time(scenario in network(), budgets in prop::collection::vec(20..3000u64, 1..8)) {
        let mut sim = try_start(&scenario).unwrap();
        let mut budgets = budgets.into_iter().cycle();
        let end = Time::ZERO + Duration::from_secs(3);
        let mut until = Time::ZERO;
        while !sim.advance(until, budgets.next().unwrap()).unwrap() {
            if let Err(violation) = sim.summary() {
                panic!("{violation} at {}", sim.now());
            }
            until = end.min(sim.now() + Duration::from_us(40 * budgets.next().unwrap()));
        }
        prop_assert_eq!(sim.now(), end);
        assert_same(&finish(sim), &run(&scenario));
    }

    /// The engine has a separate implementation for links without jitter, loss or changes. A link that loses packets
    /// with probability 0 uses the general implementation.
    #[test]
    fn a_wire_that_never_loses_is_like_one_that_cannot(mut scenario in network()) {
        let with = |scenario: &mut Value, loss: &Value| {
            for link in scenario["link"].as_array_mut().unwrap() {
                let plain = json!({ "queue": "drop_tail", "changes": [], "measured": false, "jitter": null, "reorder": false,
                                    "slot": null, "loss": loss, "reverse": { "loss": loss } });
                link.as_object_mut().unwrap().extend(plain.as_object().unwrap().clone());
            }
            scenario["reroute"] = Value::Null;
            run(scenario)
        };
        let never = json!({ "gilbert_elliott": { "p": 0.5, "r": 0.5, "bad": 0.0 } });
        assert_same(&with(&mut scenario, &json!(0.0)), &with(&mut scenario, &never));
    }

    // **Invariant** (The engine): the same scenario and seed give the same run and byte-identical files. See
    // `test_two_runs_leave_equal_bytes`.
    #[test]
    fn the_same_seed_gives_the_same_run(scenario in network()) {
        assert_same(&run(&scenario), &run(&scenario));
    }

    #[test]
    fn parts_that_share_nothing_do_not_affect_each_other(seed in any::<u32>(), one in part("", smallest()), other in part("far ", smallest())) {
        let alone = run(&scenario(seed.into(), &one.0, &one.1));
        let both = run(&scenario(seed.into(), &[one.0, other.0].concat(), &[one.1, other.1].concat()));
        let (flows, links) = (alone.summary.flows.len(), alone.summary.links.len());
        prop_assert_eq!(&alone.summary.flows, &both.summary.flows[..flows]);
        prop_assert_eq!(&alone.summary.links, &both.summary.links[..links]);
        for (a, b, key, count) in [
            (&alone.flows, &both.flows, "flow", flows),
            (&alone.links, &both.links, "link", links),
            (&alone.transfers, &both.transfers, "flow", flows),
        ] {
            prop_assert_eq!(rows_of_first(a, key, count), rows_of_first(b, key, count));
        }
    }

    /// Every transfer completes, and its receiver counts each byte once. The two wires may lose data, ACKs and opening
    /// packets.
    #[test]
    fn reliable_transfers_arrive_over_lossy_wires(
        law in prop::sample::select(repairing()), seed in any::<u32>(), there in 0.0..0.6, back in 0.0..0.6,
        packets in 1..60u32, packet in 40..1500u32, delayed in any::<bool>(),
    ) {
        let ack_delay = if delayed { "ack_delay = { every = 2, hold = \"30 ms\" }" } else { "" };
        let mut sim = start(&format!(r#"
            name = "lossy"
            duration = "10 h"
            sample = "1 h"
            seed = {seed}
            link = [{{ from = "A", to = "B", capacity = "2 Mb/s", delay = "15 ms", buffer = "10 packets", loss = {there},
                       duplex = true, reverse = {{ loss = {back} }} }}]
            [[flow]]
            name = "x"
            law = {law}
            from = "A"
            to = "B"
            count = 5
            packet = "{packet} B"
            size = "{packets} packets"
            start = {{ uniform = ["0 s", "1 s"] }}
            {ack_delay}
        "#));
        let mut tries = 0;
        while sim.summary().unwrap().flows[0].finished < 5 {
            tries += 1;
            prop_assert!(tries < 200 && !sim.advance(sim.now() + Duration::from_secs(180), NO_LIMIT).unwrap(), "{}", sim.now());
        }
        let [.., (_, completions)] = sim.recorder.take();
        let (bytes, total) = (column(&completions, "bytes"), f64::from(packets) * f64::from(packet));
        prop_assert_eq!(bytes, vec![total; 5]);
    }
}

/// A congestion window may exceed the number of packets that a host on a real network tracks. Here, it has 90,000
/// packets.
#[test]
fn a_transfer_completes_with_any_number_of_packets_in_flight() {
    let run = crate::common::run(
        r#"
        name = "long and fat"
        duration = "3 s"
        link = [{ from = "A", to = "B", capacity = "1 Gb/s", delay = "500 ms" },
                { from = "B", to = "A", capacity = "1 Gb/s", delay = "500 ms" }]
        [[flow]]
        name = "x"
        law = { jetmax = { initial_rate = "900 Mb/s" } }
        from = "A"
        to = "B"
        packet = "1250 B"
        size = "180 MB"
        "#,
    );
    assert_eq!(column(&run.completions, "bytes"), [180e6]);
    assert_eq!(column(&run.completions, "retransmitted"), [0.0]);
}
