//! Offered loads, compared with the arrivals at links.

use levelflow_scenario::Scenario;

use crate::common::run;

/// Compares the arrivals at each link in a long run with the offered load, bit/s. Both include headers.
fn check(flows: &str, tolerance: f64) {
    for encapsulation in ["none", "ethernet+ipv4+udp"] {
        check_with(encapsulation, flows, tolerance);
    }
}

fn check_with(encapsulation: &str, flows: &str, tolerance: f64) {
    let text = format!(
        r#"
        name = "offered"
        duration = "300 s"
        routing = "ecmp"
        encapsulation = "{encapsulation}"
        link = [
            {{ from = "A", to = "B", capacity = "1 Gb/s", delay = "1 ms", duplex = true, queue = {{ cake = {{ rate = "500 Mb/s" }} }} }},
            {{ from = "B", to = "D", capacity = "1 Gb/s", delay = "1 ms", duplex = true }},
            {{ from = "A", to = "C", capacity = "1 Gb/s", delay = "1 ms", duplex = true }},
            {{ from = "C", to = "D", capacity = "1 Gb/s", delay = "1 ms", duplex = true }},
        ]
        {flows}
        "#
    );
    let scenario = Scenario::parse(&text)
        .and_then(|raw| Scenario::from_value(&raw))
        .unwrap();
    let offered = scenario.resolve().unwrap().network.offered_loads();
    let links = run(&text).summary.links;
    for (link, offered) in links.iter().zip(&offered).step_by(2) {
        let arrived = link.arrived_bytes as f64 * 8.0 / 300.0;
        assert!(offered.bps > 0.0, "{}", link.name);
        assert!(
            (arrived / offered.bps - 1.0).abs() < tolerance,
            "{}: {arrived} of {}",
            link.name,
            offered.bps
        );
        let served = if link.name == "A->B" { 500e6 } else { 1e9 };
        assert!(
            (offered.load * served / offered.bps - 1.0).abs() < 1e-9,
            "{}",
            link.name
        );
    }
}

fn flow(more: &str) -> String {
    format!("[[flow]]\nname = 'x'\nlaw = {{ cbr = {{ rate = '200 kb/s' }} }}\nfrom = 'A'\nto = 'D'\n{more}\n")
}

/// The sum of `n` exponential sizes at Poisson times has a relative standard deviation of `sqrt(2/n)`. For the 18,000
/// flows of a path, this is 1 %.
#[test]
fn transfers_bring_what_their_entry_offers() {
    check(
        &flow("size = { exponential = '5 kB' }\narrivals = { poisson = '120 /s' }"),
        0.04,
    );
    check(
        &flow("size = '7 packets'\narrivals = { batches = { batch = 16, interval = '400 ms' } }"),
        0.02,
    );
}

/// An application with exponential periods sends in a fraction of the time `t`. Its sending time has the variance `2
/// on^2 off^2/(on + off)^3 t`. The standard deviation is 9.4 s in 300 s for one flow. For 200 flows of a path, it is
/// 0.67 % of the mean.
#[test]
fn senders_and_applications_bring_their_rate() {
    check(&flow("count = 7"), 1e-3);
    let periods = "on = { exponential = '1 s' }, off = { exponential = '2 s' }";
    let application = format!("application = {{ on_off = {{ rate = '60 kb/s', {periods} }} }}");
    check(&flow(&format!("count = 400\n{application}")), 0.027);
}
