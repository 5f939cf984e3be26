//! Results of the engine, compared with queueing theory, arithmetic and the laws' papers.

use crate::common::{NO_LIMIT, Run, assert_close, assert_expectation, column, mean, run, series, start};

/// Runs flows of one packet of this size with Poisson arrivals, over one link of 10 Mb/s and 5 ms.
fn poisson_packets(seed: u64, rate: f64, size: &str, buffer: &str, duration: u32) -> Run {
    run(&format!(
        r#"
        name = "one queue"
        duration = "{duration} s"
        seed = {seed}
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "5 ms", buffer = "{buffer}" }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        [[flow]]
        name = "packets"
        law = "emkc"
        from = "A"
        to = "B"
        packet = "65535 B"
        size = {size}
        reliable = false
        arrivals = {{ poisson = "{rate} /s" }}
        "#
    ))
}

/// Returns the mean queueing delay, s. This is the completion time minus transmission time and propagation delay.
fn mean_wait(run: &Run) -> f64 {
    let (fct, bytes) = (column(&run.completions, "fct_s"), column(&run.completions, "bytes"));
    mean(
        &fct.iter()
            .zip(bytes)
            .map(|(t, b)| t - b * 8.0 / 10e6 - 5e-3)
            .collect::<Vec<_>>(),
    )
}

/// Returns the first and second moment of exponential packet sizes with this mean. Sizes are rounded up to whole bytes.
fn rounded_exponential(mean: f64) -> (f64, f64) {
    let p = 1.0 - (-1.0 / mean).exp();
    (1.0 / p, (2.0 - p) / (p * p))
}

const EXPONENTIAL: &str = r#"{ exponential = "1000 B" }"#;

