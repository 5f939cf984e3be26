use super::{Dctcp, DctcpState, Params};
use crate::tcp::testing::{Path, ack, at, close, params};
use crate::tcp::{AckEvent, Cause, Congestion, Variant, Window};
use crate::{Law, Protocol};

const WINDOW: Window = Window {
    size: 100.0,
    ssthresh: 100.0,
};

/// Acknowledges one window of data with `packets` packets. The first `marked` packets carry a mark.
fn take(state: &mut DctcpState, gain: f64, packets: u32, marked: u32) {
    let mut window = WINDOW;
    for i in 1..=packets {
        let ack = AckEvent {
            marked: i <= marked,
            round: i == packets,
            ..ack(0.0, 0.1)
        };
        state.on_ack(&Params { gain }, &ack, &mut window);
    }
    assert_eq!(window, WINDOW);
}

#[test]
fn the_share_of_marks_is_averaged_once_per_window() {
    let gain = 0.0625;
    let mut state = DctcpState::default();
    close(state.alpha, 1.0, 0.0);
    let mut expected = 1.0;
    for (packets, marked) in [(10, 0), (20, 5), (7, 7), (1, 0)] {
        take(&mut state, gain, packets, marked);
        expected = (1.0 - gain) * expected + gain * f64::from(marked) / f64::from(packets);
        close(state.alpha, expected, 1e-12);
    }
}

#[test]
fn marks_cut_by_half_their_share_and_losses_by_half() {
    let mut state = DctcpState::default();
    take(&mut state, 1.0, 10, 2);
    for (cause, left) in [(Cause::Mark, 90.0), (Cause::Loss, 50.0), (Cause::Timeout, 50.0)] {
        let congestion = Congestion {
            cause,
            now: at(0.0),
            window: 100.0,
            ssthresh: f64::INFINITY,
            rtt: ack(0.0, 0.1).rtt,
        };
        close(state.reduce(&Params { gain: 1.0 }, &congestion), left, 1e-12);
    }
}

#[test]
fn queues_may_mark_by_default() {
    assert!(Dctcp::transport(&params::<DctcpState>(&[])).ecn);
    assert_eq!(Dctcp::INFO.name, "dctcp");
}

/// Verifies Alizadeh et al. 2010, section 3.3, with a queue that marks from `K` packets on. The window grows by 1 per
/// round trip up to `W = C R + K`. Then the packets of one window are marked, and the window is reduced by the fraction
/// `alpha / 2`.
///
/// A cycle has `alpha W / 2` round trips of growth, and a round trip with a constant window after the reduction. All
/// packets of one round trip per cycle are marked. Therefore `alpha (alpha W / 2 + 1) = 1`, and `alpha` is about
/// `sqrt(2 / W)`. With the small gain of this test, `alpha` at the reduction equals its average.
#[test]
fn a_marking_threshold_gives_the_square_root_law() {
    let (capacity, delay, threshold) = (2000.0, 0.2, 100.0);
    let full = capacity * delay + threshold;
    let changes = [("gain", 1.0 / 512.0), ("initial_ssthresh", 400.0)];
    let mut path = Path::<DctcpState>::open(&changes, capacity, delay);
    path.ports[0].threshold = threshold as usize;
    path.run(at(1000.0));
    let before = path.flows[0].delivered;
    let (mut sum, mut acks) = (0.0, 0.0);
    let (mut low, mut high, mut longest) = (f64::MAX, 0.0_f64, 0);
    path.watch(at(1300.0), |path| {
        sum += path.flows[0].sender.variant().alpha;
        acks += 1.0;
        low = low.min(path.window());
        high = high.max(path.window());
        longest = longest.max(path.ports[0].queue());
    });
    let alpha = sum / acks;
    let root = ((1.0 + 2.0 * full).sqrt() - 1.0) / full;
    close(alpha / root, 1.0, 0.03);
    close(alpha / (2.0 / full).sqrt(), 1.0, 0.05);
    close(high, full, 3.0);
    close(low, high * (1.0 - alpha / 2.0), 0.01 * high);
    assert!(longest as f64 <= threshold + 3.0, "{longest} packets queued");
    close(
        f64::from(path.flows[0].delivered - before) / 300.0,
        capacity,
        0.001 * capacity,
    );
    assert_eq!(path.flows[0].losses, 0);
}
