use super::hystart::HyStart;
use super::{CubicState, Epoch};
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{AckEvent, Cause, Congestion, Variant, Window};

/// Verifies RFC 9438, eq 1 and 2, with C = 0.4: the window grows from 70 to 100 packets in cbrt(75) = 4.217 s.
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
    // K = cbrt(750) s, and the target is the value of the curve one round trip later.
    let target = 0.4 * (0.2 - 750.0_f64.cbrt()).powi(3) + 1000.0;
    close(window.size, 700.0 + (target - 700.0) / 700.0, 1e-9);
    window.size = 100.0;
    state.avoid(&own, &ack(30.0, 0.1), &mut window);
    close(window.size, 100.5, 1e-9);
}

/// Verifies that the window follows eq 1 in a closed loop.
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

/// Verifies that the mean window equals that of Reno on paths where the cubic curve grows more slowly than Reno (RFC
/// 9438, section 4.3).
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

/// Verifies that the curve starts at its flat point after a timeout (RFC 9438, section 4.8).
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
    let epoch = state.epoch.expect("an epoch");
    assert_eq!((epoch.k, epoch.origin), (0.0, 70.0));
}

/// Verifies RFC 9406, section 4.2, with values computed by hand. An RTT increase of less than an eighth has no effect.
/// An increase of an eighth starts conservative slow start, with a quarter of the growth.
#[test]
fn a_longer_delay_slows_slow_start_down_then_ends_it() {
    let mut hystart = HyStart::default();
    let mut round = |rtt: f64| {
        let over = hystart.on_ack(&AckEvent {
            round: true,
            ..ack(0.0, rtt)
        });
        (1..8).for_each(|_| assert!(!hystart.on_ack(&ack(0.0, rtt))));
        (over, hystart.growth())
    };
    assert_eq!(round(0.100), (false, 1.0));
    assert_eq!(round(0.112), (false, 1.0), "increase of 12 ms, below 12.5 ms");
    assert_eq!(round(0.125), (false, 1.0), "increase of 13 ms, below 14 ms");
    assert_eq!(round(0.1407), (false, 0.25));
}

/// Verifies that slow start resumes if the higher delay does not persist.
#[test]
fn a_delay_that_falls_again_resumes_slow_start() {
    let mut hystart = HyStart::default();
    let mut round = |rtt: f64, acks: u32| {
        let over = hystart.on_ack(&AckEvent {
            round: true,
            ..ack(0.0, rtt)
        });
        (1..acks).for_each(|_| assert!(!hystart.on_ack(&ack(0.0, rtt))));
        (over, hystart.growth())
    };
    assert_eq!(round(0.020, 8), (false, 1.0));
    assert_eq!(round(0.030, 7), (false, 1.0), "seven samples are too few");
    assert_eq!(round(0.034, 8), (false, 0.25), "increase of 4 ms");
    assert_eq!(round(0.033, 8), (false, 1.0), "below the baseline of CSS");
    assert_eq!(round(0.040, 8), (false, 0.25));
    for _ in 0..4 {
        assert_eq!(round(0.050, 8), (false, 0.25));
    }
    assert!(round(0.050, 8).0, "slow start ends after five rounds");
}

/// Compares the windows at the end of slow start, with an unlimited buffer. The bandwidth-delay product is 100 packets.
/// A round that begins with 113 packets in flight is therefore 13 ms longer than a round without a queue. At the end of
/// that round, HyStart++ detects the increase. The window is then at least 226 packets and, because windows double, at
/// most 452 packets. After five rounds at a quarter of the growth, the window is at most 1380 packets.
#[test]
fn hystart_ends_slow_start_where_losses_do_not() {
    let window = |hystart: f64| {
        let mut path = Path::<CubicState>::open(&[("hystart", hystart)], 1000.0, 0.1);
        path.run(at(4.0));
        path.window()
    };
    assert!(
        window(0.0) > 3000.0,
        "one packet more for each packet that arrives: {}",
        window(0.0)
    );
    assert!((113.0..1380.0).contains(&window(1.0)), "{}", window(1.0));
}

/// Verifies that a spurious reduction is undone after all packets have arrived (RFC 9438, section 4.9).
#[test]
fn a_spurious_reduction_is_undone() {
    let own = params::<CubicState>(&[]).own;
    let mut state = CubicState::default();
    let mut window = Window {
        size: 100.0,
        ssthresh: 90.0,
    };
    state.avoid(&own, &ack(1.0, 0.1), &mut window);
    let before = (state.max, state.prior, state.epoch, window);
    let reduced = state.reduce(
        &own,
        &Congestion {
            ssthresh: 90.0,
            ..loss(1.0, 0.1, window.size)
        },
    );
    let mut left = Window {
        size: reduced,
        ssthresh: reduced,
    };
    (0..3).for_each(|_| state.on_lost());
    assert!(!state.on_spurious(2, &mut left), "one packet is still lost");
    assert_eq!(left.size, reduced);
    assert!(state.on_spurious(1, &mut left));
    assert_eq!((state.max, state.prior, state.epoch, left), before);
    assert!(!state.on_spurious(1, &mut left), "already undone");
}

/// Verifies that the curve is paused while the flow is application-limited (RFC 9438, section 5.8).
#[test]
fn idle_time_does_not_count() {
    let own = params::<CubicState>(&[]).own;
    let target = |silent: f64, in_use: bool| {
        let mut state = CubicState::default();
        state.reduce(&own, &loss(0.0, 0.1, 1000.0));
        let mut window = Window {
            size: 700.0,
            ssthresh: 700.0,
        };
        let mut now = 10.0;
        for _ in 0..20 {
            state.on_ack(&own, &ack(now, 0.1), &mut window);
            state.avoid(&own, &ack(now, 0.1), &mut window);
            now += 0.1;
        }
        if !in_use {
            for part in 1..=8 {
                let now = now + silent * f64::from(part) / 8.0;
                state.on_ack(
                    &own,
                    &AckEvent {
                        in_use: false,
                        ..ack(now, 0.1)
                    },
                    &mut window,
                );
            }
        }
        let ack = ack(now + silent, 0.1);
        state.on_ack(&own, &ack, &mut window);
        state.avoid(&own, &ack, &mut window);
        window.size
    };
    close(target(5.0, true), target(0.0, true), 1e-9);
    close(target(5.0, false), target(0.0, true), 0.2);
}
