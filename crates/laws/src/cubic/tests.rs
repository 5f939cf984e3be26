use super::{CubicState, Epoch};
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{Cause, Congestion, Variant, Window};

/// RFC 9438, eq 1 and 2, with C = 0.4: from 70 to 100 packets in cbrt(75) = 4.217 s.
#[test]
fn the_curve_is_that_of_the_rfc() {
    let own = params::<CubicState>(&[]).own;
    let epoch = Epoch::new(&own, at(0.0), 70.0, 100.0);
    close(epoch.k, 4.217_163_326_508_746, 1e-12);
    close(epoch.curve(&own, 0.0), 70.0, 1e-9);
    close(epoch.curve(&own, epoch.k), 100.0, 0.0);
    close(epoch.curve(&own, 2.0 * epoch.k), 130.0, 1e-9);
    close(epoch.curve(&own, 5.0), 100.0 + 0.4 * 0.479_86, 1e-4);
}

#[test]
fn an_ack_goes_its_share_of_the_way_to_the_target() {
    let own = params::<CubicState>(&[]).own;
    let mut state = CubicState::default();
    state.reduce(&own, &loss(0.0, 0.1, 1000.0));
    let mut window = Window {
        size: 700.0,
        ssthresh: 700.0,
    };
    state.avoid(&own, &ack(10.0, 0.1), &mut window);
    window.size = 700.0;
    state.avoid(&own, &ack(10.1, 0.1), &mut window);
    // K = cbrt(750) s, and the target is the curve one round trip ahead.
    let target = 0.4 * (0.2 - 750.0_f64.cbrt()).powi(3) + 1000.0;
    close(window.size, 700.0 + (target - 700.0) / 700.0, 1e-9);
    window.size = 100.0;
    state.avoid(&own, &ack(30.0, 0.1), &mut window);
    close(window.size, 100.5, 1e-9);
}

/// In a closed loop the window follows eq 1.
#[test]
fn a_window_follows_the_curve_through_its_epoch() {
    let changes = [("initial_window", 1000.0), ("slow_start", 0.0)];
    let mut path = Path::<CubicState>::open(&changes, 1e9, 0.1).losing(|number, _| number == 500);
    let mut cut = f64::MAX;
    path.watch(at(0.305), |path| cut = cut.min(path.window()));
    let (start, max) = (
        path.flows[0].sender.variant().epoch.expect("a packet was lost").start,
        cut / 0.7,
    );
    let k = (0.3 * max / 0.4).cbrt();
    for t in [2.0, 5.0, k, 12.0, 15.0] {
        path.run(at(start.as_secs_f64() + t));
        let expected = 0.4 * (t - k).powi(3) + max;
        close(path.window(), expected, 0.01 * max);
    }
}

/// RFC 9438, section 4.3: where the curve is slower than Reno, the mean window is Reno's.
#[test]
fn on_a_short_path_it_is_as_fast_as_reno() {
    let (every, rtt) = (20_000, 0.002);
    let mut path = Path::<CubicState>::open(&[("initial_ssthresh", 100.0)], 1e9, rtt)
        .losing(move |number, _| number % every == every - 1);
    path.run(at(4.0));
    let before = path.flows[0].delivered;
    path.run(at(24.0));
    let mean = f64::from(path.flows[0].delivered - before) * rtt / 20.0;
    let reno = (1.5 * f64::from(every)).sqrt();
    close(mean, reno, 0.1 * reno);
}

#[test]
fn a_lower_maximum_is_lowered_again() {
    let own = params::<CubicState>(&[]).own;
    let mut state = CubicState::default();
    close(state.reduce(&own, &loss(0.0, 0.1, 100.0)), 70.0, 1e-9);
    close(state.max, 100.0, 0.0);
    close(state.reduce(&own, &loss(1.0, 0.1, 80.0)), 56.0, 1e-9);
    close(state.max, 68.0, 1e-9);
    let plain = params::<CubicState>(&[("fast_convergence", 0.0)]).own;
    close(state.reduce(&plain, &loss(2.0, 0.1, 60.0)), 42.0, 1e-9);
    close(state.max, 60.0, 0.0);
}

/// RFC 9438, section 4.8: after a timeout the curve starts at its flat point.
#[test]
fn after_a_timeout_the_curve_starts_flat() {
    let own = params::<CubicState>(&[]).own;
    let mut state = CubicState::default();
    let timeout = Congestion {
        cause: Cause::Timeout,
        ..loss(0.0, 0.1, 100.0)
    };
    close(state.reduce(&own, &timeout), 70.0, 1e-9);
    let mut window = Window {
        size: 70.0,
        ssthresh: 70.0,
    };
    state.avoid(&own, &ack(1.0, 0.1), &mut window);
    let epoch = state.epoch.expect("it has begun");
    assert_eq!((epoch.k, epoch.origin), (0.0, 70.0));
}
