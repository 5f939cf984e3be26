//! Laws with the same signalling share one router at a link.

use crate::common::{assert_close, mean, network_of, run, series};
use levelflow_scenario::Scenario;

const LINK: &str = r#"
    name = "shared"
    duration = "40 s"
    link = [{ from = "A", to = "B", capacity = "20 Mb/s", delay = "20 ms", duplex = true }]
    [[flow]]
    name = "plain"
    law = "rcp"
    from = "A"
    to = "B"
    [[flow]]
    name = "weighted"
    law = { rcp_weighted = { weight = 3 } }
    from = "A"
    to = "B"
    start = "5 s"
    "#;

#[test]
fn a_link_has_one_router_for_both_laws() {
    let network = network_of(&Scenario::parse(LINK).unwrap());
    let routers: Vec<&str> = network.links[0]
        .routers
        .iter()
        .map(|own| own.signalling().name)
        .collect();
    assert_eq!(routers, ["rcp"]);
}

/// The weights are 1 and 3, so the flows get about 5 and 15 Mb/s of a link of 20 Mb/s.
#[test]
fn two_laws_share_a_router_in_proportion_to_their_weights() {
    let run = run(LINK);
    let [plain, weighted] = [0, 1].map(|flow| mean(&series(&run.flows, "flow", flow, "throughput_bps", 30.0)));
    assert_close(weighted / plain, 3.0, 0.02);
    assert_close(plain + weighted, 20e6, 0.05);
    assert!(run.summary.flows.iter().all(|flow| flow.dropped_packets == 0));
}
