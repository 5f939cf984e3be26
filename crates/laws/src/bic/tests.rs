use super::{Bic, BicState};
use crate::Law;
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{Variant, Window};
use crate::{ParamError, Parameters};

/// Returns the state of a sender that lost a packet at window `max`.
fn after_loss(max: f64) -> BicState {
    let own = params::<BicState>(&[]).own;
    let mut state = BicState::default();
    state.reduce(&own, &loss(0.0, 0.1, max));
    state
}

/// Returns the growth per round trip at window `size`.
fn step(state: &mut BicState, size: f64) -> f64 {
    let mut window = Window { size, ssthresh: 2.0 };
    state.avoid(&params::<BicState>(&[]).own, &ack(0.0, 0.1), &mut window);
    (window.size - size) * size
}

#[test]
fn a_step_goes_half_the_way_within_its_limits() {
    let mut state = after_loss(200.0);
    close(step(&mut state, 100.0), 32.0, 1e-9);
    close(step(&mut state, 160.0), 20.0, 1e-9);
    close(step(&mut state, 199.99), 0.01, 1e-9);
    close(step(&mut state, 10.0), 1.0, 1e-9);
    let mut fresh = BicState::default();
    close(step(&mut fresh, 100.0), 32.0, 1e-9);
}

#[test]
fn beyond_the_maximum_steps_double_up_to_the_largest() {
    let mut state = after_loss(200.0);
    for (window, expected) in [
        (200.0, 1.0),
        (200.5, 1.0),
        (201.0, 2.0),
        (203.0, 4.0),
        (206.0, 4.0),
        (207.0, 8.0),
        (215.0, 16.0),
        (231.0, 32.0),
        (263.0, 32.0),
    ] {
        close(step(&mut state, window), expected, 1e-9);
    }
}

#[test]
fn a_loss_takes_an_eighth_and_a_lower_maximum_is_lowered_again() {
    let own = params::<BicState>(&[]).own;
    let mut state = BicState::default();
    close(state.reduce(&own, &loss(0.0, 0.1, 200.0)), 175.0, 1e-9);
    close(state.max, 200.0, 0.0);
    close(state.reduce(&own, &loss(1.0, 0.1, 160.0)), 140.0, 1e-9);
    close(state.max, 150.0, 1e-9);
    close(state.reduce(&own, &loss(2.0, 0.1, 170.0)), 148.75, 1e-9);
    close(state.max, 170.0, 1e-9);
    close(state.reduce(&own, &loss(3.0, 0.1, 12.0)), 6.0, 0.0);
}

/// Verifies that the window covers half the distance to `W_max` per round trip. Each ACK is a small step, so `dW/dt =
/// (W_max - W) / 2R`, where `R` is the round-trip time.
#[test]
fn the_window_approaches_the_maximum_exponentially() {
    let changes = [("initial_window", 970.0), ("slow_start", 0.0)];
    let mut path = Path::<BicState>::open(&changes, 1e9, 0.1);
    *path.variant_mut() = after_loss(1000.0);
    for rounds in 1..6 {
        path.run(at(0.15 + 0.1 * f64::from(rounds)));
        let expected = 1000.0 - 30.0 * (-f64::from(rounds) / 2.0).exp();
        close(path.window(), expected, 0.3);
    }
}

#[test]
fn a_smallest_step_above_the_largest_is_refused() {
    let values = Bic::INFO.params.iter().map(|row| match row.name {
        "s_min" => 50.0,
        _ => row.default,
    });
    let values: std::vec::Vec<f64> = values.collect();
    assert!(matches!(
        crate::tcp::TcpParams::<super::Params>::read(&values),
        Err(ParamError { name: "s_min", .. })
    ));
}
