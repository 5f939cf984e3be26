use super::{Params, Prague, PragueState};
use crate::tcp::testing::{Path, ack, at, close, loss, params};
use crate::tcp::{AckEvent, Cause, Congestion, Variant, Window};
use crate::{Law, Protocol, SenderLaw};

const OWN: Params = Params {
    gain: 0.0625,
    reference_rtt: levelflow_units::Duration::from_ms(25),
};

/// Processes `acks` ACKs, 1 ms apart, from `begin` ms on. The first `marked` ACKs carry a mark. Every tenth ACK ends a
/// round trip.
fn take(state: &mut PragueState, begin: u32, acks: u32, marked: u32) {
    let mut window = Window {
        size: 100.0,
        ssthresh: 100.0,
    };
    for i in 0..acks {
        let ack = AckEvent {
            marked: i < marked,
            round: i % 10 == 9,
            ..ack(f64::from(begin + i) / 1e3, 0.010)
        };
        state.on_ack(&OWN, &ack, &mut window);
    }
}

/// Verifies that the average changes once, after 25 ms, and not at the end of each real round trip. A real round trip
/// takes 10 ms, and a virtual round trip takes 25 ms.
#[test]
fn the_share_of_marks_is_averaged_once_per_virtual_round_trip() {
    let mut state = PragueState::default();
    take(&mut state, 0, 25, 5);
    close(state.alpha, 1.0, 0.0);
    take(&mut state, 25, 1, 0);
    close(state.alpha, 1.0 + (5.0 / 26.0 - 1.0) / 16.0, 1e-12);
    let before = state.alpha;
    take(&mut state, 26, 24, 24);
    close(state.alpha, before, 0.0);
    take(&mut state, 50, 1, 1);
    close(state.alpha, before + (1.0 - before) / 16.0, 1e-12);
}

#[test]
fn marks_cut_by_half_their_share_once_per_virtual_round_trip_and_losses_by_half() {
    let mut state = PragueState {
        alpha: 0.2,
        ..PragueState::default()
    };
    let mark = Congestion {
        cause: Cause::Mark,
        ..loss(1.0, 0.010, 100.0)
    };
    assert!(state.heeds_mark(&OWN, &ack(1.0, 0.010)));
    close(state.reduce(&OWN, &mark), 90.0, 1e-12);
    assert!(!state.heeds_mark(&OWN, &ack(1.024, 0.010)));
    assert!(state.heeds_mark(&OWN, &ack(1.026, 0.010)));
    assert!(
        !state.heeds_mark(&OWN, &ack(1.026, 0.080)),
        "longer round trips are not extended"
    );
    close(state.reduce(&OWN, &loss(2.0, 0.010, 100.0)), 50.0, 1e-12);
}

/// Verifies the growth of `(R/V)^2` packets per real round trip. A virtual round trip has `V/R` real round trips.
/// Therefore the window grows by `R/V` per virtual round trip.
#[test]
fn growth_makes_up_for_short_round_trips() {
    for rtt in [0.005, 0.010, 0.025, 0.100] {
        let mut window = Window {
            size: 50.0,
            ssthresh: 2.0,
        };
        let mut state = PragueState::default();
        let steps = 50;
        for _ in 0..steps {
            state.avoid(&OWN, &ack(0.0, rtt), &mut window);
        }
        let shorter = (rtt / 0.025).min(1.0_f64);
        close(window.size - 50.0, shorter * shorter, 0.02 * shorter * shorter);
    }
}

/// Verifies the rate at a marking probability `p`. In equilibrium, the growth between two reductions equals one
/// reduction. At a rate of `r` packets/s, the time between reductions is one virtual round trip `V` plus the time to
/// the next mark, `1/(p r)`. The growth is `(1 - p) R/V^2` per second, and the reduction is `p r R / 2`. Therefore `x =
/// p r V` satisfies `x^2 = 2 (1 - p) (x + 1)`. The rate depends on `V`, but not on a real round trip `R` below `V`.
#[test]
fn the_rate_at_a_share_of_marks_is_that_of_the_virtual_round_trip() {
    let share = 0.05_f64;
    for rtt in [0.010, 0.015, 0.025, 0.050] {
        let mut state = PragueState {
            alpha: share,
            ..PragueState::default()
        };
        let mut window = Window {
            size: 40.0,
            ssthresh: 2.0,
        };
        let (mut now, mut sent, mut round, mut seed) = (0.0, 0.0, 0.0, 1_u64);
        while now < 2000.0 {
            (now, sent) = (now + rtt / window.size, sent + 1.0);
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let marked = ((seed >> 11) as f64) < share * (1_u64 << 53) as f64;
            let ends = sent >= round;
            round = if ends { sent + window.size } else { round };
            let ack = AckEvent {
                marked,
                round: ends,
                ..ack(now, rtt)
            };
            state.on_ack(&OWN, &ack, &mut window);
            if marked && state.heeds_mark(&OWN, &ack) {
                let mark = Congestion {
                    cause: Cause::Mark,
                    ..loss(now, rtt, window.size)
                };
                window.size = state.reduce(&OWN, &mark);
            } else if !marked {
                state.avoid(&OWN, &ack, &mut window);
            }
        }
        let grows = 1.0 - share;
        let x = grows + (grows * grows + 2.0 * grows).sqrt();
        close(sent / now * share * rtt.max(0.025) / x, 1.0, 0.05);
    }
}

#[test]
fn packets_are_marked_as_scalable_unless_ecn_is_off() {
    let transport = Prague::transport(&params::<PragueState>(&[]));
    assert!(transport.ecn && transport.scalable);
    assert!(!Prague::transport(&params::<PragueState>(&[("ecn", 0.0)])).scalable);
    assert_eq!(Prague::INFO.name, "prague");
}

/// Verifies that the link is full, that the queue stays at the marking threshold of 20 packets, and that no packet is
/// lost.
#[test]
fn a_step_holds_a_short_queue_and_a_full_link() {
    let (capacity, delay) = (2000.0, 0.05);
    let mut path = Path::<PragueState>::open(&[], capacity, delay);
    path.ports[0].threshold = 20;
    path.run(at(100.0));
    let before = path.flows[0].delivered;
    let mut longest = 0;
    path.watch(at(200.0), |path| longest = longest.max(path.ports[0].queue()));
    let rate = f64::from(path.flows[0].delivered - before) / 100.0;
    close(rate, capacity, 0.01 * capacity);
    assert!(longest <= 24, "{longest} packets queued");
    assert_eq!(path.flows[0].losses, 0);
}

/// Verifies that the window is rounded up with pacing. With pacing, the last packet waits for its departure time. A
/// fraction of a packet therefore increases the rate only by this fraction. Without pacing, the last packet would be
/// sent at once, so the window is rounded down.
#[test]
fn a_paced_window_lets_the_packet_go_that_is_begun() {
    let window = |changes: &[(&str, f64)]| {
        let path = Path::<PragueState>::open(changes, 1000.0, 0.01);
        path.flows[0].sender.window()
    };
    assert_eq!(window(&[("initial_window", 2.5)]), 3);
    assert_eq!(window(&[("initial_window", 2.0)]), 2);
    assert_eq!(window(&[("initial_window", 2.5), ("paced", 0.0)]), 2);
}
