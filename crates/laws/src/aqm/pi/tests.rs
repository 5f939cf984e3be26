use std::vec::Vec;

use levelflow_units::{Bytes, Rate};

use super::{Pi, PiParams};
use crate::aqm::{Queue, Verdict};
use crate::params::ParamError;
use crate::{Arriving, Parameters, PortInfo, PortView};

fn try_params(changes: &[(&str, f64)]) -> Result<PiParams, ParamError> {
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let values: Vec<f64> = PiParams::TABLE
        .iter()
        .map(|row| value(row.name).unwrap_or(row.default))
        .collect();
    PiParams::read(&values)
}

fn pi(params: &PiParams) -> Pi {
    let port = PortInfo {
        id: 1,
        capacity: Rate::ZERO,
    };
    Pi::new(params, &port)
}

fn tick(pi: &mut Pi, params: &PiParams, packets: u32) {
    let view = PortView {
        packets,
        ..PortView::IDLE
    };
    pi.on_interval(params, params.interval, &view);
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

/// Verifies the gains of `C(s) = 9.64e-6 (1 + s/0.53) / s`, the design in section IV of the paper, to four digits.
#[test]
fn the_defaults_are_the_papers_controller_sampled_at_160_hz() {
    let params = try_params(&[]).unwrap();
    let (k, z, t) = (9.64e-6, 0.53, 1.0 / 160.0);
    close(params.interval.as_secs_f64(), t, 1e-12);
    close(params.a, k / z + k * t / 2.0, 0.5e-8);
    close(params.b, k / z - k * t / 2.0, 0.5e-8);
}

/// Verifies the response to a step from an empty queue to `q_ref + e`. `p` jumps by `a e + b q_ref`, and then grows by
/// `(a - b) e` per interval.
#[test]
fn a_step_gives_a_jump_and_a_ramp() {
    let params = try_params(&[]).unwrap();
    let mut pi = pi(&params);
    for n in 0..1000 {
        tick(&mut pi, &params, 150);
        let jump = 1.822e-5 * 100.0 + 1.816e-5 * 50.0;
        close(pi.signal(), jump + f64::from(n) * 0.006e-5 * 100.0, 1e-12);
    }
    // When the queue returns to the target, `p` falls by `b e`. The growth of the earlier intervals remains.
    tick(&mut pi, &params, 50);
    let ramp = 999.0 * 0.006e-5 * 100.0;
    close(
        pi.signal(),
        1.822e-5 * 100.0 + 1.816e-5 * 50.0 + ramp - 1.816e-5 * 100.0,
        1e-12,
    );
}

#[test]
fn the_probability_stays_between_0_and_1() {
    let params = try_params(&[("a", 0.01), ("b", 0.009)]).unwrap();
    let mut pi = pi(&params);
    tick(&mut pi, &params, 10);
    close(pi.signal(), 0.05, 1e-15);
    tick(&mut pi, &params, 0);
    close(pi.signal(), 0.0, 0.0);
    (0..10).for_each(|_| tick(&mut pi, &params, 1000));
    close(pi.signal(), 1.0, 0.0);
    let packet = Arriving::alone(Bytes::new(1000));
    assert_eq!(pi.on_arrival(&params, &packet, 1.0 - 1e-16), Verdict::Notify);
    // The first interval at the target subtracts 0.009 (1000 - 50), and the second interval subtracts 0.
    (0..2).for_each(|_| tick(&mut pi, &params, 50));
    close(pi.signal(), 0.0, 0.0);
    assert_eq!(pi.on_arrival(&params, &packet, 0.0), Verdict::Pass);
}

#[test]
fn packets_are_marked_with_the_probability() {
    let params = try_params(&[]).unwrap();
    let mut pi = pi(&params);
    tick(&mut pi, &params, 5050);
    let packet = Arriving::alone(Bytes::new(1000));
    let p = 1.822e-5 * 5000.0 + 1.816e-5 * 50.0;
    assert_eq!(pi.on_arrival(&params, &packet, p - 1e-12), Verdict::Notify);
    assert_eq!(pi.on_arrival(&params, &packet, p + 1e-12), Verdict::Pass);
}

/// Verifies the equilibrium of a closed loop at the operating point of the paper. The rate of the senders is TCP-like,
/// `x = c sqrt(p_0 / p)`. In equilibrium, the queue is `q_ref` and `p = p_0`.
#[test]
fn in_a_closed_loop_the_queue_is_the_target() {
    let params = try_params(&[]).unwrap();
    let mut pi = pi(&params);
    let (c, p_0, dt) = (3750.0, 0.005, params.interval.as_secs_f64());
    let (mut queue, mut sum) = (0.0_f64, 0.0);
    const STEPS: u32 = 100_000;
    for step in 0..STEPS {
        let x = c * (p_0 / pi.signal().max(p_0 / 4.0)).sqrt();
        queue = (queue + (x - c) * dt).clamp(0.0, 800.0);
        tick(&mut pi, &params, queue.round() as u32);
        if step >= STEPS / 2 {
            sum += queue;
        }
    }
    close(sum / f64::from(STEPS / 2), 50.0, 0.5);
    close(pi.signal(), p_0, 0.02 * p_0);
}

#[test]
fn gains_that_would_integrate_the_wrong_way_are_refused() {
    for (a, b) in [(1e-5, 1e-5), (1e-5, 2e-5)] {
        assert_eq!(try_params(&[("a", a), ("b", b)]).unwrap_err().name, "a");
    }
}