// **Invariant** (The engine): queueing delays and losses agree with queueing theory, and packets stay in order. See
// `losses_are_those_of_an_m_m_1_k_queue`, `losses_are_those_of_an_m_d_1_k_queue`,
// `a_queue_keeps_the_order_of_its_packets`.
/// Pollaczek and Khinchine: the mean queueing delay is `W = lambda E[S^2] / (2 (1 - rho))`.
#[test]
fn waits_are_those_of_an_m_g_1_queue() {
    for (size, (m1, m2)) in [
        (r#""1000 B""#, (1000.0, 1e6)),
        (EXPONENTIAL, rounded_exponential(1000.0)),
    ] {
        for lambda in [500.0, 900.0] {
            let (s1, s2) = (m1 * 8e-7, m2 * 8e-7 * 8e-7);
            let expected = lambda * s2 / (2.0 * (1.0 - lambda * s1));
            let estimates: Vec<f64> = (0..12)
                .map(|seed| mean_wait(&poisson_packets(seed, lambda, size, "unlimited", 40)))
                .collect();
            assert_expectation(&estimates, expected);
        }
    }
}

fn drop_rates(load: f64, size: &str, places: u32) -> Vec<f64> {
    (0..12)
        .map(|seed| {
            let run = poisson_packets(seed, load * 1250.0, size, &format!("{places} packets"), 20);
            let link = &run.summary.links[0];
            link.dropped_packets as f64 / link.arrived_packets as f64
        })
        .collect()
}

/// The loss rate is `(1 - rho) rho^K / (1 - rho^(K+1))`, and `1/(K+1)` at `rho = 1`.
#[test]
fn losses_are_those_of_an_m_m_1_k_queue() {
    let rho: f64 = 0.8 * rounded_exponential(1000.0).0 / 1000.0;
    let blocked = (1.0 - rho) * rho.powi(5) / (1.0 - rho.powi(6));
    assert_expectation(&drop_rates(0.8, EXPONENTIAL, 5), blocked);
    assert_expectation(&drop_rates(1.0, EXPONENTIAL, 10), 1.0 / 11.0);
}

/// The loss rate is `1 - 1/(pi_0 + rho)`. `pi_0` is the fraction of departures that leave the queue empty. If the
/// system has room for one packet, `pi_0` is 1 (Erlang's formula). With room for two packets, `pi_0` is `exp(-rho)`.
#[test]
fn losses_are_those_of_an_m_d_1_k_queue() {
    let rho: f64 = 0.9;
    assert_expectation(&drop_rates(rho, r#""1000 B""#, 1), rho / (1.0 + rho));
    assert_expectation(&drop_rates(rho, r#""1000 B""#, 2), 1.0 - 1.0 / ((-rho).exp() + rho));
}

#[test]
fn a_queue_keeps_the_order_of_its_packets() {
    let run = poisson_packets(1, 1000.0, EXPONENTIAL, "unlimited", 20);
    let starts = column(&run.completions, "start_s");
    assert!(starts.len() > 19_000 && starts.is_sorted());
}

/// Each link rounds its transmission time to the nearest picosecond.
#[test]
fn a_lone_packet_takes_transmission_and_propagation() {
    for (bytes, rates) in [
        (1000, [10e6, 1e9]),
        (1, [1.0, 1e12]),
        (65_535, [3e6, 7e6]),
        (64, [4e10, 1e5]),
    ] {
        let run = run(&format!(
            r#"
            name = "alone"
            duration = "100 s"
            link = [{{ from = "A", to = "B", capacity = "{} b/s", delay = "3 ms", duplex = true }},
                    {{ from = "B", to = "C", capacity = "{} b/s", delay = "77 ps", duplex = true }}]
            [[flow]]
            name = "x"
            law = "emkc"
            from = "A"
            to = "C"
            packet = "{bytes} B"
            size = "1 packet"
            reliable = false
            "#,
            rates[0], rates[1]
        ));
        let found = column(&run.completions, "fct_s")[0] * 1e12;
        let sending = rates.iter().map(|c| (f64::from(bytes) * 8e12 / c).round());
        assert_eq!(found.round(), 3e9 + 77.0 + sending.sum::<f64>());
    }
}

/// Runs a transfer over an idle path of 10 Mb/s with a round-trip time of 100 ms. Routers offer the full capacity.
fn lone_transfer(size: &str, extra: &str) -> Run {
    run(&format!(
        r#"
        name = "lone transfer"
        duration = "60 s"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "20 ms", duplex = true }}]
        [[flow]]
        name = "x"
        law = "rcp"
        from = "A"
        to = "B"
        rtt = "100 ms"
        start = "30 s"
        size = "{size}"
        {extra}
        "#
    ))
}

/// A transfer with handshake takes 1.5 round-trip times, plus the time to send its data at the offered rate.
#[test]
fn a_lone_transfer_takes_the_time_of_its_data_and_its_handshake() {
    for packets in [1, 10, 100] {
        let run = lone_transfer(&format!("{packets} packets"), "");
        let handshake = 100e-3 + 2.0 * 40.0 * 8.0 / 10e6;
        let expected = handshake + 50e-3 + f64::from(packets) * 8e-4;
        let found = column(&run.completions, "fct_s")[0];
        assert!((found - expected).abs() < 8e-4, "{found} for {expected}");
        assert_eq!(column(&run.completions, "retransmitted"), [0.0]);
        assert_eq!(column(&run.completions, "rtt_s"), [0.1]);
    }
}

/// The delay before the first link is part of the completion time. It is at most half of the round-trip time.
#[test]
fn round_trip_times_match_the_scenario() {
    let rtt = lone_transfer("1 packet", "").summary.flows[0].rtt_s.clone().unwrap();
    // The handshake consists of two packets of 40 B. The run has two round-trip times: `max` for the data, and
    // therefore `2 mean - max` for the handshake.
    assert_close(2.0 * rtt.mean - rtt.max, 100e-3 + 64e-6, 0.01);
    assert_close(rtt.max, 100e-3 + 832e-6, 0.01);
}

fn jetmax(links: &str, flows: &str) -> Run {
    run(&format!(
        "name = \"jetmax\"\nduration = \"60 s\"\nlaw.jetmax.packets_per_interval = 0\n\
         law.jetmax.initial_rate = \"200 kb/s\"\n{links}\n{flows}"
    ))
}

#[test]
fn jetmax_fills_its_configured_share_of_a_link() {
    for gamma in [0.5, 0.9, 1.0] {
        let link = format!(
            "link = [{{ from = \"A\", to = \"B\", capacity = \"10 Mb/s\", delay = \"10 ms\", duplex = true, \
             law = {{ jetmax = {{ gamma = {gamma} }} }} }}]"
        );
        let flow = "flow = [{ name = \"x\", law = \"jetmax\", from = \"A\", to = \"B\", rtt = \"60 ms\", count = 3, \
                    start = { uniform = [\"0 s\", \"5 s\"] } }]";
        let run = jetmax(&link, flow);
        let throughput = mean(&series(&run.links, "link", 0, "throughput_bps", 40.0));
        assert_close(throughput, gamma * 10e6, 0.015);
    }
}

/// Max-min fairness: flows z and x share the second link, and flow y uses the remaining capacity of the first link. The
/// difference between the links exceeds one packet per interval, so the bottlenecks of the flows do not change.
#[test]
fn a_parking_lot_is_shared_max_min_fairly() {
    let run = jetmax(
        r#"link = [{ from = "A", to = "B", capacity = "100 Mb/s", delay = "10 ms", duplex = true },
                   { from = "B", to = "C", capacity = "60 Mb/s", delay = "10 ms", duplex = true }]"#,
        r#"flow = [{ name = "x", law = "jetmax", from = "A", to = "C" },
                   { name = "y", law = "jetmax", from = "A", to = "B" },
                   { name = "z", law = "jetmax", from = "B", to = "C", start = "3 s" }]"#,
    );
    for f in 0..3 {
        println!(
            "{:?}\n{:?}",
            series(&run.flows, "flow", f, "law_rate_bps", 50.0),
            series(&run.flows, "flow", f, "bottleneck", 50.0)
        );
    }
    for (flow, share) in [30e6, 70e6, 30e6].into_iter().enumerate() {
        assert_close(
            mean(&series(&run.flows, "flow", flow, "law_rate_bps", 40.0)),
            share,
            0.02,
        );
        assert_close(
            mean(&series(&run.flows, "flow", flow, "throughput_bps", 40.0)),
            share,
            0.02,
        );
    }
    let bottleneck = |flow| series(&run.flows, "flow", flow, "bottleneck", 40.0);
    let (first, second) = (0.0, 2.0);
    for (flow, link) in [(0, second), (1, first), (2, second)] {
        assert!(
            bottleneck(flow).iter().all(|&b| b == link),
            "flow {flow}: {:?}",
            bottleneck(flow)
        );
    }
}

