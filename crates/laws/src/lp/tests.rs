use super::LpState;
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{AckEvent, Rtt, Variant, Window};

/// Returns an ACK. The last and the smoothed round-trip time are `smooth`, and the smallest is 0.1 s.
fn delayed(now: f64, smooth: f64) -> AckEvent {
    AckEvent {
        rtt: Rtt {
            last: smooth,
            smooth,
            min: 0.1,
        },
        ..ack(now, 0.1)
    }
}

fn busy() -> LpState {
    LpState {
        max_rtt: 0.2,
        ..LpState::default()
    }
}

/// Returns the window after ACKs, which are given by time and round-trip time.
fn after(acks: &[(f64, f64)]) -> f64 {
    let own = params::<LpState>(&[]).own;
    let mut state = busy();
    let mut window = Window {
        size: 40.0,
        ssthresh: 2.0,
    };
    for &(now, smooth) in acks {
        let ack = delayed(now, smooth);
        state.on_ack(&own, &ack, &mut window);
        state.avoid(&own, &ack, &mut window);
    }
    window.size
}

#[test]
fn delays_above_the_threshold_halve_the_window() {
    close(after(&[(1.0, 0.1149)]), 40.025, 1e-9);
    close(after(&[(1.0, 0.1151)]), 20.0, 0.0);
}

#[test]
fn a_second_indication_leaves_one_packet() {
    let high = 0.12;
    // The acknowledged packet was sent before the first indication. It causes no new indication.
    close(after(&[(1.0, high), (1.11, high)]), 20.0, 0.0);
    close(after(&[(1.0, high), (1.13, high)]), 1.0, 0.0);
    // After three round trips, the second indication has the same effect as the first.
    close(after(&[(1.0, high), (1.5, high)]), 10.0, 0.0);
}

#[test]
fn the_window_rests_after_an_indication() {
    close(after(&[(1.0, 0.12), (1.2, 0.1)]), 20.0, 0.0);
    close(after(&[(1.0, 0.12), (1.5, 0.1)]), 20.05, 1e-9);
}

#[test]
fn an_average_that_lags_is_no_indication() {
    let own = params::<LpState>(&[]).own;
    let mut window = Window {
        size: 40.0,
        ssthresh: 2.0,
    };
    let mut prompt = delayed(1.0, 0.12);
    prompt.rtt.last = 0.1;
    busy().on_ack(&own, &prompt, &mut window);
    close(window.size, 40.0, 0.0);
}

#[test]
fn slow_start_takes_no_indication() {
    let own = params::<LpState>(&[]).own;
    let mut window = Window {
        size: 40.0,
        ssthresh: 50.0,
    };
    busy().on_ack(&own, &delayed(1.0, 0.15), &mut window);
    close(window.size, 40.0, 0.0);
}

#[test]
fn a_loss_halves_the_window() {
    let own = params::<LpState>(&[]).own;
    close(busy().reduce(&own, &loss(0.0, 0.1, 40.0)), 20.0, 0.0);
}

/// Verifies that a single flow fills most of the link, keeps the queue well below its limit, and has no losses after
/// its start.
#[test]
fn alone_it_uses_the_link_without_filling_the_queue() {
    let (capacity, delay, buffer) = (1000.0, 0.1, 100);
    let mut path = Path::<LpState>::open(&[], capacity, delay);
    path.ports[0].buffer = buffer;
    path.run(at(60.0));
    let before = (path.flows[0].delivered, path.flows[0].losses);
    let mut longest = 0;
    path.watch(at(260.0), |path| longest = longest.max(path.ports[0].queue()));
    assert_eq!(path.flows[0].losses, before.1);
    assert!(longest < buffer / 2, "{longest} packets queued");
    let used = f64::from(path.flows[0].delivered - before.0) / 200.0 / capacity;
    assert!(used > 0.6, "{used} of the capacity");
}
