//! Random processing times at hosts: what they prevent, and what they leave alone.

use crate::common::{Run, column, start};
use levelflow_units::{Duration, Time};

/// The Abilene network, each of whose 14 links carries 20 Mb/s and holds 200 packets.
const LINKS: [(&str, &str, u32); 14] = [
    ("Seattle", "Sunnyvale", 7),
    ("Seattle", "Denver", 11),
    ("Sunnyvale", "LosAngeles", 3),
    ("Sunnyvale", "Denver", 10),
    ("LosAngeles", "Houston", 14),
    ("Denver", "KansasCity", 5),
    ("KansasCity", "Houston", 7),
    ("KansasCity", "Indianapolis", 5),
    ("Houston", "Atlanta", 10),
    ("Indianapolis", "Chicago", 2),
    ("Indianapolis", "Atlanta", 4),
    ("Chicago", "NewYork", 7),
    ("Atlanta", "Washington", 5),
    ("Washington", "NewYork", 2),
];

/// Of these, three cross the link from Denver to Kansas City.
const FLOWS: [(&str, &str); 5] = [
    ("Seattle", "Atlanta"),
    ("Sunnyvale", "Chicago"),
    ("Denver", "Washington"),
    ("LosAngeles", "NewYork"),
    ("Houston", "Indianapolis"),
];

fn abilene(seed: u32, settings: &str, law: &str) -> Run {
    let mut text = format!("name = \"abilene\"\nduration = \"120 s\"\nsample = \"1 s\"\nseed = {seed}\n{settings}\n");
    for (from, to, ms) in LINKS {
        text += &format!(
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\ncapacity = \"20 Mb/s\"\ndelay = \"{ms} ms\"\n\
             buffer = \"200 packets\"\nduplex = true\n"
        );
    }
    for (from, to) in FLOWS {
        text += &format!(
            "[[flow]]\nname = \"{from}\"\nlaw = \"{law}\"\nfrom = \"{from}\"\nto = \"{to}\"\n\
             start = {{ uniform = [\"0 s\", \"10 s\"] }}\n"
        );
    }
    let mut sim = start(&text);
    while !sim.advance(Time::ZERO + Duration::from_secs(120), 1_000_000).unwrap() {}
    let summary = sim.summary().unwrap();
    let [(_, flows), _, (_, links), (_, completions)] = sim.recorder.take();
    Run {
        summary,
        flows,
        links,
        completions,
    }
}

fn mbps(run: &Run) -> Vec<f64> {
    run.summary
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes as f64 * 8e-6 / 120.0)
        .collect()
}

/// With ideal hosts and clocks, a stream that an equal link has shaped fits a full queue exactly, and flows that meet it there
/// get next to nothing. Their fair share is a third of the link, or more.
#[test]
fn equal_links_starve_no_flow_that_packets_clock() {
    let least = |settings: &str, seed| {
        mbps(&abilene(seed, settings, "cubic"))
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    };
    let mut starved = 0;
    for seed in 1..7 {
        let (found, ideal) = (least("", seed), least("overhead = \"0 s\"", seed));
        assert!(found > 0.1 * 20.0 / 3.0, "a flow has {found} Mb/s with seed {seed}");
        starved += u32::from(ideal < 0.01 * 20.0 / 3.0);
    }
    assert!(starved >= 4, "only {starved} of 6 seeds lock a flow out");
}

#[test]
fn laws_that_pace_do_not_change() {
    let (with, without) = (abilene(1, "", "jetmax"), abilene(1, "overhead = \"0 s\"", "jetmax"));
    assert_eq!(with.summary, without.summary);
    assert_eq!(
        column(&with.flows, "delivered_bps"),
        column(&without.flows, "delivered_bps")
    );
}
