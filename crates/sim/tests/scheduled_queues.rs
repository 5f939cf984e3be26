//! Disciplines with several queues in the engine, compared with closed forms, with each other and with `codel`.

use levelflow_results::LinkSummary;

use crate::common::{Run, assert_close, column, mean, run, series};

/// Runs flows over a bottleneck from A to B and a fast reverse path. The round-trip time is 20 ms by default.
fn bottleneck(queue: &str, capacity: &str, duration: u32, flows: &str) -> Run {
    run(&format!(
        r#"
        name = "scheduled"
        duration = "{duration} s"
        overhead = "0 s"
        link = [{{ from = "A", to = "B", capacity = "{capacity}", delay = "10 ms", buffer = "unlimited", queue = {queue} }},
                {{ from = "B", to = "A", capacity = "10 Gb/s", delay = "10 ms" }},
                {{ from = "H", to = "A", capacity = "10 Gb/s", delay = "0 s", duplex = true }},
                {{ from = "I", to = "A", capacity = "10 Gb/s", delay = "0 s", duplex = true }}]
        {flows}
        "#
    ))
}

/// Returns a flow entry of unlimited flows to B.
fn endless(name: &str, law: &str, from: &str, count: u32) -> String {
    format!(
        r#"
        [[flow]]
        name = "{name}"
        law = {law}
        from = "{from}"
        to = "B"
        count = {count}
        packet = "1250 B"
        start = {{ uniform = ["0 s", "1 s"] }}
        "#
    )
}

/// Returns the throughput of an entry after `after` seconds, bit/s.
fn rate(run: &Run, entry: usize, after: f64) -> f64 {
    mean(&series(&run.flows, "flow", entry, "throughput_bps", after))
}

fn link_mean(run: &Run, name: &str, after: f64) -> f64 {
    mean(&series(&run.links, "link", 0, name, after))
}

/// A single flow has one queue, controlled by CoDel. Every packet is treated as in `codel`.
#[test]
fn with_one_flow_fq_codel_is_codel() {
    for ecn in [false, true] {
        for law in ["reno", "cubic"] {
            let law = format!("{{ {law} = {{ ecn = {ecn} }} }}");
            let flow = endless("x", &law, "A", 1);
            let [alone, scheduled] = ["codel", "fq_codel"]
                .map(|queue| bottleneck(&format!("{{ {queue} = {{ ecn = {ecn} }} }}"), "10 Mb/s", 30, &flow));
            assert!(alone.summary.links[0].dropped_packets + alone.summary.links[0].marked_packets > 5);
            assert_eq!(alone.summary.flows, scheduled.summary.flows);
            let [plain, of_flows] = [&alone, &scheduled].map(|run| &run.summary.links[0]);
            assert_eq!(plain.queueing_delay_s, of_flows.queueing_delay_s);
            assert_eq!(of_flows.classes[0].queueing_delay_s, of_flows.queueing_delay_s);
            let unclassed = LinkSummary {
                classes: Vec::new(),
                ..of_flows.clone()
            };
            assert_eq!(plain, &unclassed);
            for column_name in ["throughput_bps", "rtt_s"] {
                let bits = |run: &Run| {
                    column(&run.flows, column_name)
                        .iter()
                        .map(|x| x.to_bits())
                        .collect::<Vec<_>>()
                };
                assert_eq!(bits(&alone), bits(&scheduled), "{column_name}");
            }
        }
    }
}

