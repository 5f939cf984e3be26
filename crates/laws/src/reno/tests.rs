use super::RenoState;
use crate::tcp::testing::{Path, ack, at, close};
use crate::tcp::{SackParams, Variant, Window};

#[test]
fn an_ack_adds_its_share_of_a_packet() {
    let mut window = Window {
        size: 8.0,
        ssthresh: 8.0,
    };
    RenoState.avoid(&SackParams { sack: true }, &ack(0.0, 0.1), &mut window);
    close(window.size, 8.125, 0.0);
}

/// Verifies that one loss per `1/p` packets gives a mean window of `sqrt(3/(2p))` (Mathis, Semke, Mahdavi, Ott 1997).
#[test]
fn periodic_losses_give_the_square_root_law() {
    for every in [20_000_u32, 80_000] {
        let rtt = 0.1;
        let mut path = Path::<RenoState>::open(&[("initial_ssthresh", 100.0)], 1e9, rtt)
            .losing(move |number, _| number % every == every - 1);
        path.run(at(200.0));
        let before = path.flows[0].delivered;
        path.run(at(1200.0));
        let mean = f64::from(path.flows[0].delivered - before) * rtt / 1000.0;
        let expected = (1.5 * f64::from(every)).sqrt();
        close(mean, expected, 0.03 * expected);
    }
}

/// Verifies that a queue of one bandwidth-delay product keeps the link busy (Villamizar, Song 1994).
#[test]
fn a_buffer_of_one_bandwidth_delay_product_is_enough() {
    let (capacity, delay) = (1000.0, 0.1);
    let mut path = Path::<RenoState>::open(&[("initial_ssthresh", 100.0)], capacity, delay);
    path.ports[0].buffer = 100;
    path.run(at(60.0));
    let before = (path.flows[0].delivered, path.flows[0].losses);
    let (mut low, mut high) = (f64::MAX, 0.0_f64);
    path.watch(at(360.0), |path| {
        low = low.min(path.window());
        high = high.max(path.window());
    });
    close(
        f64::from(path.flows[0].delivered - before.0) / 300.0,
        capacity,
        0.001 * capacity,
    );
    assert!(path.flows[0].losses > before.1, "no packet was lost");
    close(high, 201.0, 1.5);
    close(low, 100.5, 1.0);
}

/// Loses `lost` packets of a window of 64. Returns this window, and the window after each reduction by more than a
/// third.
fn falls(lost: u32) -> std::vec::Vec<f64> {
    let lost = 100..100 + lost;
    let mut path = Path::<RenoState>::open(&[("initial_window", 64.0), ("slow_start", 0.0)], 1e9, 0.1)
        .losing(move |number, _| lost.contains(&number));
    let mut windows = std::vec![64.0];
    let mut last = 64.0;
    path.watch(at(1.0), |path| {
        if path.window() < last / 1.5 {
            windows.push(path.window());
        }
        last = path.window();
    });
    windows
}

/// Verifies Fall and Floyd 1996. Two lost packets of one window halve the window twice, once per round trip. After
/// three lost packets, the sender restarts from a window of one packet.
#[test]
fn a_second_hole_halves_again_and_a_third_starts_again() {
    let halvings = |windows: &[f64]| windows.windows(2).for_each(|pair| close(pair[1] / pair[0], 0.5, 0.02));
    let (one, two, three) = (falls(1), falls(2), falls(3));
    assert_eq!(
        (one.len(), two.len(), three.len()),
        (2, 3, 4),
        "{one:?} {two:?} {three:?}"
    );
    halvings(&one);
    halvings(&two);
    halvings(&three[..3]);
    assert!(three[3] <= 2.0, "{three:?}");
}
