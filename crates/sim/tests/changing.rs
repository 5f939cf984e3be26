//! Links that change during the run. Results are compared with another implementation of the queue, and with the
//! capacity of the link. They are also compared with the equilibria of laws.

use std::fmt::Write;

use crate::common::{Run, assert_close, column, mean, run, series};
use levelflow_path::Fifo;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use proptest::prelude::*;

/// Runs flows over a link that changes.
fn over(changes: &str, more: &str, flows: &str) -> Run {
    run(&format!(
        r#"
        name = "changing"
        duration = "20 s"
        sample = "10 ms"
        link = [{{ from = "A", to = "B", capacity = "10 Mb/s", delay = "5 ms", changes = [{changes}], {more} }},
                {{ from = "B", to = "A", capacity = "1 Gb/s", delay = "5 ms" }}]
        {flows}
        "#
    ))
}

fn flow(name: &str, law: &str, more: &str) -> String {
    format!("[[flow]]\nname = '{name}'\nlaw = {law}\nfrom = 'A'\nto = 'B'\n{more}\n")
}

const OVERLOAD: &str = "{ cbr = { rate = '30 Mb/s' } }";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Packets leave the link at the same times as they leave the queue of the data plane. Packets arrive singly or in
    /// bursts.
    #[test]
    fn packets_leave_as_from_the_queue_of_the_data_plane(
        steps in prop::collection::vec((1_u64..400, prop_oneof![1 => Just(0_u64), 4 => 50_u64..5000]), 1..8),
        sends in prop::collection::vec(0_u64..2000, 1..30),
    ) {
        let (mut changes, mut flows, mut now) = (String::new(), String::new(), 0);
        let mut line = Vec::new();
        for (gap, kbps) in steps {
            now += gap;
            write!(changes, "{{ at = '{now} ms', capacity = '{kbps} kb/s' }},").unwrap();
            line.push((Time::ZERO + Duration::from_ms(now), Rate::new(kbps as f64 * 1e3).unwrap()));
        }
        write!(changes, "{{ at = '{} ms', capacity = '1 Mb/s' }}", now + 1).unwrap();
        line.push((Time::ZERO + Duration::from_ms(now + 1), Rate::new(1e6).unwrap()));
        let mut sends = sends;
        sends.sort_unstable();
        for (i, at) in sends.iter().enumerate() {
            let more = format!("size = '1000 B'\nreliable = false\nstart = '{at} ms'");
            flows += &flow(&format!("x{i}"), "{ cbr = { rate = '30 Mb/s' } }", &more);
        }
        let found = over(&changes, "", &flows);

        let mut fifo = Fifo::new(Rate::new(10e6), Buffer::Unlimited);
        let (mut left, mut line) = (vec![Time::ZERO; sends.len()], line.into_iter().peekable());
        let mut advance = |fifo: &mut Fifo<usize>, until: Time| {
            while let Some((at, rate)) = line.next_if(|&(at, _)| at <= until) {
                while let Some(departure) = fifo.poll_output(at) {
                    left[departure.packet] = departure.at;
                }
                fifo.set_rate(at, Some(rate));
            }
            while let Some(departure) = fifo.poll_output(until) {
                left[departure.packet] = departure.at;
            }
        };
        for (i, &at) in sends.iter().enumerate() {
            let at = Time::ZERO + Duration::from_ms(at);
            advance(&mut fifo, at);
            fifo.handle_input(at, Bytes::new(1000), i).unwrap();
        }
        advance(&mut fifo, Time::ZERO + Duration::from_secs(20));
        let (who, took) = (column(&found.completions, "flow"), column(&found.completions, "fct_s"));
        prop_assert_eq!(who.len(), sends.len());
        for (&i, took) in who.iter().zip(took) {
            let expected = left[i as usize].as_secs_f64() + 0.005 - sends[i as usize] as f64 * 1e-3;
            prop_assert!((took - expected).abs() < 1e-9, "packet {i}: {took} is not {expected}");
        }
    }
}

/// The packet in service may end its transmission at the same time as without the change.
#[test]
fn a_change_that_ends_a_transmission_when_it_would_have_ended_is_one_end() {
    let there_and_back = "{ at = '100.1 ms', capacity = '5 Mb/s' }, { at = '100.3 ms', capacity = '12 Mb/s' }";
    for changes in ["{ at = '100.1 ms', capacity = '10000000.001 b/s' }", there_and_back] {
        let once = "size = '1000 B'\npacket = '1000 B'\nreliable = false\nstart = '100 ms'";
        assert_eq!(
            over(changes, "", &flow("x", OVERLOAD, once)).summary.flows[0].delivered_packets,
            1
        );
    }
}

