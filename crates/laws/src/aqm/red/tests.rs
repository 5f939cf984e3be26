use std::vec::Vec;

use levelflow_units::{Bytes, Rate, Time};

use super::{Red, RedParams};
use crate::aqm::{Queue, Verdict};
use crate::params::ParamError;
use crate::{Arriving, Parameters, PortInfo};

const PACKET: Bytes = Bytes::new(1000);
/// Capacity in bit/s. The transmission time of a packet is 1 ms.
const CAPACITY: f64 = 8e6;

fn try_params(changes: &[(&str, f64)]) -> Result<RedParams, ParamError> {
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let values: Vec<f64> = RedParams::TABLE
        .iter()
        .map(|row| value(row.name).unwrap_or(row.default))
        .collect();
    RedParams::read(&values)
}

fn params(changes: &[(&str, f64)]) -> RedParams {
    try_params(changes).unwrap()
}

fn red(params: &RedParams) -> Red {
    let capacity = Rate::new(CAPACITY).unwrap();
    Red::new(params, &PortInfo { id: 1, capacity })
}

fn found(packets: u32, ms: u64) -> Arriving {
    Arriving {
        now: Time::from_ps(ms * 1_000_000_000),
        size: PACKET,
        queue: Bytes::new(u64::from(packets) * PACKET.get()),
        packets,
    }
}

fn close(measured: f64, expected: f64) {
    assert!(
        (measured - expected).abs() <= 1e-12 * expected.abs(),
        "{measured}, expected {expected}"
    );
}

#[test]
fn the_average_follows_a_step_of_the_queue() {
    let params = params(&[]);
    let mut red = red(&params);
    for n in 1..=1000 {
        red.on_arrival(&params, &found(40, 0), 0.999);
        close(red.signal(), 40.0 * (1.0 - 0.998_f64.powi(n)));
    }
}

#[test]
fn the_average_shrinks_once_per_packet_that_could_have_been_sent_while_idle() {
    let params = params(&[("weight", 0.1)]);
    let mut red = red(&params);
    red.on_arrival(&params, &found(0, 0), 0.5);
    red.on_arrival(&params, &found(1, 0), 0.5);
    close(red.signal(), 0.1);
    // The port has sent two packets by 2 ms, and could have sent ten more packets by 12 ms. The arrival at the empty
    // queue adds another decay.
    red.on_arrival(&params, &found(0, 12), 0.5);
    close(red.signal(), 0.1 * 0.9_f64.powi(11));
    // The port has sent the new packet by 13 ms.
    red.on_arrival(&params, &found(0, 13), 0.5);
    close(red.signal(), 0.1 * 0.9_f64.powi(12));
}

#[test]
fn a_packet_that_was_dropped_instead_of_marked_does_not_lengthen_the_busy_time_for_good() {
    let params = params(&[("weight", 0.1)]);
    let mut red = red(&params);
    red.on_arrival(&params, &found(0, 0), 0.5);
    // Three packets arrive at the same time. Each arrival finds a backlog of one packet, because the queue drops all
    // three packets.
    for _ in 0..3 {
        red.on_arrival(&params, &found(1, 0), 0.5);
    }
    let before = red.signal();
    red.on_arrival(&params, &found(0, 12), 0.5);
    close(red.signal(), before * 0.9_f64.powi(11));
}

#[test]
fn the_probability_is_that_of_the_papers() {
    let gentle = params(&[]);
    for (average, p_b) in [
        (0.0, 0.0),
        (4.999, 0.0),
        (5.0, 0.0),
        (7.5, 0.025),
        (10.0, 0.05),
        (15.0, 0.1),
        (22.5, 0.55),
        (30.0, 1.0),
        (1e6, 1.0),
    ] {
        close(gentle.probability(average), p_b);
    }
    let steep = params(&[("gentle", 0.0)]);
    close(steep.probability(14.5), 0.095);
    close(steep.probability(15.0), 1.0);
}

/// Verifies that the marking probability of packet `n` after a mark is `1 / (m + 1 - n)`. This is the hazard rate of a
/// uniform distribution on `1, ..., m`.
#[test]
fn distances_from_mark_to_mark_are_uniform() {
    // The average is the queue of 5 packets. Therefore p_b = 0.1 * 5 / 10 = 1/20.
    let params = params(&[("weight", 1.0), ("min", 0.0), ("max", 10.0)]);
    let mut red = red(&params);
    for _ in 0..3 {
        for n in 1..20 {
            let hazard = 1.0 / f64::from(21 - n);
            let mark = red.clone().on_arrival(&params, &found(5, 0), hazard - 1e-12);
            assert_eq!(mark, Verdict::Notify, "packet {n}");
            let pass = red.on_arrival(&params, &found(5, 0), hazard + 1e-12);
            assert_eq!(pass, Verdict::Pass, "packet {n}");
        }
        assert_eq!(red.on_arrival(&params, &found(5, 0), 1.0 - 1e-12), Verdict::Notify);
    }
}

#[test]
fn packets_below_min_end_a_count() {
    let params = params(&[("weight", 1.0), ("min", 1.0), ("max", 11.0)]);
    let mut red = red(&params);
    for _ in 0..10 {
        assert_eq!(red.on_arrival(&params, &found(6, 0), 0.9), Verdict::Pass);
    }
    assert_eq!(red.on_arrival(&params, &found(0, 0), 0.0), Verdict::Pass);
    assert_eq!(red.on_arrival(&params, &found(6, 0), 0.05 + 1e-12), Verdict::Pass);
}

#[test]
fn equal_thresholds_and_weight_1_make_a_step() {
    let params = params(&[("weight", 1.0), ("min", 20.0), ("max", 20.0)]);
    let mut red = red(&params);
    for queue in [0, 19, 20, 21, 19, 1000, 5, 20, 0] {
        for draw in [0.0, 0.5, 1.0 - 1e-12] {
            let expected = if queue >= 20 { Verdict::Notify } else { Verdict::Pass };
            assert_eq!(red.on_arrival(&params, &found(queue, 0), draw), expected, "{queue}");
        }
    }
}

#[test]
fn a_max_below_min_is_refused() {
    let refused = try_params(&[("min", 16.0)]).unwrap_err();
    assert_eq!(
        (refused.name, std::format!("{refused}")),
        ("max", "must be at least min".into())
    );
}
