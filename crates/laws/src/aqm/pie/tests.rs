use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate};

use super::{Pie, PieParams};
use crate::aqm::{Queue, Verdict};
use crate::{Arriving, Parameters, PortInfo, PortView};

fn params(ecn: bool) -> PieParams {
    let value = |name, default| {
        if name == "ecn" {
            f64::from(u8::from(ecn))
        } else {
            default
        }
    };
    let values: Vec<f64> = PieParams::TABLE
        .iter()
        .map(|row| value(row.name, row.default))
        .collect();
    PieParams::read(&values).unwrap()
}

/// Returns PIE at 8 Mb/s. At this capacity, a packet of 1000 bytes takes a millisecond.
fn pie(params: &PieParams) -> Pie {
    let capacity = Rate::clamped(8e6);
    let mut pie = Pie::new(params, &PortInfo { id: 1, capacity });
    pie.on_arrival(params, &Arriving::alone(Bytes::new(1000)), 0.5);
    pie
}

/// Ends an interval with a queueing delay of `delay_ms`.
fn tick(pie: &mut Pie, params: &PieParams, delay_ms: u64) {
    let packets = delay_ms as u32;
    let port = PortView {
        queue: Bytes::new(delay_ms * 1000),
        packets,
        ..PortView::IDLE
    };
    pie.on_interval(params, params.interval, &port);
}

fn arrive(pie: &mut Pie, params: &PieParams, waiting: u64, draw: f64) -> Verdict {
    let packet = Arriving {
        queue: Bytes::new(waiting * 1000),
        packets: waiting as u32,
        ..Arriving::alone(Bytes::new(1000))
    };
    pie.on_arrival(params, &packet, draw)
}

/// Verifies updates after a step of the delay from 0 to 35 ms. The first update adds 0.125 (alpha) times 20 ms and 1.25
/// (beta) times 35 ms. Later updates add only the first term. The scale of a change depends on the previous probability
/// (section 4.2).
#[test]
fn the_probability_moves_as_in_section_4_2() {
    let params = params(false);
    let mut pie = pie(&params);
    let (mut expected, mut before) = (0.0, 0.0);
    for _ in 0..2000 {
        tick(&mut pie, &params, 35);
        let scale = match expected {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        expected += (0.125 * 0.02 + 1.25 * (0.035 - before)) / scale;
        before = 0.035;
        let expected = f64::min(expected, 1.0);
        assert!((pie.signal() - expected).abs() < 1e-12, "{} {expected}", pie.signal());
    }
    assert!(pie.signal() > 0.5);
}

/// Verifies that, without a queue, the probability decays by 2 % per interval, in addition to the change of the
/// controller.
#[test]
fn without_a_queue_the_probability_decays() {
    let params = params(false);
    let mut pie = pie(&params);
    pie.probability = 0.5;
    tick(&mut pie, &params, 0);
    assert!((pie.signal() - (0.5 - 0.125 * 0.015) * 0.98).abs() < 1e-12);
}

/// Verifies that a delay above 250 ms adds 0.02 to the probability per update. If the probability is at least 0.1, a
/// jump of the delay adds at most 0.02.
#[test]
fn steps_are_bounded_where_the_probability_is_large() {
    let params = params(false);
    let mut pie = pie(&params);
    (pie.probability, pie.delay) = (0.2, 0.02);
    tick(&mut pie, &params, 100);
    assert!((pie.signal() - 0.22).abs() < 1e-12);
    (pie.probability, pie.delay) = (0.0, 0.3);
    tick(&mut pie, &params, 300);
    assert!((pie.signal() - (0.02 + 0.125 * 0.285 / 2048.0)).abs() < 1e-12);
}

/// Verifies that, after an interval without a queue, a burst passes for 150 ms (ten intervals).
#[test]
fn a_burst_passes_after_a_quiet_time() {
    let params = params(false);
    let mut pie = pie(&params);
    tick(&mut pie, &params, 0);
    let mut passed = 0;
    while arrive(&mut pie, &params, 100, 0.0) == Verdict::Pass && passed < 1000 {
        tick(&mut pie, &params, 100);
        (pie.probability, pie.accumulated) = (0.5, 1.0);
        passed += 1;
    }
    assert_eq!(passed, 10);
}

/// Verifies that short queues and small delays prevent drops. Above a probability of 0.1, packets are dropped instead
/// of marked.
#[test]
fn few_packets_are_spared_and_marks_end() {
    let params = params(true);
    let mut pie = pie(&params);
    (pie.allowance, pie.delay, pie.probability, pie.accumulated) = (Duration::ZERO, 0.02, 0.05, 1.0);
    assert_eq!(arrive(&mut pie, &params, 2, 0.0), Verdict::Pass);
    assert_eq!(arrive(&mut pie, &params, 3, 0.0), Verdict::Notify);
    (pie.probability, pie.accumulated) = (0.15, 1.0);
    assert_eq!(arrive(&mut pie, &params, 3, 0.0), Verdict::Drop);
    (pie.delay, pie.accumulated) = (0.007, 1.0);
    assert_eq!(arrive(&mut pie, &params, 30, 0.0), Verdict::Pass);
    pie.probability = 0.25;
    assert_eq!(arrive(&mut pie, &params, 30, 0.0), Verdict::Drop);
}

/// Verifies that the probabilities between two drops sum to at least 0.85 and at most 8.5. With a probability of 1/16,
/// the first 13 packets after a drop pass. Each later packet is dropped with probability 1/16.
#[test]
fn drops_are_neither_close_nor_far() {
    let params = params(false);
    let mut pie = pie(&params);
    (pie.allowance, pie.delay, pie.probability) = (Duration::ZERO, 0.02, 0.0625);
    let mut stream = uniform_numbers(7);
    let (mut last, mut gaps) = (0, Vec::new());
    for n in 1..400_000_u32 {
        if arrive(&mut pie, &params, 30, stream()) != Verdict::Pass {
            gaps.push(n - last);
            last = n;
        }
    }
    assert!(gaps[1..].iter().all(|gap| (14..=136).contains(gap)));
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    assert!((mean - (13.0 + 16.0)).abs() < 0.7, "{mean}");
}

/// Returns a generator of uniform numbers on [0, 1) (linear congruential).
fn uniform_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Verifies that the probability stays finite on a link that is down. On this link, the queueing delay has no bound.
#[test]
fn a_dead_line_keeps_numbers() {
    let params = params(false);
    let mut pie = pie(&params);
    pie.on_capacity(&params, levelflow_units::Time::ZERO + Duration::from_ms(1), Rate::ZERO);
    tick(&mut pie, &params, 10);
    assert!(pie.signal().is_finite());
}
