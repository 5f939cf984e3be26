use super::{FastState, Params};
use crate::tcp::testing::{Path, ack, at, close};
use crate::tcp::{AckEvent, Rtt, Variant, Window};

const PARAMS: Params = Params {
    alpha: 20.0,
    gamma: 0.5,
};

fn round(rtt: f64) -> AckEvent {
    AckEvent {
        round: true,
        rtt: Rtt {
            last: rtt,
            smooth: rtt,
            min: 0.1,
        },
        ..ack(0.0, rtt)
    }
}

fn step(window: f64, rtt: f64) -> f64 {
    let mut state = FastState::default();
    let mut window = Window {
        size: window,
        ssthresh: 2.0,
    };
    state.on_ack(&PARAMS, &round(rtt), &mut window);
    state.avoid(&PARAMS, &round(rtt), &mut window);
    window.size
}

#[test]
fn a_step_is_that_of_the_paper() {
    close(step(100.0, 0.1), 110.0, 1e-12);
    close(step(100.0, 0.125), 0.5 * 100.0 + 0.5 * (80.0 + 20.0), 1e-12);
    close(step(100.0, 0.2), 0.5 * 100.0 + 0.5 * (50.0 + 20.0), 1e-12);
    close(step(5.0, 0.1), 10.0, 1e-12);
}

#[test]
fn the_average_spans_a_third_of_a_window() {
    let mut state = FastState::default();
    let mut window = Window {
        size: 300.0,
        ssthresh: 2.0,
    };
    state.on_ack(&PARAMS, &round(0.1), &mut window);
    (0..100).for_each(|_| state.on_ack(&PARAMS, &round(0.2), &mut window));
    close((state.average - 0.1) / 0.1, 1.0 - 0.99_f64.powi(100), 1e-9);
}

/// Verifies the fixed point `w (1 - baseRTT/RTT) = alpha`: on any path, `alpha` packets are queued.
#[test]
fn alpha_packets_wait() {
    for alpha in [5.0, 20.0, 200.0] {
        for (capacity, delay) in [(1000.0, 0.1), (5000.0, 0.02)] {
            let mut path = Path::<FastState>::open(&[("alpha", alpha)], capacity, delay);
            path.run(at(30.0));
            let before = path.flows[0].delivered;
            path.watch(at(60.0), |path| {
                // The packet in service is not queued.
                close(path.window() - capacity * delay - 1.0, alpha, 1.0);
                close(path.ports[0].queue() as f64, alpha, 2.0);
            });
            close(
                f64::from(path.flows[0].delivered - before) / 30.0,
                capacity,
                0.001 * capacity,
            );
        }
    }
}

/// Verifies that the windows of two flows over one queue become equal. `2 alpha` packets are then queued. A step is one
/// round trip.
#[test]
fn flows_become_equal() {
    let (capacity, base) = (1000.0, 0.1);
    let mut flows = [2.0, 150.0].map(|size| {
        let window = Window { size, ssthresh: 2.0 };
        (FastState::default(), window)
    });
    for _ in 0..400 {
        let sum: f64 = flows.iter().map(|(_, window)| window.size).sum();
        let rtt = (sum / capacity).max(base);
        for (state, window) in &mut flows {
            (0..50).for_each(|_| state.on_ack(&PARAMS, &round(rtt), window));
            state.avoid(&PARAMS, &round(rtt), window);
        }
    }
    let expected = (capacity * base + 40.0) / 2.0;
    flows.iter().for_each(|(_, window)| close(window.size, expected, 1e-3));
}

#[test]
fn a_lower_window_does_not_start_slowly_again() {
    let mut state = FastState::default();
    let mut window = Window {
        size: 100.0,
        ssthresh: 100.0,
    };
    state.on_ack(&PARAMS, &round(0.2), &mut window);
    state.avoid(&PARAMS, &round(0.2), &mut window);
    assert!(window.size < 100.0 && window.ssthresh <= window.size);
}
