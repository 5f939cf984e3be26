use super::NewRenoState;
use crate::reno::RenoState;
use crate::tcp::Variant;
use crate::tcp::testing::{Fate, Path, close};

/// The window once all is repaired, after packets 100, 102 and 104 of a window of 64 were lost.
fn after_three_losses<V: Variant>() -> f64 {
    let mut path = Path::<V>::new(&[("initial_window", 64.0), ("slow_start", 0.0)], 1e9, 0.1).with_fate(|number, _| {
        if [100, 102, 104].contains(&number) {
            Fate::Lost
        } else {
            Fate::Passes
        }
    });
    path.run(0.85, |_| {});
    assert_eq!(path.losses, 3);
    path.window()
}

/// RFC 6582, section 1: Reno would reduce for each of them.
#[test]
fn packets_lost_from_one_window_halve_it_once() {
    let (newreno, reno) = (after_three_losses::<NewRenoState>(), after_three_losses::<RenoState>());
    assert!((32.0..40.0).contains(&newreno), "{newreno}");
    assert!(reno < 16.0, "{reno}");
}

/// RFC 5681, section 4.3: a retransmission that is lost is a second sign of congestion.
#[test]
fn a_lost_retransmission_halves_the_window_again() {
    let mut times = 0;
    let mut path = Path::<NewRenoState>::new(&[("initial_window", 64.0), ("slow_start", 0.0)], 1e9, 0.1).with_fate(
        move |_, data| {
            times += u32::from(data == 100);
            if data == 100 && times <= 2 {
                Fate::Lost
            } else {
                Fate::Passes
            }
        },
    );
    let mut smallest = f64::MAX;
    path.run(1.0, |path| smallest = smallest.min(path.window()));
    assert_eq!(path.losses, 2);
    close(smallest, 16.0, 1.0);
}

#[test]
fn periodic_losses_give_the_square_root_law() {
    let every = 20_000;
    let mut path = Path::<NewRenoState>::new(&[("initial_ssthresh", 100.0)], 1e9, 0.1).with_fate(move |number, _| {
        if number % every == every - 1 {
            Fate::Lost
        } else {
            Fate::Passes
        }
    });
    path.run(200.0, |_| {});
    let before = path.delivered;
    path.run(1200.0, |_| {});
    let expected = (1.5 * f64::from(every)).sqrt();
    close((path.delivered - before) as f64 / 10_000.0, expected, 0.03 * expected);
}
