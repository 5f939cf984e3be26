use super::{Params, Vegas, VegasState};
use crate::Law;
use crate::Parameters;
use crate::tcp::testing::{Path, ack, at, close};
use crate::tcp::{AckEvent, ROWS, Rtt, Variant, Window};

const PARAMS: Params = Params {
    alpha: 2.0,
    beta: 4.0,
    gamma: 1.0,
};

/// Returns an ACK that ends a round trip of `rtt` seconds. The smallest round-trip time of the path is 100 ms.
fn end(rtt: f64) -> AckEvent {
    AckEvent {
        round: true,
        rtt: Rtt {
            last: rtt,
            smooth: rtt,
            min: 0.1,
        },
        ..ack(0.0, rtt)
    }
}

#[test]
fn the_window_moves_by_a_packet_per_round_trip_or_rests() {
    // Number of queued packets for a window of 50 on a path of 100 ms: 50 (1 - 0.1/rtt).
    for (rtt, change) in [
        (0.1, 1.0),
        (0.103, 1.0),
        (0.106, 0.0),
        (0.108, 0.0),
        (0.11, -1.0),
        (0.2, -1.0),
    ] {
        let mut state = VegasState::default();
        let mut window = Window {
            size: 50.0,
            ssthresh: 50.0,
        };
        state.on_ack(&PARAMS, &end(rtt), &mut window);
        state.avoid(&PARAMS, &end(rtt), &mut window);
        close(window.size, 50.0 + change, 0.0);
        assert!(window.ssthresh <= window.size, "slow start would begin again");
        state.avoid(&PARAMS, &ack(0.0, rtt), &mut window);
        close(window.size, 50.0 + change, 0.0);
    }
}

#[test]
fn slow_start_doubles_in_every_other_round_trip() {
    let mut path = Path::<VegasState>::open(&[], 1e9, 0.1);
    for round in 0..10 {
        path.run(at(0.1 * f64::from(round) + 0.15));
        close(path.window(), f64::from(2 << ((round + 1) / 2)), 0.0);
    }
}

/// Verifies section III-C: slow start ends with a window of at most about two bandwidth-delay products. The sender
/// measures the queue after each doubling of the window, before the next doubling.
#[test]
fn slow_start_ends_before_the_pipe_is_filled_twice() {
    for capacity in [510.0, 640.0, 900.0, 1270.0] {
        let mut path = Path::<VegasState>::open(&[], capacity, 0.1);
        let (mut largest, mut longest) = (0.0_f64, 0);
        path.watch(at(5.0), |path| {
            largest = largest.max(path.window());
            longest = longest.max(path.ports[0].queue());
        });
        assert!(largest <= 2.0 * (capacity * 0.1 + 2.0), "{largest} of {capacity}");
        assert!(longest as f64 <= capacity * 0.1 + 4.0, "{longest} of {capacity}");
    }
}

/// Verifies Brakmo and Peterson 1995, section III-B: in equilibrium, the link is full, and alpha to beta packets are
/// queued.
#[test]
fn alpha_to_beta_packets_wait() {
    for (alpha, beta) in [(2.0, 4.0), (1.0, 3.0), (10.0, 12.0)] {
        for (capacity, delay) in [(1000.0, 0.1), (5000.0, 0.02)] {
            let changes = [("alpha", alpha), ("beta", beta)];
            let mut path = Path::<VegasState>::open(&changes, capacity, delay);
            path.ports[0].buffer = 500;
            path.run(at(60.0));
            let before = path.flows[0].delivered;
            path.watch(at(120.0), |path| {
                let waiting = path.window() - capacity * delay;
                assert!(waiting >= alpha && waiting <= beta + 1.0, "{waiting} packets queued");
                // The queue lacks the one or two packets that this ACK permits, because the sender has not sent them
                // yet.
                let queue = path.ports[0].queue() as f64;
                assert!(queue <= waiting && queue >= waiting - 2.0, "{queue} in the queue");
            });
            close(
                f64::from(path.flows[0].delivered - before) / 60.0,
                capacity,
                0.001 * capacity,
            );
            assert_eq!(path.flows[0].losses, 0);
        }
    }
}

#[test]
fn beta_below_alpha_is_refused() {
    let mut values: std::vec::Vec<f64> = Vegas::INFO.params.iter().map(|row| row.default).collect();
    values[ROWS] = 5.0;
    assert_eq!(
        crate::tcp::TcpParams::<super::Params>::read(&values).unwrap_err().name,
        "beta"
    );
}
