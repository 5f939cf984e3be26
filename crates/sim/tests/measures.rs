//! Results of links, flows and transfers, recomputed from the stay of every packet at every link.

use std::collections::BTreeMap;

use levelflow_path::scheduler::Ecn;
use levelflow_results::{Outcome, Quantiles};
use levelflow_scenario::{LinkSpec, Network};
use levelflow_sim::{Any, Fate, Stay};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Run, assert_close, column, network_of, run, series, trace, try_start};
use crate::encapsulation::ENCAPSULATIONS;

const DATA: u64 = 1000;
const SECONDS: f64 = 2.0;
const SAMPLE: f64 = 0.25;

/// Queue discipline of the first link, and the buffer of the first link in packets.
const QUEUES: [(&str, u32); 9] = [
    ("drop_tail", 30),
    ("drop_front", 30),
    ("codel", 200),
    ("pie", 200),
    ("red", 40),
    ("fq_codel", 200),
    ("cake", 200),
    ("dualpi2", 200),
    ("policer", 50),
];

fn queue(name: &str, mbps: f64) -> Value {
    match name {
        "cake" => json!({ "cake": { "rate": format!("{} Mb/s", mbps / 2.0) } }),
        "policer" => json!({ "policer": { "rate": format!("{} Mb/s", mbps / 2.0), "burst": "20 kB" } }),
        "red" | "codel" => json!({ name: { "ecn": true } }),
        _ => json!(name),
    }
}

/// Returns a scenario with two queues in series: any discipline, then drop-tail. The reverse path is slow. Flows have
/// several laws, and some flows are transfers.
fn scenario(discipline: usize, mbps: f64, seed: u64, encapsulation: &str) -> Value {
    let (name, room) = QUEUES[discipline];
    let link = |from: &str, to: &str, mbps: f64| {
        json!({ "from": from, "to": to, "capacity": format!("{mbps} Mb/s"), "delay": "5 ms", "duplex": true,
                "buffer": format!("{room} packets") })
    };
    let mut first = link("A", "B", mbps);
    first["queue"] = queue(name, mbps);
    first["reverse"] = json!({ "capacity": "2 Mb/s", "queue": "drop_tail" });
    let marks = matches!(name, "red" | "codel" | "fq_codel" | "cake" | "dualpi2");
    let scalable = if marks { json!("prague") } else { json!("cubic") };
    json!({
        "name": "measures", "encapsulation": encapsulation, "duration": format!("{SECONDS} s"), "sample": format!("{SAMPLE} s"), "seed": seed,
        "link": [first, link("B", "C", mbps * 0.8)],
        "flow": [
            { "name": "x", "law": "newreno", "from": "A", "to": "C" },
            { "name": "y", "law": scalable, "from": "A", "to": "B", "start": "0.5 s" },
            { "name": "z", "law": { "cbr": { "rate": format!("{} Mb/s", mbps / 4.0) } }, "from": "A", "to": "C" },
            { "name": "web", "law": "cubic", "from": "A", "to": "C", "size": { "exponential": "40 kB" },
              "arrivals": { "poisson": "12 /s" }, "stop": "1.7 s" },
        ],
    })
}

/// Runs a scenario with this discipline. Also returns the stays of all packets.
fn traced(discipline: usize, mbps: f64, seed: u64, encapsulation: &str) -> (Network<Any>, Run, Vec<Stay>) {
    let scenario = scenario(discipline, mbps, seed, encapsulation);
    let mut sim = try_start(&scenario).unwrap();
    let stays = trace(&mut sim);
    sim.record_end();
    let run = Run::of(sim.summary().unwrap(), sim.recorder.take());
    (network_of(&scenario), run, stays)
}

/// Returns the transmission time per byte at a link, ps.
fn pace(spec: &LinkSpec<Any>) -> f64 {
    8e12 / (spec.capacity.bps() * (1.0 - spec.slow))
}

/// Returns the queueing delay of a packet, ps. `None` if the packet was dropped, or had not departed by the end of the
/// run.
fn delay(stay: &Stay, pace: f64) -> Option<u64> {
    let known = stay.fate != Fate::Dropped && stay.departed.as_secs_f64() <= SECONDS;
    known.then(|| {
        (stay.departed - stay.arrived)
            .as_ps()
            .saturating_sub((f64::from(stay.size) * pace + 0.5) as u64)
    })
}

