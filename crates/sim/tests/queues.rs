//! Queue disciplines in the engine, compared with queueing theory, with each other and with the equations of their
//! papers.

use crate::common::{Run, assert_close, assert_expectation, assert_same_flows, column, mean, run, series};

/// Runs unresponsive traffic over a link that transmits 1000 packets of 1000 B per second.
fn open_loop(queue: &str, buffer: &str, seed: u64, duration: u32, traffic: &str) -> Run {
    run(&format!(
        r#"
        name = "open loop"
        duration = "{duration} s"
        seed = {seed}
        link = [{{ from = "A", to = "B", capacity = "8 Mb/s", delay = "5 ms", buffer = "{buffer}", queue = {queue} }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        [[flow]]
        name = "packets"
        from = "A"
        to = "B"
        packet = "1000 B"
        {traffic}
        "#
    ))
}

/// Returns a flow entry with Poisson arrivals. `rate` is in packets per second.
fn poisson(rate: f64) -> String {
    format!(
        r#"
        law = "cbr"
        size = "1 packet"
        reliable = false
        arrivals = {{ poisson = "{rate} /s" }}
        "#
    )
}

/// Returns the mean of a column for the first link, over samples after `after` seconds.
fn link_mean(run: &Run, name: &str, after: f64) -> f64 {
    mean(&series(&run.links, "link", 0, name, after))
}

/// Returns the fraction of the arriving bytes that the first link drops.
fn drop_share(run: &Run, after: f64) -> f64 {
    const SAMPLES_PER_S: f64 = 10.0;
    link_mean(run, "dropped_bytes", after) * 8.0 * SAMPLES_PER_S / link_mean(run, "arrival_bps", after)
}

/// RED with equal thresholds, as in DCTCP's switches, drops the same packets as a buffer of this size. The packets are
/// not ECN-capable.
#[test]
fn a_step_of_red_is_a_buffer_of_that_size() {
    for load in [0.9, 1.2] {
        let step = r#"{ red = { weight = 1, min = "12 packets", max = "12 packets" } }"#;
        let red = open_loop(step, "unlimited", 1, 40, &poisson(1000.0 * load));
        let tail = open_loop(r#""drop_tail""#, "12 packets", 1, 40, &poisson(1000.0 * load));
        assert!(drop_share(&tail, 0.0) > 0.005, "{load}");
        assert_eq!(red.completions, tail.completions);
        assert_same_flows(&red, &tail);
        assert_eq!(red.summary.links, tail.summary.links);
    }
}

/// CoDel drops no packet whose queueing delay is below its target.
#[test]
fn codel_with_a_target_above_every_wait_is_drop_tail() {
    let codel = open_loop(
        r#"{ codel = { target = "10 s" } }"#,
        "30 packets",
        1,
        40,
        &poisson(950.0),
    );
    let tail = open_loop(r#""drop_tail""#, "30 packets", 1, 40, &poisson(950.0));
    assert!(drop_share(&tail, 0.0) > 0.0005);
    assert_eq!(codel.completions, tail.completions);
    assert_eq!(codel.summary.links, tail.summary.links);
}

/// An integral controller keeps the mean queue at its target under an unresponsive overload. It drops the fraction `1 -
/// 1/rho` of the packets.
#[test]
fn pi_and_rem_hold_their_target_under_overload() {
    for queue in [
        r#"{ pi = { target = "40 packets", a = 1.002e-3, b = 1e-3, interval = "10 ms" } }"#,
        r#"{ rem = { target = "40 packets", gamma = 0.1, alpha = 0.02, phi = 1.01, interval = "10 ms" } }"#,
    ] {
        let runs: Vec<Run> = (0..6)
            .map(|seed| open_loop(queue, "unlimited", seed, 120, &poisson(1300.0)))
            .collect();
        let queues: Vec<f64> = runs.iter().map(|run| link_mean(run, "backlog_packets", 40.0)).collect();
        assert_expectation(&queues, 40.0);
        let shares: Vec<f64> = runs.iter().map(|run| drop_share(run, 40.0)).collect();
        assert_expectation(&shares, 1.0 - 1.0 / 1.3);
    }
}

/// The number of arrivals between two drops of RED is uniform on `1, ..., 1/p_b`, with mean `(1/p_b + 1)/2`. RED's
/// signal is the average queue, which determines `p_b`. With a small weight, `p_b` changes little between two drops.
#[test]
fn red_drops_at_the_rate_of_its_average() {
    let red = r#"{ red = { min = "10 packets", max = "90 packets", max_p = 0.4, weight = 0.0005 } }"#;
    let run = open_loop(red, "unlimited", 3, 400, &poisson(1150.0));
    let p_a = |average: f64| {
        let p_b = 0.4 * (average - 10.0) / 80.0;
        2.0 * p_b / (1.0 + p_b)
    };
    let signals = series(&run.links, "link", 0, "signal", 50.0);
    assert!(signals.iter().all(|&average| (10.0..90.0).contains(&average)));
    let expected = mean(&signals.into_iter().map(p_a).collect::<Vec<_>>());
    let share = drop_share(&run, 50.0);
    assert_close(share, expected, 0.02);
    // The link drops all packets that do not depart.
    let ratio = link_mean(&run, "throughput_bps", 50.0) / link_mean(&run, "arrival_bps", 50.0);
    assert_close(share, 1.0 - ratio, 0.005);
}

/// CoDel's drop times at a constant overload of 5 %. The queueing delay reaches 5 ms after 105 packets. The first drop
/// follows 100 ms later. The n-th drop follows `100 ms / sqrt(n)` after the previous drop.
#[test]
fn codel_drops_by_its_timetable() {
    let run = open_loop(
        r#""codel""#,
        "unlimited",
        1,
        2,
        r#"law = { cbr = { rate = "8.4 Mb/s" } }"#,
    );
    let mut planned = vec![0.105 + 0.1];
    while planned.len() < 100 {
        let count = planned.len() as f64;
        planned.push(planned[planned.len() - 1] + 0.1 / count.sqrt());
    }
    let times = column(&run.links, "t");
    let (link, dropped) = (column(&run.links, "link"), column(&run.links, "dropped"));
    let mut total = 0.0;
    for i in (0..times.len()).filter(|&i| link[i] == 0.0 && times[i] < 1.2) {
        total += dropped[i];
        let due = |slack: f64| planned.iter().filter(|&&t| t < times[i] - slack).count() as f64;
        // One packet departs per millisecond.
        let (least, most) = (due(2e-3), due(-2e-3));
        assert!(
            (least..=most).contains(&total),
            "{total} drops by {} s, expected {least} to {most}",
            times[i]
        );
    }
    assert!(total > 20.0);
}

/// Size of a packet that opens a flow, bytes.
const OPENING: u64 = 40;

/// Runs TCP flows over a link of `capacity` Mb/s. The base round-trip times are 30 to 50 ms.
fn renos(flows: u32, capacity: u32, queue: &str, buffer: &str, duration: u32, ecn: bool) -> Run {
    run(&format!(
        r#"
        name = "TCP"
        duration = "{duration} s"
        link = [{{ from = "A", to = "B", capacity = "{capacity} Mb/s", delay = "5 ms", buffer = "{buffer}",
                   queue = {queue} }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        [[flow]]
        name = "reno"
        law = {{ reno = {{ ecn = {ecn} }} }}
        from = "A"
        to = "B"
        count = {flows}
        rtt = {{ uniform = ["30 ms", "50 ms"] }}
        start = {{ uniform = ["0 s", "1 s"] }}
        packet = "1000 B"
        "#
    ))
}

/// The mean difference `queue - target` follows from the changes of price and queue over a run. These changes, divided
/// by the gains and the number of intervals, are one or two packets.
#[test]
fn rem_holds_its_target_under_tcp_and_loses_nothing() {
    let run = renos(20, 10, r#""rem""#, "100 packets", 200, true);
    assert_close(link_mean(&run, "backlog_packets", 100.0), 50.0, 0.05);
    assert!(link_mean(&run, "dropped", 100.0) == 0.0 && link_mean(&run, "marked", 100.0) > 0.0);
    assert_close(link_mean(&run, "throughput_bps", 100.0), 10e6, 0.005);
}

#[test]
fn pi_holds_its_target_under_tcp_whether_it_marks_or_drops() {
    for ecn in [true, false] {
        let run = renos(20, 10, r#"{ pi = { target = "80 packets" } }"#, "unlimited", 300, ecn);
        assert_close(link_mean(&run, "backlog_packets", 150.0), 80.0, 0.05);
        let link = &run.summary.links[0];
        assert_eq!(link.marked_packets > 0, ecn);
        // Opening packets cannot be marked. With ECN, all other packets are marked. Without ECN, they are dropped.
        let openings_only = link.dropped_bytes == OPENING * link.dropped_packets;
        assert_eq!(openings_only, ecn, "{link:?}");
        assert_close(link_mean(&run, "throughput_bps", 150.0), 10e6, 0.005);
    }
}

#[test]
fn red_keeps_the_average_between_its_thresholds_under_tcp() {
    let run = renos(
        20,
        10,
        r#"{ red = { min = "20 packets", max = "60 packets" } }"#,
        "unlimited",
        60,
        true,
    );
    let averages = series(&run.links, "link", 0, "signal", 20.0);
    assert!(
        averages.iter().all(|average| (20.0..60.0).contains(average)),
        "{averages:?}"
    );
    assert_close(mean(&averages), link_mean(&run, "backlog_packets", 20.0), 0.1);
    assert_close(link_mean(&run, "throughput_bps", 20.0), 10e6, 0.005);
}

/// Between drops, the windows of four flows grow by four packets per round-trip time. In an interval of 100 ms, this
/// adds 2 ms of queueing delay. A drop halves one window, which removes 5 ms. The queueing delay therefore stays near
/// the target of 5 ms. Drop-tail would fill its buffer.
#[test]
fn codel_takes_the_standing_queue_of_tcp_away() {
    let wait = |queue| {
        let run = renos(4, 40, queue, "400 packets", 60, false);
        assert_close(link_mean(&run, "throughput_bps", 20.0), 40e6, 0.05);
        link_mean(&run, "backlog_packets", 20.0) * 0.2e-3
    };
    assert!(wait(r#""drop_tail""#) > 0.04);
    let codel = wait(r#""codel""#);
    assert!((0.0025..0.01).contains(&codel), "{codel} s");
}
