use super::HighSpeedState;
use crate::tcp::testing::{Path, ack, at, close, cut, params};
use crate::tcp::{Variant, Window};

/// Table of RFC 3649, appendix B. Columns: smallest window with the growth `a`, the growth `a`, and the fraction `b` at
/// this window, to two digits. The RFC rounds the exponent 1.1979 of `p(w)` to 1.2, an error of 2 % at the largest
/// window.
const APPENDIX_B: [(f64, f64, f64); 13] = [
    (38.0, 1.0, 0.50),
    (118.0, 2.0, 0.44),
    (221.0, 3.0, 0.41),
    (347.0, 4.0, 0.38),
    (495.0, 5.0, 0.37),
    (663.0, 6.0, 0.35),
    (851.0, 7.0, 0.34),
    (1058.0, 8.0, 0.33),
    (1284.0, 9.0, 0.32),
    (1529.0, 10.0, 0.31),
    (1793.0, 11.0, 0.30),
    (2076.0, 12.0, 0.29),
    (2378.0, 13.0, 0.28),
];

#[test]
fn growth_and_reduction_are_those_of_the_appendix() {
    let own = params::<HighSpeedState>(&[]).own;
    for (window, a, b) in APPENDIX_B {
        close(own.increase(window), a, 0.02 * a);
        close(own.decrease(window), b, 0.006);
    }
    close(own.increase(83_000.0), 83e3 * 83e3 * 1e-7 * 0.2 / 1.9, 1e-9);
    close(own.decrease(83_000.0), 0.1, 1e-12);
}

#[test]
fn up_to_the_low_window_it_is_reno() {
    let own = params::<HighSpeedState>(&[]).own;
    let mut window = Window {
        size: 20.0,
        ssthresh: 2.0,
    };
    HighSpeedState.avoid(&own, &ack(0.0, 0.1), &mut window);
    close(window.size, 20.05, 1e-12);
    close(cut(HighSpeedState, &[], 38.0), 19.0, 0.0);
    close(cut(HighSpeedState, &[], 83_000.0), 74_700.0, 1e-6);
}

/// Verifies RFC 3649, section 5: with one loss per `1/p` packets, the mean window is `0.12 / p^0.835` packets.
#[test]
fn periodic_losses_give_the_response_function() {
    let every = 100_000;
    let mut path = Path::<HighSpeedState>::open(&[("initial_ssthresh", 1000.0)], 1e9, 0.1)
        .losing(move |number, _| number % every == every - 1);
    path.run(at(100.0));
    let before = path.flows[0].delivered;
    path.run(at(400.0));
    let mean = f64::from(path.flows[0].delivered - before) / 3000.0;
    let expected = 0.12 * f64::from(every).powf(0.835);
    close(mean, expected, 0.05 * expected);
}
