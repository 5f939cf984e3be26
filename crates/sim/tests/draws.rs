//! Random choices of laws. Another seed gives another run. No flow changes the random choices of another flow.

use crate::common::{Run, run};
use levelflow_laws::{Any, LAWS, Protocol};
use levelflow_scenario::{Scenario, law_params};
use std::collections::BTreeMap;

fn drawing() -> Vec<&'static str> {
    let draws = |name| Any::transport(&law_params(name, &BTreeMap::new()).unwrap()).draws;
    LAWS.iter().map(|law| law.name).filter(|law| draws(law)).collect()
}

/// Returns a scenario with six flows over a link with a small buffer, and one flow over another link.
fn crowd(law: &str, seed: u32, more: &str) -> String {
    format!(
        r#"
        name = "crowd"
        duration = "20 s"
        overhead = "0 s"
        seed = {seed}
        link = [{{ from = "A", to = "B", capacity = "20 Mb/s", delay = "20 ms", buffer = "0.5 BDP", duplex = true }},
                {{ from = "C", to = "D", capacity = "20 Mb/s", delay = "20 ms", buffer = "0.5 BDP", duplex = true }}]
        [[flow]]
        name = "x"
        law = "{law}"
        from = "A"
        to = "B"
        count = 6
        {more}
        "#
    )
}

fn counters(run: &Run) -> (u64, u64, u64) {
    let flow = &run.summary.flows[0];
    (flow.sent_packets, flow.dropped_packets, run.summary.events)
}

#[test]
fn bbr_and_tfrc_draw() {
    assert_eq!(drawing(), ["tfrc", "bbr", "bbr3"]);
}

#[test]
fn another_seed_is_another_run() {
    for law in drawing() {
        let mut found: Vec<_> = (1..=8).map(|seed| counters(&run(&crowd(law, seed, "")))).collect();
        let again = counters(&run(&crowd(law, 1, "")));
        assert_eq!(again, found[0], "{law}");
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), 8, "{law}: {found:?}");
        let scenario = Scenario::from_value(&Scenario::parse(&crowd(law, 1, "")).unwrap()).unwrap();
        assert!(scenario.resolve().unwrap().is_random(), "{law}");
    }
}

#[test]
fn flows_that_are_added_change_no_draws_of_others() {
    for law in drawing() {
        let elsewhere = format!("[[flow]]\nname = 'y'\nlaw = '{law}'\nfrom = 'C'\nto = 'D'");
        let [alone, beside] = ["", &elsewhere].map(|more| run(&crowd(law, 3, more)));
        assert_eq!(alone.summary.flows[0], beside.summary.flows[0], "{law}");
    }
}
