use super::ScalableState;
use crate::tcp::testing::{Path, ack, at, close, cut, params};
use crate::tcp::{Variant, Window};

fn grown(changes: &[(&str, f64)], size: f64) -> f64 {
    let mut window = Window { size, ssthresh: 2.0 };
    let own = params::<ScalableState>(changes).own;
    ScalableState.avoid(&own, &ack(0.0, 0.1), &mut window);
    window.size - size
}

#[test]
fn an_ack_adds_the_step_and_a_loss_takes_an_eighth() {
    close(grown(&[], 16.0), 0.01, 1e-12);
    close(grown(&[("step", 0.05)], 1000.0), 0.05, 1e-12);
    close(cut(ScalableState, &[], 400.0), 350.0, 1e-9);
}

#[test]
fn below_the_low_window_it_is_reno() {
    close(grown(&[], 10.0), 0.1, 1e-12);
    close(cut(ScalableState, &[], 10.0), 5.0, 0.0);
}

#[test]
fn with_a_floor_it_grows_at_least_as_reno() {
    let linux = [("reno_floor", 1.0), ("low_window", 1.0)];
    close(grown(&linux, 50.0), 0.02, 1e-12);
    close(grown(&linux, 200.0), 0.01, 1e-12);
    close(cut(ScalableState, &linux, 10.0), 8.75, 1e-12);
}

/// Verifies Kelly 2003, section 3: at any window, recovery takes `log(1 - b) / log(1 + a)` = 13.4 round trips.
#[test]
fn recovery_takes_as_long_at_any_window() {
    for first in [200.0, 2000.0] {
        let changes = [("initial_window", first), ("slow_start", 0.0)];
        let mut lost = false;
        let mut path = Path::<ScalableState>::open(&changes, 1e9, 0.1).losing(move |number, _| {
            if number == 10 && !lost {
                lost = true;
                return true;
            }
            false
        });
        let (mut low, mut back) = (None, None);
        path.watch(at(4.0), |path| {
            if low.is_none() && path.window() > 0.875 * first && path.flows[0].losses == 1 {
                low = Some(path.now.as_secs_f64());
            }
            if low.is_some() && back.is_none() && path.window() >= first {
                back = Some(path.now.as_secs_f64());
            }
        });
        let took = (back.expect("a recovery") - low.expect("a reduction")) / 0.1;
        let expected = -(1.0 - 0.125_f64).ln() / 1.01_f64.ln();
        close(took, expected, 0.6);
    }
}

/// Verifies Zhang 2008, eq 22 and figure 7a: on a full link, the arrival rate is `1 + step` times the capacity.
#[test]
fn over_a_full_link_the_rate_stays_a_step_above_the_capacity() {
    for step in [0.01, 0.05] {
        let capacity = 250.0;
        let changes = [("initial_window", 40.0), ("slow_start", 0.0), ("step", step)];
        let mut path = Path::<ScalableState>::open(&changes, capacity, 0.06);
        path.run(at(10.0));
        let (window, delivered) = (path.window(), path.flows[0].delivered);
        path.run(at(50.0));
        let acked = f64::from(path.flows[0].delivered - delivered);
        close(acked / 40.0, capacity, 0.001 * capacity);
        let sent = acked + path.window() - window;
        close(sent / 40.0 / capacity, 1.0 + step, 0.0015);
    }
}