/// Flows that request more than their fair share get equal shares. A responsive flow gets its share in competition with
/// an unresponsive flow.
#[test]
fn flows_get_equal_shares() {
    for queue in [r#""fq_codel""#, r#"{ cake = { isolation = "flows" } }"#] {
        let deaf = |name, mbps| endless(name, &format!("{{ cbr = {{ rate = \"{mbps} Mb/s\" }} }}"), "A", 1);
        let flows = [deaf("x", 11), deaf("y", 25), deaf("z", 90), deaf("w", 3)].concat();
        let run = bottleneck(queue, "30 Mb/s", 60, &flows);
        for (entry, expected) in [(0, 9e6), (1, 9e6), (2, 9e6), (3, 3e6)] {
            assert_close(rate(&run, entry, 20.0), expected, 0.002);
        }
        let beside = [deaf("deaf", 90), endless("cubic", r#""cubic""#, "A", 1)].concat();
        let run = bottleneck(queue, "30 Mb/s", 60, &beside);
        assert!(rate(&run, 1, 20.0) > 0.9 * 15e6, "{}", rate(&run, 1, 20.0));
    }
}

/// A packet that arrives alone waits for the packet in service and for packets of other new flows. Here, no other flow
/// is new. The delay is at most two transmission times plus the propagation delay, with any bulk traffic.
#[test]
fn a_sparse_flow_waits_for_one_packet() {
    for queue in ["fq_codel", "cake"] {
        let ping = r#"
            [[flow]]
            name = "ping"
            law = "cbr"
            from = "A"
            to = "B"
            packet = "125 B"
            size = "1 packet"
            reliable = false
            arrivals = { poisson = "20 /s" }
        "#;
        let bulk = endless("bulk", r#"{ cbr = { rate = "15 Mb/s" } }"#, "A", 1);
        let queue = format!("{{ {queue} = {{ queues = 65536 }} }}");
        let run = bottleneck(&queue, "10 Mb/s", 60, &format!("{bulk}{ping}"));
        let times = column(&run.completions, "fct_s");
        assert!(times.len() > 1000);
        let (own, other) = (125.0 * 8.0 / 10e6, 1250.0 * 8.0 / 10e6);
        let most = times.iter().copied().fold(0.0, f64::max);
        // Two pings may arrive within one transmission time. No ping shares the queue of the bulk traffic.
        assert!(most <= 0.010 + 3.0 * own + 2.0 * other + 1e-9, "{queue}: {most}");
        let least = times.iter().copied().fold(1.0, f64::min);
        assert!(least >= 0.010 + own - 1e-9, "{queue}: {least}");
        let waits = mean(&times) - 0.010 - own;
        // Residual service time of a bulk packet: half a transmission time on average.
        assert_close(waits, other / 2.0, 0.1);
    }
}

/// The shaper is the bottleneck, so the slower link behind the shaper has no queue.
#[test]
fn a_shaper_moves_the_queue_to_where_it_is_managed() {
    let run = run(&format!(
        r#"
        name = "shaper"
        duration = "30 s"
        link = [{{ from = "A", to = "M", capacity = "1 Gb/s", delay = "1 ms", buffer = "unlimited",
                   queue = {{ cake = {{ rate = "19 Mb/s" }} }} }},
                {{ from = "M", to = "B", capacity = "20 Mb/s", delay = "9 ms", buffer = "1000 packets" }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "10 ms" }}]
        {}
        "#,
        endless("x", r#""cubic""#, "A", 4)
    ));
    let link = |name, index| series(&run.links, "link", index, name, 10.0);
    assert_close(mean(&link("throughput_bps", 0)), 19e6, 0.002);
    assert!(link("backlog_max_bytes", 1).iter().all(|&bytes| bytes <= 2500.0));
    assert!(mean(&link("backlog_bytes", 0)) > 5000.0);
    assert_eq!(run.summary.links[1].dropped_packets, 0);
}

/// A source with eight flows gets the same throughput as a source with one flow if sources are isolated. If sources and
/// destinations are isolated, the host with more flows decides. Here, all flows have the same destination, so they get
/// equal shares.
#[test]
fn cake_shares_between_hosts() {
    let flows = [
        endless("many", r#""cubic""#, "H", 8),
        endless("one", r#""cubic""#, "I", 1),
    ]
    .concat();
    for (isolation, share) in [
        ("sources", 0.5),
        ("destinations", 1.0 / 9.0),
        ("triple", 1.0 / 9.0),
        ("flows", 1.0 / 9.0),
    ] {
        let queue = format!("{{ cake = {{ rate = \"40 Mb/s\", isolation = {isolation:?} }} }}");
        let run = bottleneck(&queue, "100 Mb/s", 60, &flows);
        assert_close(rate(&run, 1, 20.0), share * 40e6, 0.05);
        assert_close(rate(&run, 0, 20.0), (1.0 - share) * 40e6, 0.05);
    }
}

/// Classic flows only. The controller keeps the delay of the classic queue C at its target. It drops with the square of
/// its signal. A Reno flow with round-trip time `R` sends `sqrt(3/2) / (R sqrt(p))` packets/s (Mathis et al. 1997).
/// Here, only its congestion window limits the flow.
#[test]
fn classic_flows_hold_the_target_and_obey_the_root() {
    let flows = 10.0;
    let run = bottleneck(r#""dualpi2""#, "40 Mb/s", 120, &endless("reno", r#""reno""#, "A", 10));
    let link = &run.summary.links[0];
    assert_close(link_mean(&run, "throughput_bps", 30.0), 40e6, 0.01);
    assert_close(link_mean(&run, "backlog_bytes", 30.0) * 8.0 / 40e6, 0.015, 0.1);
    let dropped = link_mean(&run, "dropped", 30.0) * 10.0 / (link_mean(&run, "arrival_bps", 30.0) / 1e4);
    let signals = series(&run.links, "link", 0, "signal", 30.0);
    let squares = mean(&signals.iter().map(|p| p * p).collect::<Vec<_>>());
    assert_close(dropped, squares, 0.1);
    let (per_flow, round_trip) = (4000.0 / flows, 0.020 + 0.015);
    assert_close(per_flow, 1.5_f64.sqrt() / (round_trip * dropped.sqrt()), 0.2);
    assert_eq!(link.marked_packets, 0);
}

/// Prague competes with CUBIC in its Reno mode. Both have a base round-trip time of 20 ms. Prague's queueing delay is
/// at most the step threshold plus one or two packets of each flow. CUBIC's queueing delay is near the target. Packets
/// in L are marked with probability `2 p'` or more, and packets in C are dropped with probability `p'^2`. The rates of
/// both flows differ by at most a factor of two (RFC 9332, section 2.1).
#[test]
fn prague_and_cubic_share_a_line_at_different_delays() {
    let flows = [
        endless("prague", r#""prague""#, "A", 2),
        endless("cubic", r#""cubic""#, "A", 2),
    ]
    .concat();
    let run = bottleneck(r#""dualpi2""#, "40 Mb/s", 120, &flows);
    let rtt = |entry: usize| run.summary.flows[entry].rtt_s.as_ref().unwrap().clone();
    let packet = 1250.0 * 8.0 / 40e6;
    let least = 0.020 + packet;
    let (low, classic) = (rtt(0), rtt(1));
    assert!(
        low.p50 - least < 0.001 && low.p99 - least < 0.002 + 4.0 * packet,
        "{low:?}"
    );
    assert!((0.007..0.025).contains(&(classic.p50 - least)), "{classic:?}");
    assert_close(link_mean(&run, "throughput_bps", 30.0), 40e6, 0.01);
    let ratio = rate(&run, 0, 30.0) / rate(&run, 1, 30.0);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
    let signals = series(&run.links, "link", 0, "signal", 30.0);
    let (coupled, squares) = (
        2.0 * mean(&signals),
        mean(&signals.iter().map(|p| p * p).collect::<Vec<_>>()),
    );
    let sent = |entry| rate(&run, entry, 30.0) / 1e4;
    let marked = link_mean(&run, "marked", 30.0) * 10.0 / sent(0);
    let dropped = link_mean(&run, "dropped", 30.0) * 10.0 / sent(1);
    assert!(marked > 0.9 * coupled, "{marked} marked, {coupled} by coupling");
    assert_close(dropped, squares, 0.25);
}

/// Prague's share does not depend on round-trip times below 25 ms if marks are random. Three flows with round-trip
/// times of 5 ms compete with three flows of 20 ms. A step threshold marks in bursts, which would favour the flow that
/// reacts first.
#[test]
fn prague_gives_short_round_trips_no_advantage() {
    let flow = |n: u32, law: &str| format!("{}rtt = \"{n} ms\"", endless(&format!("x{n}"), law, "A", 3));
    let ratio = |law| {
        let run = run(&format!(
            r#"
            name = "short"
            duration = "60 s"
            link = [{{ from = "A", to = "B", capacity = "60 Mb/s", delay = "1 ms", buffer = "unlimited",
                       queue = {{ dualpi2 = {{ step = "1 s", target = "2 ms" }} }} }},
                    {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "1 ms" }}]
            {}{}
            "#,
            flow(5, law),
            flow(20, law)
        ));
        rate(&run, 0, 20.0) / rate(&run, 1, 20.0)
    };
    let prague = ratio(r#""prague""#);
    assert_close(prague, 1.0, 0.15);
    let without = ratio(r#"{ prague = { reference_rtt = "1 ms" } }"#);
    assert!(without > 2.0, "{without}: equal shares are due to the reference RTT");
}
