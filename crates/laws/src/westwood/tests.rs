use super::WestwoodState;
use crate::reno::RenoState;
use crate::tcp::testing::{Path, ack, at, close, loss};
use crate::tcp::{AckEvent, Variant, Window};

/// Runs a round trip of 0.1 s that ends at `now`. `acked` packets are acknowledged in this round trip.
fn round(state: &mut WestwoodState, now: f64, acked: u32) {
    let mut window = Window {
        size: 10.0,
        ssthresh: 2.0,
    };
    let ack = AckEvent {
        acked,
        round: true,
        ..ack(now, 0.1)
    };
    state.on_ack(&(), &ack, &mut window);
}

#[test]
fn the_estimate_is_filtered_once_per_round_trip() {
    let mut state = WestwoodState::default();
    close(state.reduce(&(), &loss(0.0, 0.1, 20.0)), 10.0, 0.0);
    round(&mut state, 0.1, 1);
    round(&mut state, 0.2, 10);
    close(state.bandwidth, 100.0, 1e-9);
    for k in 0..20 {
        round(&mut state, 0.3 + 0.1 * f64::from(k), 50);
    }
    close(state.bandwidth, 500.0 - 400.0 * 0.875_f64.powi(20), 1e-6);
}

#[test]
fn a_loss_reduces_the_window_to_the_bdp_of_the_empty_path() {
    let state = WestwoodState {
        bandwidth: 400.0,
        ..WestwoodState::default()
    };
    let reduced = |window| {
        let mut state = state;
        state.reduce(&(), &loss(0.0, 0.1, window))
    };
    close(reduced(100.0), 40.0, 1e-9);
    close(reduced(30.0), 40.0, 1e-9);
}

fn delivered<V: Variant>() -> f64 {
    let mut state = 1_u32;
    let mut path = Path::<V>::open(&[("initial_ssthresh", 100.0)], 1000.0, 0.1).losing(move |_, _| {
        // One packet in 500 is lost on the wire (random number generator of Numerical Recipes).
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state < u32::MAX / 500
    });
    path.ports[0].buffer = 100;
    path.run(at(200.0));
    f64::from(path.flows[0].delivered) / 200.0
}

/// Verifies Grieco and Mascolo 2004, section 5: losses without a queue reduce the throughput of Reno much more than the
/// throughput of Westwood+.
#[test]
fn random_losses_leave_the_link_in_use() {
    let (westwood, reno) = (delivered::<WestwoodState>(), delivered::<RenoState>());
    assert!(westwood > 800.0, "{westwood} packets per second of 1000");
    // By the square-root law, Reno sends 27 packets per 0.1 s.
    assert!(reno < 400.0, "{reno}");
}