// **Invariant** (The engine): a link of variable capacity transmits the integral of its capacity. Its departure times
// equal the departure times of the queue in the data plane. Changes of capacity are events. If a change postpones the
// end of a transmission, the pending event becomes stale. See `packets_leave_as_from_the_queue_of_the_data_plane`.
/// The link is always busy. It transmits the integral of its capacity through steps, a ramp and an outage.
#[test]
fn a_line_carries_the_integral_of_its_capacity() {
    let changes = "{ at = '4 s', capacity = '2 Mb/s' }, { at = '8 s', capacity = '6 Mb/s', over = '4 s' }, \
                   { at = '14 s', capacity = '0 b/s' }, { at = '15 s', capacity = '20 Mb/s' }";
    let found = over(changes, "buffer = '50 packets'", &flow("x", OVERLOAD, ""));
    let link = &found.summary.links[0];
    let ramp = 4.0 * (2.0 + 4.0 * 0.495); // a ramp of 100 steps, where each step has the capacity at its end
    let expected = 1e6 * (4.0 * 10.0 + 4.0 * 2.0 + ramp + 2.0 * 6.0 + 5.0 * 20.0);
    let sent = (link.arrived_bytes - link.dropped_bytes) as f64 * 8.0;
    assert_close(sent, expected, 0.004); // 50 packets are queued at the end
    assert!((0.996..=1.0).contains(&link.utilisation), "{}", link.utilisation);
    let outage = series(&found.links, "link", 0, "throughput_bps", 14.01);
    assert!(outage[..98].iter().all(|&rate| rate == 0.0));
}

/// A queue of 25 packets of 1000 bytes causes a delay of 20 ms at 10 Mb/s, and 100 ms at 2 Mb/s.
#[test]
fn waits_are_those_at_the_capacity_of_their_time() {
    let changes = "{ at = '10 s', capacity = '2 Mb/s' }";
    let found = over(
        changes,
        "buffer = '25 packets'",
        &flow("x", OVERLOAD, "packet = '1000 B'"),
    );
    let wait = found.summary.links[0].queueing_delay_s.as_ref().unwrap();
    // Five of six packets depart in the first half. Each packet waits for 24 other packets and for the remaining part
    // of the packet in service.
    assert_close(wait.p50, 0.0195, 0.03);
    assert_close(wait.p90, 0.0975, 0.03);
}

/// A change to the current values affects only the implementation of the link, not the results. Results of XCP and RCP
/// would differ, because these laws read the queue at the exact time of a departure.
#[test]
fn a_change_that_changes_nothing_is_none() {
    for law in ["'jetmax'", "'level'"] {
        let flows = [flow("x", law, ""), flow("y", law, "start = '3 s'\nrtt = '80 ms'")].concat();
        let [same, none] = ["{ at = '5 s', capacity = '10 Mb/s', delay = '5 ms' }", ""]
            .map(|changes| over(changes, "buffer = '30 packets'", &flows))
            .map(|run| format!("{:?} {:?}", run.flows, run.links));
        assert!(same == none, "{law}");
    }
}

/// Laws converge to the new equilibrium after a capacity step and after an outage. Their routers are either notified of
/// the capacity or measure it.
#[test]
fn routers_learn_of_a_change() {
    let changes = "{ at = '6 s', capacity = '4 Mb/s' }, { at = '13 s', capacity = '0 b/s' }, \
                   { at = '13.2 s', capacity = '8 Mb/s' }";
    for (law, target) in [
        ("jetmax", 1.0),
        ("level", 0.95),
        ("emkc", 1.0),
        ("xcp", 1.0),
        ("maxnet", 0.9),
    ] {
        for measured in ["false", "true"] {
            let flows = ["x", "y"].map(|name| flow(name, &format!("'{law}'"), "")).concat();
            let found = over(
                changes,
                &format!("measured = {measured}, buffer = '400 packets'"),
                &flows,
            );
            for (from, to, capacity) in [(11.5, 13.0, 4e6), (18.0, 20.0, 8e6)] {
                let load = series(&found.links, "link", 0, "throughput_bps", from);
                let window = &load[..((to - from) * 100.0) as usize];
                let share = mean(window) / (target * capacity);
                assert!(
                    (0.95..1.05).contains(&share),
                    "{law}, measured = {measured}: {share} at {from} s"
                );
            }
        }
    }
}

/// Packets keep their order when the path becomes shorter.
#[test]
fn no_packet_overtakes_another() {
    let changes = "{ at = '5 s', delay = '200 ms' }, { at = '10 s', delay = '1 ms' }";
    let found = over(changes, "", &flow("x", "'newreno'", "size = '10 MB'\nstart = '4 s'"));
    assert_eq!(column(&found.completions, "retransmitted"), [0.0]);
}
