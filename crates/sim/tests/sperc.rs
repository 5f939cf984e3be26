//! s-PERC with packets, queues and drops. Flows start, end, and cross several bottlenecks.

use crate::common::{Run, assert_close, run, series};

/// Runs three flows over two bottlenecks of 10 and 4 Mb/s. Flow x1 crosses the first link, x2 both links, and x3 the
/// second link. Flow x3 stops at `stop`.
fn two_bottlenecks(loss: f64, stop: &str) -> Run {
    run(&format!(
        r#"
        name = "two bottlenecks"
        duration = "20 s"
        seed = 3
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", buffer = "1 BDP", duplex = true, loss = {loss} }},
                {{ from = "B", to = "C", capacity = "4 Mb/s", delay = "15 ms", buffer = "1 BDP", duplex = true }}]
        flow = [{{ name = "x1", law = "sperc", from = "A", to = "B" }},
                {{ name = "x2", law = "sperc", from = "A", to = "C", start = "1 s" }},
                {{ name = "x3", law = "sperc", from = "B", to = "C", start = "2 s", stop = "{stop}" }}]
        "#
    ))
}

fn rates(run: &Run, flow: usize, from: f64, to: f64) -> Vec<f64> {
    let after = series(&run.flows, "flow", flow, "law_rate_bps", from);
    let rest = series(&run.flows, "flow", flow, "law_rate_bps", to).len();
    after[..after.len() - rest].to_vec()
}

fn drops(run: &Run) -> u64 {
    run.summary.links.iter().map(|link| link.dropped_packets).sum()
}

/// Max-min fair rates with `gamma` = 0.94. One of the flows crosses both bottlenecks.
#[test]
fn flows_over_two_bottlenecks_have_max_min_fair_rates_and_a_departure_frees_its_part() {
    let run = two_bottlenecks(0.0, "10 s");
    let far = [(0, 0.94 * 8e6), (1, 0.94 * 2e6), (2, 0.94 * 2e6)];
    for (flow, fair) in far {
        let found = rates(&run, flow, 3.0, 10.0);
        assert!(found.len() > 50);
        found.iter().for_each(|rate| assert_close(*rate, fair, 1e-6));
    }
    for (flow, fair) in [(0, 0.94 * 6e6), (1, 0.94 * 4e6)] {
        let found = rates(&run, flow, 10.5, 20.0);
        found.iter().for_each(|rate| assert_close(*rate, fair, 1e-6));
    }
    assert_eq!(drops(&run), 0);
}

/// The wider link loses 1 % of packets and ACKs. If a flow is temporarily counted twice, the rates of all flows
/// decrease.
#[test]
fn lost_packets_cost_little_rate_and_overload_nothing() {
    let run = two_bottlenecks(0.01, "30 s");
    assert_eq!(drops(&run), 0);
    let long = |flow| rates(&run, flow, 4.0, 20.0);
    let (x1, x2) = (long(0), long(1));
    for (a, b) in x1.iter().zip(&x2) {
        assert!(a + b <= 9.4e6 * 1.1, "{a} and {b}");
    }
    let mean = crate::common::mean(&x1);
    assert!((0.9 * 7.52e6..=1.01 * 7.52e6).contains(&mean), "{mean}");
}

/// A thousand transfers leave no state in routers. A single flow then gets the full rate.
#[test]
fn short_transfers_leave_nothing_behind() {
    let run = run(r#"
        name = "short"
        duration = "12 s"
        seed = 5
        link = [{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", buffer = "30 packets", duplex = true }]
        [[flow]]
        name = "short"
        law = "sperc"
        from = "A"
        to = "B"
        size = "20 packets"
        arrivals = { poisson = "25 /s" }
        stop = "8 s"
        [[flow]]
        name = "long"
        law = "sperc"
        from = "A"
        to = "B"
        "#);
    assert!(run.summary.flows[0].finished > 100, "{:?}", run.summary.flows[0]);
    for rate in rates(&run, 1, 11.0, 12.0) {
        assert_close(rate, 9.4e6, 1e-6);
    }
}
