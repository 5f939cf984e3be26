use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate};

use super::{Rem, RemParams};
use crate::aqm::{Queue, Verdict};
use crate::{Arriving, Parameters, PortInfo, PortView};

fn params() -> RemParams {
    let values: Vec<f64> = RemParams::TABLE.iter().map(|row| row.default).collect();
    RemParams::read(&values).unwrap()
}

fn rem(params: &RemParams) -> Rem {
    let port = PortInfo {
        id: 1,
        capacity: Rate::ZERO,
    };
    Rem::new(params, &port)
}

fn tick(rem: &mut Rem, params: &RemParams, packets: u32) {
    let view = PortView {
        packets,
        ..PortView::IDLE
    };
    rem.on_interval(params, params.interval, &view);
}

fn verdict(rem: &mut Rem, params: &RemParams, draw: f64) -> Verdict {
    rem.on_arrival(params, &Arriving::alone(Bytes::new(1000)), draw)
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

#[test]
fn the_price_is_that_of_the_paper() {
    let params = params();
    assert_eq!(Rem::interval(&params), Some(Duration::from_ms(2)));
    let mut rem = rem(&params);
    // Increments: 0.001 (0.1 (70 - 50) + 70 - 0), then 0.001 * 0.1 (70 - 50), then 0.001 (0.1 (65 - 50) + 65 - 70).
    for (queue, price) in [(70, 0.072), (70, 0.074), (65, 0.0705)] {
        tick(&mut rem, &params, queue);
        close(rem.signal(), price, 1e-15);
    }
    // Increments: 0.001 (0.1 (0 - 50) + 0 - 65), then 0.001 * 0.1 (0 - 50). The second would make the price negative.
    tick(&mut rem, &params, 0);
    close(rem.signal(), 0.0005, 1e-15);
    tick(&mut rem, &params, 0);
    close(rem.signal(), 0.0, 0.0);
}

#[test]
fn the_probability_is_1_minus_phi_to_the_minus_price() {
    let params = params();
    let mut rem = rem(&params);
    tick(&mut rem, &params, 1_000_000);
    // 0.001 (0.1 * 999950 + 1000000) = 1099.995; ln 1.001 = 9.995003330835334e-4.
    let p = 1.0 - (-1099.995 * 9.995_003_330_835_334e-4_f64).exp();
    close(rem.signal(), 1099.995, 1e-9);
    assert_eq!(verdict(&mut rem, &params, p - 1e-9), Verdict::Notify);
    assert_eq!(verdict(&mut rem, &params, p + 1e-9), Verdict::Pass);
}

#[test]
fn a_queue_at_its_target_keeps_its_price() {
    let params = params();
    let mut rem = rem(&params);
    [80, 50].into_iter().for_each(|queue| tick(&mut rem, &params, queue));
    let price = rem.signal();
    (0..1000).for_each(|_| tick(&mut rem, &params, 50));
    close(rem.signal(), price, 0.0);
}

/// Verifies the equilibrium of a closed loop. The rate of the senders is TCP-like, `x = c sqrt(p_0 / p)`. The link
/// sends `c` packets per second, and the queue limit is 200 packets. In equilibrium, the queue is `b*` and the price is
/// `-ln(1 - p_0) / ln phi`.
#[test]
fn in_a_closed_loop_the_queue_is_the_target() {
    let params = params();
    let mut rem = rem(&params);
    let (c, p_0, dt) = (1250.0, 0.02, params.interval.as_secs_f64());
    let (mut queue, mut sum) = (0.0_f64, 0.0);
    const STEPS: u32 = 100_000;
    for step in 0..STEPS {
        let x = c * (p_0 / rem.probability.max(p_0 / 4.0)).sqrt();
        queue = (queue + (x - c) * dt).clamp(0.0, 200.0);
        tick(&mut rem, &params, queue.round() as u32);
        if step >= STEPS / 2 {
            sum += queue;
        }
    }
    close(sum / f64::from(STEPS / 2), 50.0, 0.5);
    let price = -(1.0 - p_0).ln() / params.phi.ln();
    close(rem.signal(), price, 0.01 * price);
}