fn assert_quantiles(found: Option<&Quantiles>, mut delays: Vec<u64>, what: &str) {
    let Some(found) = found else {
        return assert!(delays.is_empty(), "{what}");
    };
    assert_eq!(found.count, delays.len() as u64, "{what}: {found:?}");
    delays.sort_unstable();
    let seconds = |rank: usize| delays[rank.clamp(1, delays.len()) - 1] as f64 * 1e-12;
    for (share, found) in [(0.5, found.p50), (0.99, found.p99), (1.0, found.max)] {
        let expected = seconds((delays.len() as f64 * share).ceil() as usize);
        let digits = if share < 1.0 { 0.01 } else { 0.0 };
        let within = (found - expected).abs() <= digits * expected + 2e-9;
        assert!(within, "{what}, {share}: {found} is not {expected}");
    }
    let mean = delays.iter().sum::<u64>() as f64 * 1e-12 / delays.len() as f64;
    assert!((found.mean - mean).abs() <= 2e-9, "{what}: {found:?} {mean}");
}

proptest! {
    #[test]
    fn queueing_delays_are_those_of_every_packet(
        discipline in 0..QUEUES.len(), mbps in 2.0..12.0_f64, seed in 1..1000_u64,
    ) {
        let (network, run, stays) = traced(discipline, mbps, seed, "none");
        for (l, (link, spec)) in run.summary.links.iter().zip(&network.links).enumerate() {
            let pace = pace(spec);
            let own: Vec<&Stay> = stays.iter().filter(|stay| stay.link == l as u32).collect();
            let delays: Vec<u64> = own.iter().filter_map(|stay| delay(stay, pace)).collect();
            let what = format!("{} {}", QUEUES[discipline].0, link.name);
            assert_quantiles(link.queueing_delay_s.as_ref(), delays, &what);
            let waits = |s: &&&Stay| s.fate == Fate::Present && s.departed.as_secs_f64() > SECONDS;
            prop_assert_eq!(link.waiting_packets, own.iter().filter(waits).count() as u64);
            for class in &link.classes {
                let is_its = |stay: &&&Stay| match (class.name.as_str(), stay.ecn) {
                    ("low latency", ecn) => matches!(ecn, Ecn::Scalable) || (ecn == Ecn::Marked && stay.flow == 1),
                    ("classic", ecn) => matches!(ecn, Ecn::NotCapable | Ecn::Classic) || (ecn == Ecn::Marked && stay.flow != 1),
                    (name, _) => {
                        let flow = &network.flows[stay.flow as usize].name;
                        if stay.ack { name == format!("ACKs of {flow}") } else { name == flow }
                    }
                };
                let delays = own.iter().filter(is_its).filter_map(|stay| delay(stay, pace)).collect();
                assert_quantiles(class.queueing_delay_s.as_ref(), delays, &format!("{what} {}", class.name));
            }
        }
    }

    /// Verifies that a sample contains the queueing delays of packets that departed since the previous sample. The mean
    /// backlog is the mean of the backlogs that arriving packets find.
    #[test]
    fn samples_and_backlogs_are_those_of_every_packet(
        discipline in 0..QUEUES.len(), mbps in 2.0..12.0_f64, seed in 1..1000_u64,
    ) {
        let (network, run, stays) = traced(discipline, mbps, seed, "none");
        for (l, link) in run.summary.links.iter().enumerate() {
            let spec = &network.links[l];
            let pace = pace(spec);
            let mut own: Vec<&Stay> = stays.iter().filter(|stay| stay.link == l as u32).collect();
            own.sort_by_key(|stay| (stay.arrived, stay.departed));
            let of = |name| series(&run.links, "link", l, name, 0.0);
            for (k, found) in of("delayed_packets").into_iter().enumerate() {
                let (from, to) = (k as f64 * SAMPLE, (k + 1) as f64 * SAMPLE);
                let inside = own.iter().filter(|s| s.departed.as_secs_f64() > from && s.departed.as_secs_f64() <= to);
                let delays: Vec<f64> = inside.filter_map(|s| delay(s, pace)).map(|ps| ps as f64 * 1e-12).collect();
                prop_assert_eq!(found, delays.len() as f64);
                if !delays.is_empty() {
                    let mean = delays.iter().sum::<f64>() / found;
                    prop_assert!((of("queueing_delay_mean_s")[k] - mean).abs() < 2e-9, "{mean}");
                    let longest = delays.iter().copied().fold(0.0, f64::max);
                    prop_assert!((of("queueing_delay_max_s")[k] - longest).abs() < 2e-9, "{longest}");
                }
            }
            if l == 0 && QUEUES[discipline].0 != "drop_tail" {
                continue; // this link may evict packets, or drop one packet and accept another at the same time
            }
            // A packet that departs at the arrival time of another packet is not part of the backlog.
            let joins = |stay: &&&Stay| stay.fate != Fate::Dropped;
            let mut departures: Vec<_> = own.iter().filter(joins).map(|s| (s.departed, s.size)).collect();
            departures.sort_unstable();
            let (mut found, mut backlog, mut next) = (0_u64, 0_u64, departures.into_iter().peekable());
            for stay in &own {
                while let Some((_, size)) = next.next_if(|&(departed, _)| departed <= stay.arrived) {
                    backlog -= u64::from(size);
                }
                found += backlog;
                backlog += if joins(&stay) { u64::from(stay.size) } else { 0 };
            }
            let mean = found as f64 / own.len().max(1) as f64;
            prop_assert!((link.backlog_bytes.mean - mean).abs() <= 1e-9 * mean, "{:?} {mean}", link.backlog_bytes);
        }
    }

    /// Recomputes throughput and goodput from deliveries at the last link of a path. Goodput excludes headers and
    /// duplicates. Counts transfers by outcome.
    #[test]
    fn rates_and_transfers_are_those_of_every_packet(
        discipline in 0..QUEUES.len(), mbps in 2.0..12.0_f64, seed in 1..1000_u64, headers in 0..ENCAPSULATIONS.len(),
    ) {
        let (network, run, stays) = traced(discipline, mbps, seed, ENCAPSULATIONS[headers].0);
        for (f, (flow, spec)) in run.summary.flows.iter().zip(&network.flows).enumerate() {
            let path = &spec.routes.first().forward;
            let own: Vec<&Stay> = stays.iter().filter(|s| s.flow == f as u32 && !s.ack).collect();
            let at = |link: u32| own.iter().filter(move |s| s.link == link);
            let last = *path.last().unwrap();
            let bytes = |stays: Vec<&&Stay>| stays.iter().map(|s| u64::from(s.size)).sum::<u64>();
            let arrived: Vec<&&Stay> = at(last).filter(|s| s.fate == Fate::Delivered).collect();
            prop_assert_eq!(flow.delivered_bytes, bytes(arrived.clone()));
            let sent = bytes(at(path[0]).collect());
            // Two packets may still be at the host.
            prop_assert!((sent..=sent + 2 * DATA).contains(&flow.sent_bytes), "{} {sent}", flow.sent_bytes);
            for (k, throughput) in series(&run.flows, "flow", f, "throughput_bps", 0.0).into_iter().enumerate() {
                let (from, to) = (k as f64 * SAMPLE, (k + 1) as f64 * SAMPLE);
                let inside = arrived.iter().filter(|s| (from..to).contains(&s.ends.as_secs_f64()));
                let expected = inside.map(|s| f64::from(s.size)).sum::<f64>() * 8.0 / SAMPLE;
                let packet = DATA as f64 * 8.0 / SAMPLE; // one packet may arrive exactly at the end of a sample
                prop_assert!((throughput - expected).abs() <= packet * 1.001, "{throughput} {expected}");
            }
            let goodput = flow.goodput_bytes.unwrap();
            prop_assert!(goodput <= flow.delivered_bytes);
            if spec.size.is_none() {
                let data = arrived.iter().filter(|s| u64::from(s.size) >= DATA);
                let new: BTreeMap<u64, u64> = data.map(|s| (s.offset, u64::from(s.size) - spec.headers.get())).collect();
                prop_assert_eq!(goodput, new.values().sum::<u64>());
            }
        }
        let web = &run.summary.flows[3];
        let outcomes = column(&run.transfers, "outcome");
        let count = |outcome: Outcome| outcomes.iter().filter(|&&code| code == f64::from(outcome.code())).count() as u64;
        prop_assert_eq!((count(Outcome::Finished), count(Outcome::Aborted)), (web.finished, web.aborted));
        prop_assert_eq!(outcomes.len() as u64, web.started);
        // A finished transfer delivered each of its bytes once. Other transfers delivered less than their size.
        let sizes = column(&run.transfers, "bytes");
        let finished: f64 = sizes.iter().zip(&outcomes).filter(|(_, code)| **code == 0.0).map(|(size, _)| size).sum();
        let goodput = web.goodput_bytes.unwrap() as f64;
        prop_assert!(finished <= goodput && goodput <= sizes.iter().sum::<f64>());
        for (fct, ideal) in column(&run.completions, "fct_s").into_iter().zip(column(&run.completions, "ideal_s")) {
            prop_assert!(fct >= ideal * (1.0 - 1e-9), "{fct} {ideal}");
        }
    }
}

