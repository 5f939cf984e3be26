//! Applications that send less data than the network could deliver.

use crate::common::{Run, assert_close, run, try_start};
use levelflow_laws::{Any, LAWS, Protocol};
use levelflow_scenario::{Scenario, law_params};

/// Runs flows over a link of 10 Mb/s with a round-trip time of 20 ms.
fn over(flows: &str) -> Run {
    run(&text(flows))
}

fn text(flows: &str) -> String {
    format!(
        r#"
        name = "sources"
        duration = "20 s"
        overhead = "0 s"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", duplex = true, buffer = "200 packets" }}]
        {flows}
        "#
    )
}

fn flow(name: &str, law: &str, more: &str) -> String {
    format!("[[flow]]\nname = '{name}'\nlaw = {law}\nfrom = 'A'\nto = 'B'\npacket = '1000 B'\n{more}\n")
}

/// An application that needs less than its fair share gets its rate without losses, with any law.
#[test]
fn an_application_below_its_share_gets_its_rate() {
    for law in LAWS {
        let params = law_params(law.name, &std::collections::BTreeMap::new()).unwrap();
        if Any::transport(&params).ecn || ["cbr", "kelly"].contains(&law.name) {
            continue; // the law needs marks, sets its own rate, or needs prices of another scale
        }
        let found = over(&flow(
            "x",
            &format!("'{}'", law.name),
            "application = { rate = '1 Mb/s' }",
        ));
        let flow = &found.summary.flows[0];
        let (written, arrived) = (20.0 * 125e3, flow.delivered_bytes as f64);
        assert_eq!(flow.dropped_packets, 0, "{}", law.name);
        assert!(
            (0.97 * written..=written + 1040.0).contains(&arrived),
            "{}: {arrived}",
            law.name
        );
    }
}

/// Other flows use the capacity that applications do not use. The utilisation is the same as with two flows that always
/// send.
#[test]
fn others_take_what_applications_leave() {
    for law in ["jetmax", "level", "emkc", "rcp", "maxnet", "xcp", "cubic", "bbr"] {
        let law = format!("'{law}'");
        let greedy = flow("y", &law, "count = 2");
        let app = flow("x", &law, "count = 2\napplication = { rate = '5 Mb/s' }");
        let faster = |flows: &str| run(&text(flows).replace("10 Mb/s", "50 Mb/s"));
        let found = [faster(&greedy), faster(&[app, greedy].concat())];
        let [alone, both] = found.map(|run| run.summary.links[0].utilisation);
        assert!(both > alone - 0.04, "{law}: {both} is not {alone}");
    }
}

/// A response of 50 packets takes 40 ms on the link. The next response follows 20 ms of round-trip time and 140 ms of
/// think time later.
#[test]
fn responses_follow_each_other() {
    let found = over(&flow(
        "x",
        "{ newreno = { initial_window = 50 } }",
        "application = { responses = { size = '50 packets', think = '140 ms' } }",
    ));
    let packets = found.summary.flows[0].sent_packets;
    // The handshake is one packet.
    assert!((100 * 50 - 49..=100 * 50 + 1).contains(&packets), "{packets}");
}

/// Lost data is retransmitted before the client's think time begins.
#[test]
fn a_response_arrives_over_a_lossy_line() {
    let text = text(&flow(
        "x",
        "'cubic'",
        "application = { responses = { size = '50 packets', think = '140 ms' } }",
    ));
    let found = run(&text.replace("duplex", "loss = 0.02, duplex"));
    let flow = &found.summary.flows[0];
    assert!(flow.lost_packets > 10);
    let arrived = flow.delivered_packets;
    assert!((50 * 50..100 * 50).contains(&arrived), "{arrived}");
}

/// An on-off application sends in half of the time. It ends at its stop time.
#[test]
fn periods_and_stops_are_kept() {
    let found = over(&flow(
        "x",
        "{ cbr = { rate = '10 Mb/s' } }",
        "count = 40\nstop = '16 s'\napplication = { on_off = { rate = '200 kb/s', on = { exponential = '100 ms' }, off = '100 ms' } }",
    ));
    let flow = &found.summary.flows[0];
    assert_eq!(flow.finished, 40);
    assert_close(flow.sent_packets as f64, 40.0 * 16.0 * 25.0 * 0.5, 0.05);
}

#[test]
fn mistakes_of_applications_get_a_line() {
    for (more, words) in [
        (
            "application = { rate = '0 b/s' }",
            "flow 1 (x), application: 0 b/s is out of range",
        ),
        (
            "application = { on_off = { rate = '1 kb/s', on = '1 us', off = '1 s' } }",
            "on must be at least a millionth",
        ),
        ("application = { on_off = { rate = '1 kb/s', on = '1 s' } }", "off"),
        (
            "application = { responses = { size = '1 kB', think = '1 s' } }\nreliable = false",
            "reliable: must be true with responses",
        ),
        ("application = { bursts = 1 }", "known: rate, on_off, responses"),
        (
            "application = { rate = '1 Mb/s' }\nsize = '1 kB'\narrivals = { poisson = '1 /s' }\nsession = { pages = 1, objects = 1, think = '1 s' }",
            "application: cannot go with session",
        ),
    ] {
        let scenario = Scenario::parse(&text(&flow("x", "'jetmax'", more))).unwrap();
        let problem = try_start(&scenario).err().unwrap();
        assert!(problem.contains(words) && !problem.contains('\n'), "{more}: {problem}");
    }
}