/// Runs a stream at a fixed rate. The first intervals of the routers end after the run, so the sender receives no
/// price.
fn constant_rate(rate: &str, links: &str) -> Run {
    run(&format!(
        r#"
        name = "constant rate"
        duration = "20 s"
        law.emkc.interval = "100 s"
        link = [{links}]
        [[flow]]
        name = "x"
        law = {{ emkc = {{ initial_rate = "{rate}" }} }}
        from = "A"
        to = "B"
        "#
    ))
}

#[test]
fn wires_lose_packets_with_their_probability_and_each_in_its_direction() {
    let link = r#"{ from = "A", to = "B", capacity = "100 Mb/s", delay = "1 ms", loss = 0.02, duplex = true,
                    reverse = { loss = 0.1 } }"#;
    let run = constant_rate("20 Mb/s", link);
    for (link, p) in run.summary.links.iter().zip([0.02, 0.1]) {
        let crossed = (link.delivered_packets + link.lost_packets) as f64;
        let (expected, deviation) = (crossed * p, (crossed * p * (1.0 - p)).sqrt());
        assert!(crossed > 40_000.0, "{crossed}");
        assert!(
            (link.lost_packets as f64 - expected).abs() < 4.0 * deviation,
            "{link:?}"
        );
    }
    let flow = &run.summary.flows[0];
    assert_eq!(flow.lost_packets, run.summary.links[0].lost_packets);
    assert_eq!(flow.acks.lost, run.summary.links[1].lost_packets);
    assert_eq!(flow.acks.sent, flow.delivered_packets);
}

#[test]
fn acks_load_the_links_that_lead_back() {
    let link = r#"{ from = "A", to = "B", capacity = "100 Mb/s", delay = "1 ms", duplex = true,
                    reverse = { capacity = "1 Mb/s" } }"#;
    let run = constant_rate("20 Mb/s", link);
    let (forward, back) = (&run.summary.links[0], &run.summary.links[1]);
    assert_eq!(back.arrived_bytes, 40 * forward.delivered_packets);
    assert_close(back.utilisation, 0.8, 0.01);
    assert_close(mean(&series(&run.links, "link", 1, "throughput_bps", 1.0)), 0.8e6, 0.01);
}

