//! Random processing times and clock errors of hosts. They prevent lockouts and do not change other results.

use crate::common::{Run, run, series, start};
use levelflow_units::{Duration, Time};
use proptest::prelude::*;

/// Links of the Abilene network: both ends, and the delay in ms. Each link has 20 Mb/s and a buffer of 200 packets.
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

/// Sender and receiver of each flow. Three flows cross the link from Denver to Kansas City.
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
    sim.record_end();
    Run::of(sim.summary().unwrap(), sim.recorder.take())
}

fn mbps(run: &Run) -> Vec<f64> {
    run.summary
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes as f64 * 8e-6 / 120.0)
        .collect()
}

// **Invariant** (The engine): phase effects between equal links and synchronised arrivals lock out no flow. Hosts of
// window-based laws add a random processing time.
/// A link shapes a stream for the next link of equal capacity. If hosts and clocks are ideal, packets of this stream
/// arrive exactly when a full queue has room. Competing flows get almost no throughput, although their fair share is at
/// least a third of the link.
#[test]
fn equal_links_starve_no_flow_that_packets_clock() {
    let least = |settings: &str, seed| {
        mbps(&abilene(seed, settings, "cubic"))
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    };
    let mut starved = 0;
    for seed in 1..7 {
        let (found, ideal) = (least("profile = \"linux\"", seed), least("profile = \"paper\"", seed));
        assert!(found > 0.1 * 20.0 / 3.0, "a flow has {found} Mb/s with seed {seed}");
        starved += u32::from(ideal < 0.01 * 20.0 / 3.0);
    }
    assert!(starved >= 4, "only {starved} of 6 seeds lock a flow out");
}

/// Runs constant streams whose sum exceeds the line rate, and returns their rates. With ideal hosts, packets of one
/// stream always arrive when the queue has room. The other stream gets the remaining capacity.
fn streams(settings: &str, rates: [f64; 2], buffer: u32, seed: u32) -> Vec<f64> {
    let found = run(&format!(
        r#"
        name = "streams"
        duration = "60 s"
        seed = {seed}
        {settings}
        link = [{{ from = "A", to = "M", capacity = "1 Gb/s", delay = "1 ms", duplex = true }},
                {{ from = "B", to = "M", capacity = "1 Gb/s", delay = "1 ms", duplex = true }},
                {{ from = "M", to = "Z", capacity = "10 Mb/s", delay = "5 ms", buffer = "{buffer} packets", duplex = true }}]
        flow = [{{ name = "x", law = {{ cbr = {{ rate = "{} Mb/s" }} }}, from = "A", to = "Z" }},
                {{ name = "y", law = {{ cbr = {{ rate = "{} Mb/s" }} }}, from = "B", to = "Z" }}]
        "#,
        rates[0], rates[1]
    ));
    found
        .summary
        .flows
        .iter()
        .map(|flow| flow.delivered_bytes as f64 * 8e-6 / 60.0)
        .collect()
}

#[test]
fn ideal_hosts_lock_equal_streams_out() {
    for rates in [[8.0, 8.0], [10.0, 10.0], [10.0, 5.0]] {
        let found = streams("profile = \"paper\"", rates, 50, 1);
        assert!(found[1] < 0.5 * found[0], "{rates:?}: {found:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_share_a_line_in_proportion_to_their_rates(
        first in 6.0..20.0_f64, ratio in prop::sample::select(vec![1.0, 2.0, 3.0]), buffer in 20_u32..100, seed in 1_u32..1000,
    ) {
        let rates = [first, first * ratio];
        let found = streams("profile = \"linux\"", rates, buffer, seed);
        for (found, rate) in found.iter().zip(rates) {
            let fair = 10.0 * rate / (rates[0] + rates[1]);
            // The faster stream leaves its host in bursts, and a full queue drops more packets of a burst. A stream
            // that is locked out would get 0.
            let tolerance = if ratio == 1.0 { 0.05 } else { 0.5 };
            prop_assert!((found / fair - 1.0).abs() < tolerance, "{rates:?}, {buffer} packets: {found}, fair {fair} Mb/s");
        }
    }

    /// The rate error of a constant stream is the error of its clock, at most 100 parts per million.
    #[test]
    fn a_stream_keeps_the_time_of_its_host(rate in 1.0..9.0_f64, seed in 1_u32..1000) {
        let found = run(&format!(
            "name = 'clock'\nduration = '100 s'\nseed = {seed}\nprofile = 'linux'\n\
             link = [{{ from = 'A', to = 'B', capacity = '10 Mb/s', delay = '1 ms', duplex = true }}]\n\
             flow = [{{ name = 'x', law = {{ cbr = {{ rate = '{rate} Mb/s' }} }}, from = 'A', to = 'B' }}]\n"
        ));
        let packets = found.summary.flows[0].sent_packets as f64;
        let expected = rate * 1e8 / 8000.0;
        prop_assert!((packets - expected).abs() <= 1e-4 * expected + 2.0, "{packets}, not {expected}");
    }
}

/// Explicit laws have the same rates with and without ideal hosts.
#[test]
fn explicit_rates_do_not_depend_on_hosts() {
    let settled = |profile: &str, flow: usize| {
        let found = abilene(1, &format!("profile = \"{profile}\""), "jetmax");
        let rates = series(&found.flows, "flow", flow, "throughput_bps", 60.0);
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    for flow in 0..FLOWS.len() {
        let (with, without) = (settled("linux", flow), settled("paper", flow));
        assert!((with / without - 1.0).abs() < 5e-3, "{with} and {without}");
    }
}