/// M/D/1 queue at loads `rho` of 0.5, 0.8 and 0.95. The mean queueing delay is `rho / (2 (1 - rho))` transmission times
/// (Pollaczek and Khinchine).
#[test]
fn the_mean_queueing_delay_is_that_of_pollaczek_and_khinchine() {
    for (rho, tolerance) in [(0.5, 0.02), (0.8, 0.04), (0.95, 0.15)] {
        let run = run(&format!(
            r#"
            name = "md1"
            duration = "400 s"
            sample = "10 s"
            link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "1 ms", duplex = true }}]
            flow = [{{ name = "x", law = {{ cbr = {{ rate = "10 Mb/s" }} }}, from = "A", to = "B", size = "1 packet",
                       arrivals = {{ poisson = "{} /s" }} }}]
            "#,
            1250.0 * rho
        ));
        let delays = run.summary.links[0].queueing_delay_s.clone().unwrap();
        assert_close(delays.mean, 0.8e-3 * rho / (2.0 * (1.0 - rho)), tolerance);
    }
}

/// A single constant source sends at line rate. Each transfer takes its ideal time, over links of any speed.
#[test]
fn a_lone_sender_at_line_rate_takes_the_ideal_time() {
    for (packets, capacities) in [(1, [4, 2, 8]), (7, [4, 2, 8]), (20, [8, 8, 8]), (5, [2, 4, 8])] {
        let links: Vec<Value> = (0..3)
            .map(|i| {
                json!({ "from": format!("n{i}"), "to": format!("n{}", i + 1), "duplex": true, "delay": "3 ms",
                        "capacity": format!("{} Mb/s", capacities[i]) })
            })
            .collect();
        let rate = capacities[0];
        let flow = json!({
            "name": "x", "law": { "cbr": { "rate": format!("{rate} Mb/s") } }, "from": "n0", "to": "n3",
            "rtt": "50 ms", "size": format!("{packets} packets"), "arrivals": { "times": ["0.1 s"] },
        });
        let scenario = json!({ "name": "ideal", "duration": "2 s", "link": links, "flow": [flow] });
        let run = crate::common::run_on(1, &scenario).0;
        assert_eq!(column(&run.transfers, "hops"), [3.0]);
        assert_close(column(&run.transfers, "slowdown")[0], 1.0, 1e-9);
    }
}

