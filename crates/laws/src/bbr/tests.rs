use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use super::{Bbr, Params, Sender};
use crate::Law;
use crate::testing::{Network, at, both, close};
use crate::{Delivery, Feedback, FlowInfo, Kind, Loss, NoHeader, Parameters, SenderLaw};

const SIZE: Bytes = Bytes::new(1000);

fn defaults() -> Params {
    let values: Vec<f64> = Bbr::INFO.params.iter().map(|row| row.default).collect();
    Params::read(&values).unwrap()
}

fn sender(params: &Params) -> Sender {
    Sender::new(params, &FlowInfo::of(SIZE))
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value).unwrap()
}

/// Returns a flow over a link of `capacity` packets per second with propagation delay `delay`, in seconds.
fn path(capacity: f64, delay: f64) -> Network<Bbr> {
    let mut path = Network::new(both(&[]), &[1.0]);
    path.ports[0].line = line(capacity);
    let flow = path.flow(SIZE, &[0], Duration::ZERO, Time::ZERO);
    flow.back = seconds(delay);
    path
}

fn line(capacity: f64) -> Option<Rate> {
    Rate::new(capacity * SIZE.as_bits_f64())
}

/// Verifies that the phase with gain 1.25 adds at most a quarter of a bandwidth-delay product to the queue. The next
/// phase drains the queue.
#[test]
fn a_pipe_is_filled_and_its_queue_stays_short() {
    for (capacity, delay) in [(1250.0, 0.04), (1e4, 0.1), (100.0, 0.2)] {
        let mut path = path(capacity, delay);
        path.run(at(5.0));
        let (before, mut most, mut least) = (path.flows[0].delivered, 0.0_f64, f64::MAX);
        path.watch(at(9.9), |path| {
            most = most.max(path.ports[0].queue() as f64);
            least = least.min(path.ports[0].queue() as f64);
            close(path.flows[0].sender.path.bandwidth, capacity, 0.01);
        });
        close(f64::from(path.flows[0].delivered - before) / 4.9, capacity, 0.02);
        assert!(most < 0.25 * capacity * delay + 3.0, "{most} packets wait");
        assert!(least < 2.0, "the queue never empties: {least}");
        close(path.flows[0].sender.path.rtt, delay, 1e-9);
    }
}

/// Verifies that the rate doubles per round trip at a pacing gain of 4 ln 2. Packets acknowledged in the last round
/// trip were sent one to two round trips ago. Their mean rate was `(1/2 - 1/4) / ln 2`, i.e. `1 / (4 ln 2)`, times the
/// current rate.
#[test]
fn the_rate_doubles_per_round_trip_until_the_pipe_is_full() {
    let delay = 0.1;
    let mut path = path(1e7, delay);
    let mut rates = Vec::new();
    for round in 1..=12 {
        path.run(at(delay * f64::from(1 + round)));
        rates.push(path.flows[0].rate());
    }
    close(rates[10] / rates[9], 2.0, 0.03);
    close(rates[11] / rates[10], 2.0, 0.03);
}

#[test]
fn four_packets_measure_a_round_trip_time_that_is_ten_seconds_old() {
    let mut path = path(1250.0, 0.04);
    let mut probes: Vec<(f64, f64)> = Vec::new();
    let mut see = |path: &Network<Bbr>| {
        let now = path.now.as_secs_f64();
        match probes.last_mut() {
            _ if path.flows[0].sender.window() > 4 => {}
            Some(probe) if now - probe.1 < 0.1 => probe.1 = now,
            _ => probes.push((now, now)),
        }
    };
    // The handshake has a lower delay than all data packets before the first ProbeRTT. After the first ProbeRTT, the
    // queue drains in each cycle, and the smallest round-trip time is measured again.
    path.watch(at(20.0), &mut see);
    path.flows[0].back = seconds(0.08);
    path.watch(at(35.0), &mut see);
    assert_eq!(probes.len(), 2, "{probes:?}");
    let cycle = 8.0 * 0.05;
    for ((from, to), expected) in probes.iter().zip([10.04, 30.0]) {
        assert!(from - expected > -cycle && from - expected < 0.1, "{probes:?}");
        // The number of packets in flight falls to the window within a round trip. ProbeRTT then takes 200 ms, and ends
        // at the next ACK.
        assert!(to - from > 0.2 && to - from < 0.2 + 2.0 * 0.09, "{probes:?}");
    }
}

#[test]
fn a_slower_link_and_a_longer_path_are_noticed() {
    let mut path = path(1250.0, 0.04);
    path.run(at(5.0));
    path.ports[0].line = line(500.0);
    path.run(at(8.0));
    close(path.flows[0].sender.path.bandwidth, 500.0, 0.02);
    path.flows[0].back = seconds(0.08);
    path.run(at(30.0));
    close(path.flows[0].sender.path.rtt, 0.08 + 1.0 / 500.0, 0.05);
    let before = path.flows[0].delivered;
    path.run(at(39.0));
    close(f64::from(path.flows[0].delivered - before) / 9.0, 500.0, 0.05);
}

/// Verifies Cardwell et al. 2016: random losses below the probing gain do not reduce the sending rate.
#[test]
fn losses_do_not_change_the_rate() {
    for loses in [1000, 100, 20] {
        let mut path = path(1250.0, 0.04).losing(move |number, _| number % loses == loses - 1);
        path.run(at(2.0));
        let before = path.flows[0].delivered;
        path.run(at(10.0));
        let goodput = f64::from(path.flows[0].delivered - before) / 8.0;
        close(goodput, 1250.0, 0.03 + 1.0 / f64::from(loses));
    }
}

#[test]
fn a_timeout_leaves_one_packet_until_something_arrives() {
    let mut path = path(1250.0, 0.04);
    path.run(at(2.0));
    let (now, params, flow) = (path.now, &path.params, &mut path.flows[0]);
    let window = flow.sender.window();
    flow.sender.on_timeout(params, now, flow.next);
    assert_eq!(flow.sender.window(), 1);
    let ack = Feedback::plain(flow.next, Kind::Data, seconds(0.04), NoHeader);
    flow.sender.on_feedback(params, now, &ack);
    assert_eq!(flow.sender.window(), window);
}

#[test]
fn any_measurement_keeps_rate_and_window_alive() {
    let ack = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    let inputs = proptest::collection::vec((0_u8..4, ack), 0..60);
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(inputs in inputs)| {
        let params = defaults();
        let mut sender = sender(&params);
        for (what, (number, a, b, time, interval)) in inputs {
            let now = Time::from_ps(time);
            match what {
                0 => sender.on_loss(&params, now, &Loss { number, next: a, outstanding: b }),
                1 => sender.on_timeout(&params, now, number),
                _ => {
                    let delivery = Some(Delivery { total: a, prior: b, interval: Duration::from_ps(interval), app_limited: time % 2 == 0 });
                    let plain = Feedback::plain(number, Kind::Data, Duration::from_ps(interval), NoHeader);
                    sender.on_feedback(&params, now, &Feedback { delivery, acked: a, outstanding: b, ..plain });
                }
            }
            prop_assert!(sender.rate().bps() > 0.0 && sender.rate().bps().is_finite());
            prop_assert!(sender.window() > 0);
        }
    });
}