/// Flow entries that differ only in the size of their ACKs.
#[test]
fn each_entry_has_acks_of_its_own_size() {
    let run = run(r#"
        name = "two"
        duration = "5 s"
        law.emkc = { interval = "100 s", initial_rate = "2 Mb/s" }
        link = [{ from = "A", to = "B", capacity = "100 Mb/s", delay = "1 ms", duplex = true }]
        flow = [
            { name = "x", law = "emkc", from = "A", to = "B" },
            { name = "y", law = "emkc", from = "A", to = "B", ack = "100 B" },
            { name = "z", law = "emkc", from = "A", to = "B" },
        ]"#);
    let sent: Vec<u64> = run.summary.flows.iter().map(|flow| flow.acks.sent).collect();
    assert_eq!(
        run.summary.links[1].arrived_bytes,
        40 * (sent[0] + sent[2]) + 100 * sent[1]
    );
}

/// The data rate of 200 Mb/s causes 25,000 ACKs of 40 B per second. The reverse path of 1 Mb/s transmits 3125 ACKs per
/// second. A queue of 7 ACKs contains 280 B.
#[test]
fn a_buffer_in_packets_counts_small_ones_as_whole() {
    let link = r#"{ from = "A", to = "B", capacity = "1 Gb/s", delay = "1 ms", duplex = true,
                    reverse = { capacity = "1 Mb/s", buffer = "7 packets" } }"#;
    let run = constant_rate("200 Mb/s", link);
    let most = |name| series(&run.links, "link", 1, name, 1.0).into_iter().fold(0.0, f64::max);
    assert_eq!((most("backlog_max_bytes"), most("backlog_packets")), (280.0, 7.0));
    let back = &run.summary.links[1];
    assert_close(back.dropped_packets as f64 / back.arrived_packets as f64, 0.875, 0.01);
}

/// The offered load is twice the capacity, so half of the packets are dropped. The queue is full but never exceeds its
/// buffer.
#[test]
fn a_queue_never_holds_more_than_its_buffer() {
    for (buffer, bytes, packets) in [
        ("10500 B", 10_000.0, 10.0),
        ("10000 B", 10_000.0, 10.0),
        ("7 packets", 7000.0, 7.0),
    ] {
        let link = format!(
            r#"{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "1 ms", buffer = "{buffer}", duplex = true }}"#
        );
        let run = constant_rate("20 Mb/s", &link);
        let most = |name| series(&run.links, "link", 0, name, 1.0).into_iter().fold(0.0, f64::max);
        assert_eq!(
            (most("backlog_max_bytes"), most("backlog_packets")),
            (bytes, packets),
            "{buffer}"
        );
        let (link, flow) = (&run.summary.links[0], &run.summary.flows[0]);
        assert_close(link.dropped_packets as f64 / link.arrived_packets as f64, 0.5, 0.01);
        assert_close(link.utilisation, 1.0, 0.001);
        assert_eq!(link.dropped_bytes, 1000 * link.dropped_packets);
        assert_eq!(flow.dropped_packets, link.dropped_packets);
        assert_eq!(link.backlog_bytes.max as f64, bytes);
        assert_close(flow.rtt_s.as_ref().unwrap().max, 2e-3 + bytes * 8e-7, 0.01);
    }
}

#[test]
fn both_directions_of_a_duplex_link_fare_alike() {
    let run = jetmax(
        r#"link = [{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", duplex = true }]"#,
        r#"flow = [{ name = "there", law = "jetmax", from = "A", to = "B" },
                   { name = "back", law = "jetmax", from = "B", to = "A" }]"#,
    );
    let rate = |flow| mean(&series(&run.flows, "flow", flow, "throughput_bps", 40.0));
    let throughput = |link| mean(&series(&run.links, "link", link, "throughput_bps", 40.0));
    assert_close(rate(0), rate(1), 0.01);
    for link in [0, 1] {
        assert_close(throughput(link), 10e6, 0.02);
    }
    assert_close(rate(0) * 1.04, 10e6, 0.02);
}

