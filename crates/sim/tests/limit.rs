//! Limits on memory and events. A run that needs more is rejected at the start or ends early. The error has one line.

use crate::common::start;
use levelflow_scenario::Scenario;
use levelflow_sim::check_memory;
use levelflow_units::Time;

fn line(buffer: &str, settings: &str, flow: &str) -> String {
    format!(
        "name = \"big\"\nduration = \"10 s\"\n{settings}\n[[link]]\nfrom = \"A\"\nto = \"B\"\ncapacity = \"100 kb/s\"\n\
         delay = \"3 ms\"\nduplex = true\n{buffer}\n[[flow]]\nname = \"x\"\nfrom = \"A\"\nto = \"B\"\n{flow}\n"
    )
}

fn refused(text: &str) -> String {
    let scenario = Scenario::parse(text)
        .and_then(|value| Scenario::from_value(&value))
        .unwrap();
    check_memory(&scenario.resolve().unwrap().network)
        .unwrap_err()
        .to_string()
}

#[test]
fn too_many_flows_are_refused_before_the_run() {
    let said = refused(&line("", "", "law = \"cubic\"\ncount = 10000000"));
    assert!(
        said.starts_with("flow x: 10000000 flows with 100000000 packets in flight at once raise the demand"),
        "{said}"
    );
    assert!(
        said.contains("memory_limit is 4 GB; reduce the demand, or raise the limit"),
        "{said}"
    );
}

#[test]
fn windows_that_begin_too_large_are_refused_before_the_run() {
    let flow = "law = { scalable = { initial_window = 1e6 } }\ncount = 100";
    let said = refused(&line("", "", flow));
    assert!(
        said.contains("100 flows with 100000000 packets in flight at once"),
        "{said}"
    );
    let raised = line("", "memory_limit = \"100 GB\"", flow);
    let scenario = Scenario::parse(&raised)
        .and_then(|value| Scenario::from_value(&value))
        .unwrap();
    assert_eq!(check_memory(&scenario.resolve().unwrap().network), Ok(()));
}

#[test]
fn a_run_that_grows_without_bound_ends_and_names_what_grows() {
    let queue = "queue = { red = { ecn = true } }";
    let flow = "law = { ks = { signal = \"both\", beta = 0.35, delay = 14902.0 } }";
    for (buffer, flow) in [(queue, flow), ("", "law = { cbr = { rate = \"10 Gb/s\" } }")] {
        let mut sim = start(&line(buffer, "memory_limit = \"20 MB\"", flow));
        let said = sim.advance(Time::from_ps(u64::MAX), u64::MAX).unwrap_err().to_string();
        assert!(
            said.starts_with("flow x: after ") && said.contains("packets of 1 flows are in flight"),
            "{said}"
        );
        let summary = sim.summary().unwrap();
        assert!(
            summary.simulated_s < 10.0 && summary.flows[0].in_flight > 10_000,
            "{summary:?}"
        );
        assert!(sim.memory() < 20_000_000, "{}", sim.memory());
    }
}

/// A source whose rate grows without bound: its packets are dropped at a small buffer, so memory stays small.
const EXPLODES: &str = r#"
    name = "kelly explodes"
    duration = "2 s"
    link = [
        { from = "A", to = "B", capacity = "0.5 Mb/s", delay = "1 ms", duplex = true, buffer = "2 packets" },
        { from = "B", to = "C", capacity = "100 Mb/s", delay = "1 ms", duplex = true },
    ]
    flow = [{ name = "f", law = "kelly", from = "A", to = "C" }]
"#;

#[test]
fn a_source_that_sends_ever_faster_ends_the_run_and_is_named() {
    let mut sim = start(&format!("event_limit = 300000\n{EXPLODES}"));
    let said = sim.advance(Time::from_ps(u64::MAX), u64::MAX).unwrap_err().to_string();
    assert!(
        said.starts_with("flow f: the second before ")
            && said.contains(" s has more events, but event_limit is 300000;"),
        "{said}"
    );
    assert!(sim.events() < 1_000_000, "{}", sim.events());
    assert!(sim.summary().unwrap().simulated_s < 2.0);
}

#[test]
fn the_limit_counts_events_of_one_second_only() {
    let slow = EXPLODES.replace("kelly\"", "cbr\"").replace("2 s", "30 s");
    let mut sim = start(&format!("event_limit = 3000\n{slow}"));
    assert_eq!(sim.advance(Time::from_ps(u64::MAX), u64::MAX), Ok(true));
    assert!(sim.events() > 3000, "{}", sim.events());
}
