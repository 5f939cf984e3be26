use super::HtcpState;
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{AckEvent, Rtt, Variant, Window};

fn fresh() -> HtcpState {
    HtcpState::default()
}

/// Returns the growth per round trip `elapsed` seconds after a loss. `beta` is the fraction of the window that remained
/// after the loss.
fn alpha(changes: &[(&str, f64)], beta: f64, elapsed: f64, rtt: f64) -> f64 {
    let own = params::<HtcpState>(changes).own;
    let mut state = HtcpState {
        since: Some(at(10.0)),
        beta,
        ..fresh()
    };
    let mut window = Window {
        size: 100.0,
        ssthresh: 2.0,
    };
    state.avoid(&own, &ack(10.0 + elapsed, rtt), &mut window);
    (window.size - 100.0) * 100.0
}

#[test]
fn growth_depends_on_the_time_since_the_last_congestion() {
    for (elapsed, expected) in [(0.5, 1.0), (1.0, 1.0), (2.0, 11.25), (3.0, 22.0), (11.0, 126.0)] {
        close(alpha(&[], 0.5, elapsed, 0.1), expected, 1e-6);
        close(alpha(&[], 0.8, elapsed, 0.1), 0.4 * expected, 1e-6);
    }
    close(alpha(&[("delta_l", 2.0)], 0.5, 3.0, 0.1), 11.25, 1e-6);
}

#[test]
fn growth_may_scale_with_the_round_trip_time() {
    let scaled = [("rtt_scaling", 1.0)];
    close(alpha(&scaled, 0.5, 3.0, 0.05), 11.0, 1e-6);
    close(alpha(&scaled, 0.5, 3.0, 1.0), 44.0, 1e-6);
    close(alpha(&scaled, 0.5, 3.0, 0.001), 2.2, 1e-6);
    close(alpha(&scaled, 0.5, 0.5, 0.001), 1.0, 1e-6);
}

/// Runs one round trip of 100 packets that takes `seconds` seconds.
fn round(state: &mut HtcpState, from: f64, seconds: f64, max_rtt: f64) {
    let own = params::<HtcpState>(&[]).own;
    let mut window = Window {
        size: 100.0,
        ssthresh: 2.0,
    };
    for (now, acked, round) in [
        (from, 0, true),
        (from + seconds / 2.0, 50, false),
        (from + seconds, 50, true),
    ] {
        let rtt = Rtt {
            last: max_rtt,
            smooth: max_rtt,
            min: 0.1,
        };
        let ack = AckEvent {
            acked,
            rtt,
            round,
            ..ack(now, 0.1)
        };
        state.on_ack(&own, &ack, &mut window);
    }
}

#[test]
fn a_loss_multiplies_the_window_by_least_over_largest_rtt() {
    let own = params::<HtcpState>(&[]).own;
    let mut state = fresh();
    round(&mut state, 1.0, 0.1, 0.16);
    close(state.throughput, 1000.0, 1e-6);
    // The first loss has no previous throughput to compare with.
    close(state.reduce(&own, &loss(2.0, 0.1, 200.0)), 100.0, 1e-9);
    round(&mut state, 3.0, 0.11, 0.16);
    close(state.reduce(&own, &loss(4.0, 0.1, 200.0)), 125.0, 1e-9);
    round(&mut state, 5.0, 0.1, 0.11);
    close(state.reduce(&own, &loss(6.0, 0.1, 200.0)), 160.0, 1e-9);
    round(&mut state, 7.0, 0.1, 0.4);
    close(state.reduce(&own, &loss(8.0, 0.1, 200.0)), 100.0, 1e-9);
    // The throughput decreases by 23 %, and the limit is 20 %. Therefore only half of the window remains.
    round(&mut state, 9.0, 0.13, 0.11);
    close(state.reduce(&own, &loss(10.0, 0.1, 200.0)), 100.0, 1e-9);
}

/// Verifies that the reduced window just fills the link. With a queue limit of a quarter of the bandwidth-delay
/// product, `RTT_min / RTT_max` is 0.8.
#[test]
fn a_reduction_just_empties_the_queue() {
    let (capacity, delay) = (2000.0, 0.1);
    let mut path = Path::<HtcpState>::open(&[("initial_ssthresh", 150.0)], capacity, delay);
    path.ports[0].buffer = 50;
    path.run(at(30.0));
    let before = (path.flows[0].delivered, path.flows[0].losses);
    let mut low = f64::MAX;
    path.watch(at(90.0), |path| low = low.min(path.window()));
    assert!(path.flows[0].losses > before.1, "no loss");
    // The loss is detected after two round trips. Until then, the window grows above 250 packets, by 5 packets per
    // round trip.
    assert!((199.0..=0.8 * (251.0 + 2.0 * 5.5)).contains(&low), "{low}");
    close(
        f64::from(path.flows[0].delivered - before.0) / 60.0,
        capacity,
        0.01 * capacity,
    );
}