/// A stop aborts a transfer if the sender has unsent data. A transfer whose last packets are in flight still finishes.
#[test]
fn a_transfer_that_stops_early_is_aborted_and_one_in_flight_finishes() {
    let run = run(r#"
        name = "stop"
        duration = "20 s"
        link = [{ from = "A", to = "B", capacity = "10 Mb/s", delay = "50 ms", buffer = "1 BDP", duplex = true }]
        [[flow]]
        name = "web"
        law = "cubic"
        from = "A"
        to = "B"
        size = "5 MB"
        arrivals = { times = ["0 s", "1 s", "2 s"] }
        stop = "3 s"
        [[flow]]
        name = "last"
        law = { cbr = { rate = "1 Mb/s" } }
        from = "A"
        to = "B"
        size = "3 packets"
        stop = "20 ms"
        [[flow]]
        name = "late"
        law = "cubic"
        from = "A"
        to = "B"
        size = "50 MB"
        start = "10 s"
    "#);
    let counts = |f: usize| {
        let flow = &run.summary.flows[f];
        (flow.started, flow.finished, flow.aborted)
    };
    assert_eq!([counts(0), counts(1), counts(2)], [(3, 0, 3), (1, 1, 0), (1, 0, 0)]);
    let outcome = |f: f64| {
        let rows = column(&run.transfers, "flow")
            .into_iter()
            .zip(column(&run.transfers, "outcome"));
        let own = rows
            .filter(|&(flow, _)| flow == f)
            .map(|(_, code)| Outcome::NAMES[code as usize]);
        own.collect::<Vec<_>>()
    };
    assert_eq!(outcome(0.0), ["aborted"; 3]);
    assert_eq!(outcome(1.0), ["finished"]);
    assert_eq!(outcome(2.0), ["unfinished"]);
    assert!(
        column(&run.transfers, "fct_s")
            .iter()
            .filter(|fct| fct.is_nan())
            .count()
            == 4
    );
}