#[test]
fn a_stopped_flow_sends_nothing_more_and_is_over() {
    let run = run(r#"
        name = "stop"
        duration = "10 s"
        link = [{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", duplex = true }]
        [[flow]]
        name = "x"
        law = { emkc = { initial_rate = "1 Mb/s" } }
        from = "A"
        to = "B"
        start = "2 s"
        stop = "5 s"
    "#);
    let (t, sent, active) = (
        column(&run.flows, "t"),
        column(&run.flows, "sending_rate_bps"),
        column(&run.flows, "active"),
    );
    for i in 0..t.len() {
        let (on, off) = (t[i] > 2.15 && t[i] < 4.95, t[i] < 1.95 || t[i] > 5.15);
        assert!(!on || (sent[i] > 0.0 && active[i] == 1.0), "{}", t[i]);
        assert!(!off || (sent[i] == 0.0 && active[i] == 0.0), "{}", t[i]);
    }
    let flow = &run.summary.flows[0];
    assert_eq!((flow.started, flow.finished, flow.in_flight), (1, 1, 0));
    assert_eq!(flow.delivered_packets, flow.sent_packets);
}

#[test]
fn the_clock_does_not_run_backwards() {
    let mut sim = start(
        r#"
        name = "clock"
        duration = "2 s"
        link = [{ from = "A", to = "B", capacity = "1 Mb/s", delay = "1 ms", duplex = true }]
        flow = [{ name = "x", law = "jetmax", from = "A", to = "B" }]
        "#,
    );
    let at = |ms| levelflow_units::Time::ZERO + levelflow_units::Duration::from_ms(ms);
    assert!(!sim.advance(at(1500), NO_LIMIT).unwrap());
    assert!(!sim.advance(at(500), NO_LIMIT).unwrap());
    assert_eq!(sim.now(), at(1500));
}

/// Equation 2 of RCP has its equilibrium at `alpha (C - y) = beta q/d`. If `q` excludes the packet in service, the
/// equilibrium is `R = C`. The code of RCP's authors excludes this packet, too. If `q` included it, the equilibrium
/// would be 7 % lower.
#[test]
fn one_rcp_flow_fills_a_slow_line() {
    let run = run(r#"
        name = "slow line"
        duration = "20 s"
        link = [{ from = "A", to = "B", capacity = "10 Mb/s", delay = "10 ms", duplex = true }]
        flow = [{ name = "x", law = "rcp", from = "A", to = "B", rtt = "100 ms" }]
        "#);
    for name in ["signal", "throughput_bps"] {
        let late = series(&run.links, "link", 0, name, 12.0);
        assert_close(mean(&late) / 10e6, 1.0, 0.01);
    }
}

/// RCP offers a lower rate if it counts drops as queue. This also holds if RCP is not the first law of the link.
#[test]
fn every_law_of_a_port_hears_of_drops() {
    let offered = |loss_aware: bool| {
        let overloaded = run(&format!(
            r#"
            name = "drops"
            duration = "3 s"
            link = [{{ from = "A", to = "B", capacity = "1 Mb/s", delay = "1 ms", buffer = "3 packets", duplex = true }}]
            [law.rcp]
            loss_aware = {loss_aware}
            initial = 1.0
            [[flow]]
            name = "flood"
            law = {{ emkc = {{ initial_rate = "4 Mb/s", min_rate = "4 Mb/s" }} }}
            from = "A"
            to = "B"
            [[flow]]
            name = "x"
            law = "rcp"
            from = "A"
            to = "B"
            "#
        ));
        overloaded.summary.flows[1].sent_bytes
    };
    assert!(offered(true) < offered(false));
}

#[test]
fn a_slow_flow_is_over_when_it_stops() {
    let run = run(r#"
        name = "stop"
        duration = "4.05 s"
        link = [{ from = "A", to = "B", capacity = "1 Mb/s", delay = "1 ms", duplex = true }]
        [law.emkc]
        alpha = "1 b/s"
        initial_rate = "1 kb/s"
        interval = "10 s"
        [[flow]]
        name = "x"
        law = "emkc"
        from = "A"
        to = "B"
        stop = "2 s"
        "#);
    let (t, active) = (column(&run.flows, "t"), column(&run.flows, "active"));
    for (t, active) in t.iter().zip(&active) {
        assert_eq!(*active, if *t <= 2.0 { 1.0 } else { 0.0 }, "{t}");
    }
    assert_eq!(t.last(), Some(&4.05), "the end is sampled too");
}

#[test]
fn sizes_in_packets_are_whole_packets() {
    let run = run(r#"
        name = "sizes"
        duration = "5 s"
        link = [{ from = "A", to = "B", capacity = "1 Gb/s", delay = "1 ms", duplex = true }]
        [[flow]]
        name = "x"
        law = "rcp"
        from = "A"
        to = "B"
        arrivals = { poisson = "200 /s" }
        size = { pareto = { mean = "25 packets", shape = 1.8 } }
        "#);
    let bytes = column(&run.completions, "bytes");
    assert!(bytes.len() > 500 && bytes.iter().all(|b| b % 1000.0 == 0.0));
}
