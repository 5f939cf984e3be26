//! Flows whose law needs no ACKs, such as UDP traffic. These flows receive no ACKs, and nothing slows them down.

use std::collections::BTreeMap;

use crate::common::{column, run, try_start};
use levelflow_laws::{Any, LAWS, Protocol, Signal};
use levelflow_scenario::{Scenario, law_params};
use proptest::prelude::*;

fn stream(link: &str, flow: &str) -> String {
    format!(
        r#"
        name = "stream"
        duration = "30 s"
        link = [{{ from = "A", to = "B", capacity = "1 Mb/s", delay = "10 ms", duplex = true, {link} }}]
        [[flow]]
        name = "x"
        law = {{ cbr = {{ rate = "80 kb/s" }} }}
        from = "A"
        to = "B"
        packet = "200 B"
        {flow}
        "#
    )
}

#[test]
fn laws_that_listen_to_nothing_need_no_acks() {
    for law in LAWS {
        let transport = Any::transport(&law_params(law.name, &BTreeMap::new()).unwrap());
        assert_eq!(transport.acknowledged, law.signal != Signal::Nothing, "{}", law.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A packet leaves every 20 ms, in any state of the link and the reverse path.
    #[test]
    fn a_constant_stream_is_constant(
        from in 0_u32..25_000, length in 1_u32..20_000, kind in 0_usize..3, loss in 0.0..1.0_f64, seed in any::<u32>(),
    ) {
        let to = from + length;
        let off = ["down = true", "capacity = '0 b/s'", "delay = '5 s'"][kind];
        let on = ["down = false", "capacity = '1 Mb/s'", "delay = '10 ms'"][kind];
        let link = format!(
            "changes = [{{ at = '{from} ms', {off} }}, {{ at = '{to} ms', {on} }}], reverse = {{ loss = {loss}, changes = [] }}"
        );
        let found = run(&stream(&link, "").replacen("name", &format!("seed = {seed}\nname"), 1));
        let flow = &found.summary.flows[0];
        // One packet at 0 s, and one at 30 s.
        prop_assert_eq!(flow.sent_packets, 1501);
        prop_assert_eq!((flow.acks.sent, flow.rtt_s.is_none()), (0, true));
        prop_assert_eq!(found.summary.links[1].arrived_packets, 0);
        if kind == 1 && to < 28_000 {
            // Two seconds are enough to transmit the backlog.
            prop_assert!(flow.delivered_packets > 1490);
        }
    }

    /// A transfer is complete exactly if its receiver has every byte.
    #[test]
    fn a_transfer_completes_if_nothing_of_it_is_lost(
        loss in 0.0..0.1_f64, packets in 1_u32..20, seed in any::<u32>(), law in prop::sample::select(vec!["cbr", "emkc"]),
    ) {
        let found = run(&format!(
            r#"
            name = "transfers"
            duration = "60 s"
            seed = {seed}
            link = [{{ from = "A", to = "B", capacity = "1 Gb/s", delay = "1 ms", loss = {loss}, duplex = true,
                       reverse = {{ loss = 0 }} }}]
            [[flow]]
            name = "x"
            law = "{law}"
            from = "A"
            to = "B"
            size = "{packets} packets"
            reliable = false
            arrivals = {{ interval = "10 ms" }}
            limit = 4000
            "#
        ));
        let flow = &found.summary.flows[0];
        let complete = column(&found.completions, "bytes").len() as f64 / 4000.0;
        let expected = (1.0 - loss).powi(packets as i32);
        let error = (expected * (1.0 - expected) / 4000.0).sqrt();
        prop_assert!((complete - expected).abs() <= 5.0 * error + 1e-9, "{} of {}", complete, expected);
        prop_assert_eq!((flow.started, flow.sent_packets), (4000, 4000 * u64::from(packets)));
        prop_assert_eq!(flow.delivered_packets + flow.lost_packets, flow.sent_packets);
    }
}

/// A one-way stream sends no packets in the reverse direction.
#[test]
fn a_stream_takes_nothing_of_the_way_back() {
    let found = run(r#"
        name = "cbr-acks"
        duration = "60 s"
        link = [{ from = "net", to = "home", capacity = "24 Mb/s", delay = "10 ms", buffer = "100 packets", duplex = true,
                  reverse = { capacity = "1 Mb/s" } }]
        flow = [{ name = "stream", law = { cbr = { rate = "20 Mb/s" } }, from = "net", to = "home" },
                { name = "upload", law = "newreno", from = "home", to = "net" }]
    "#);
    let upload = found.summary.flows[1].delivered_bytes as f64 * 8.0 / 60.0;
    assert!(upload > 0.96e6, "{upload} b/s");
    let others = found.summary.flows[1].sent_packets - found.summary.links[1].arrived_packets;
    assert!(others <= 1, "in a host: {others}");
}

/// On 1 Mb/s, a packet of 214 B takes 1.712 ms and an ACK of 40 B takes 0.32 ms.
#[test]
fn a_stream_may_ask_for_acks_to_know_its_round_trips() {
    let asking = stream("", "").replace("200 B", "214 B");
    let found = run(&asking.replace("rate = \"80 kb/s\"", "rate = \"85.6 kb/s\", acks = true"));
    let flow = &found.summary.flows[0];
    assert_eq!((flow.sent_packets, flow.acks.sent), (1501, 1500));
    let rtt = flow.rtt_s.as_ref().unwrap();
    assert!((rtt.p50 / 0.022_032 - 1.0).abs() < 0.01, "{}", rtt.p50);
}

/// A constant stream that measures its round-trip time sends 50 packets per second, also during an outage.
#[test]
fn a_stream_with_acks_is_constant_through_outages() {
    for (off, on) in [
        ("down = true", "down = false"),
        ("capacity = '0 b/s'", "capacity = '1 Mb/s'"),
    ] {
        for outage in [2, 3, 5, 10] {
            let changes = format!(
                "changes = [{{ at = '10 s', {off} }}, {{ at = '{} s', {on} }}]",
                10 + outage
            );
            for link in [
                format!("{changes}, reverse = {{ changes = [] }}"),
                format!("reverse = {{ {changes} }}"),
                changes.clone(),
            ] {
                let found = run(&stream(&link, "").replace("\"80 kb/s\"", "\"80 kb/s\", acks = true"));
                assert_eq!(found.summary.flows[0].sent_packets, 1501, "{link}");
            }
        }
    }
}

#[test]
fn what_needs_acks_is_refused_in_a_line() {
    for (flow, words) in [
        (
            "size = '1 MB'\nreliable = true",
            "flow 1 (x), reliable: cbr has no ACKs",
        ),
        (
            "application = { responses = { size = '1 kB', think = '1 s' } }",
            "flow 1 (x), application: responses are delivered in full",
        ),
    ] {
        let problem = try_start(&Scenario::parse(&stream("", flow)).unwrap()).err().unwrap();
        assert!(problem.starts_with(words) && !problem.contains('\n'), "{problem}");
    }
}
