use super::NewRenoState;
use crate::reno::RenoState;
use crate::tcp::Variant;
use crate::tcp::testing::{Path, at, close};

/// Loses packets 100, 102 and 104 of a window of 64. Returns the window after recovery.
fn after_three_losses<V: Variant>() -> f64 {
    let mut path = Path::<V>::open(&[("initial_window", 64.0), ("slow_start", 0.0)], 1e9, 0.1)
        .losing(|number, _| [100, 102, 104].contains(&number));
    path.run(at(0.85));
    assert_eq!(path.flows[0].losses, 3);
    path.window()
}

/// Compares NewReno with Reno, which reduces its window for each lost packet (RFC 6582, section 1).
#[test]
fn packets_lost_from_one_window_halve_it_once() {
    let (newreno, reno) = (after_three_losses::<NewRenoState>(), after_three_losses::<RenoState>());
    assert!((32.0..40.0).contains(&newreno), "{newreno}");
    assert!(reno < 16.0, "{reno}");
}

/// Verifies that a lost retransmission is a second congestion signal (RFC 5681, section 4.3).
#[test]
fn a_lost_retransmission_halves_the_window_again() {
    let mut times = 0;
    let mut path = Path::<NewRenoState>::open(&[("initial_window", 64.0), ("slow_start", 0.0)], 1e9, 0.1).losing(
        move |_, data| {
            times += u32::from(data == 100);
            data == 100 && times <= 2
        },
    );
    let mut smallest = f64::MAX;
    path.watch(at(1.0), |path| smallest = smallest.min(path.window()));
    assert_eq!(path.flows[0].losses, 2);
    close(smallest, 16.0, 1.0);
}

#[test]
fn periodic_losses_give_the_square_root_law() {
    let every = 20_000;
    let mut path = Path::<NewRenoState>::open(&[("initial_ssthresh", 100.0)], 1e9, 0.1)
        .losing(move |number, _| number % every == every - 1);
    path.run(at(200.0));
    let before = path.flows[0].delivered;
    path.run(at(1200.0));
    let expected = (1.5 * f64::from(every)).sqrt();
    close(
        f64::from(path.flows[0].delivered - before) / 10_000.0,
        expected,
        0.03 * expected,
    );
}
