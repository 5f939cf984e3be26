//! Tests of ABC against the equations of its paper.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Abc, Header, Params, Router, Sender};
use crate::testing::{Both, Network, both, close, ms, port};
use crate::{Arriving, Feedback, FlowInfo, Header as _, Kind, Loss, Outgoing, PortView, RouterLaw, SenderLaw};

const PACKET: Bytes = Bytes::new(1000);
const BITS: f64 = 8000.0;
/// Capacity: 1000 packets per second.
const C: f64 = 8e6;

fn params(changes: &[(&str, f64)]) -> Both<Abc> {
    both(changes)
}

/// Returns a router with `per_ms` departures per millisecond for 20 ms, and a backlog of `waiting` packets.
fn router(params: &Both<Abc>, per_ms: u32, waiting: u64) -> Router {
    let mut router = Router::new(&params.routers, &port(1, C));
    let view = PortView {
        queue: Bytes::new(1000 * waiting),
        packets: waiting as u32,
        ..PortView::IDLE
    };
    for _ in 0..20 {
        for _ in 0..per_ms {
            router.on_departure(&params.routers, PACKET, &mut Header::UNSET.clone());
        }
        router.on_interval(&params.routers, Duration::from_ms(1), &view);
    }
    router
}

fn sender(params: &Params) -> Sender {
    let mut sender = Sender::new(params, &FlowInfo::of(PACKET));
    let rtt = Duration::from_ms(100);
    sender.on_feedback(params, Time::ZERO, &Feedback::plain(0, Kind::Syn, rtt, Header::UNSET));
    sender
}

/// Returns an ACK while the window is full.
fn ack(sender: &Sender, number: u32, brakes: bool) -> Feedback<Header> {
    let mut header = Header::UNSET;
    if brakes {
        header.brake();
    }
    Feedback {
        outstanding: sender.window() - 1,
        ..Feedback::plain(number, Kind::Data, Duration::from_ms(100), header)
    }
}

/// Verifies eq 1 with `mu` = 1 packet per ms. A backlog of 80 packets is a delay of 80 ms, 30 ms above the target.
#[test]
fn the_target_rate_is_that_of_the_paper() {
    let params = params(&[]);
    close(router(&params, 1, 0).target_rate(&params.routers), 0.98 * C, 1e-12);
    close(router(&params, 1, 50).target_rate(&params.routers), 0.98 * C, 1e-12);
    let above = (0.98 - 0.03 / 0.133) * C;
    close(router(&params, 1, 80).target_rate(&params.routers), above, 1e-12);
}

/// Verifies eq 2: half the ratio of the target to the departure rate, clamped to the range from 0 to 1.
#[test]
fn half_the_ratio_of_target_and_departures_accelerates() {
    let params = params(&[]);
    close(router(&params, 1, 0).fraction(&params.routers), 0.49, 1e-12);
    close(router(&params, 2, 0).fraction(&params.routers), 0.245, 1e-12);
    close(
        router(&params, 1, 80).fraction(&params.routers),
        (0.98 - 0.03 / 0.133) / 2.0,
        1e-12,
    );
    close(router(&params, 0, 0).fraction(&params.routers), 1.0, 0.0);
    assert_eq!(router(&params, 1, 250).fraction(&params.routers), 0.0);
}

#[test]
fn a_changed_capacity_counts_at_once() {
    let params = params(&[]);
    let mut router = router(&params, 1, 0);
    router.on_capacity(&params.routers, Rate::new(C / 2.0).unwrap());
    close(router.fraction(&params.routers), 0.245, 1e-12);
    router.on_capacity(&params.routers, Rate::new(4.0 * C).unwrap());
    close(router.fraction(&params.routers), 1.0, 0.0);
}

/// Verifies algorithm 1. The number of accelerating packets differs from the expected number by at most `tokens`.
#[test]
fn the_bucket_lets_the_share_of_packets_accelerate() {
    let params = params(&[]);
    for waiting in [0, 60, 80, 120] {
        let mut router = router(&params, 1, waiting);
        let share = router.fraction(&params.routers);
        let view = PortView {
            queue: Bytes::new(1000 * waiting),
            ..PortView::IDLE
        };
        let mut accelerated = 0;
        for _ in 0..1000 {
            let mut header = Header::UNSET;
            router.on_interval(&params.routers, Duration::from_ms(1), &view);
            router.on_departure(&params.routers, PACKET, &mut header);
            accelerated += u32::from(!header.brakes());
        }
        let expected = 1000.0 * share;
        let difference = (f64::from(accelerated) - expected).abs();
        assert!(
            difference <= params.routers.tokens,
            "{accelerated}, expected {expected}"
        );
    }
}

#[test]
fn a_later_router_keeps_a_brake() {
    let params = params(&[]);
    let mut header = Header::UNSET;
    assert_eq!(header.seen_by_router(), Some(false));
    header.brake();
    let mut router = Router::new(&params.routers, &port(1, C));
    let tokens = router.tokens;
    router.on_departure(&params.routers, PACKET, &mut header);
    assert!(
        header.brakes() && router.tokens == tokens,
        "a braking packet uses no token"
    );
    assert_eq!(header.seen_by_router(), Some(true));
}

/// Verifies that other traffic reduces the capacity for ABC.
#[test]
fn other_traffic_leaves_less_capacity() {
    let params = params(&[]);
    let mut router = Router::new(&params.routers, &port(1, C));
    for tick in 0..20 {
        if tick % 2 == 0 {
            router.on_arrival(&params.routers, &Arriving::alone(PACKET), None);
        }
        router.on_interval(&params.routers, Duration::from_ms(1), &PortView::IDLE);
    }
    close(router.target_rate(&params.routers), 0.98 * C / 2.0, 1e-12);
}

#[test]
fn an_ack_moves_the_window_by_one_and_a_window_of_acks_by_one_more() {
    let params = params(&[("initial_window", 20.0)]);
    let mut sender = sender(&params);
    let accelerate = ack(&sender, 1, false);
    sender.on_feedback(&params, ms(100), &accelerate);
    close(sender.window, 21.05, 1e-12);
    let brake = ack(&sender, 2, true);
    sender.on_feedback(&params, ms(101), &brake);
    close(sender.window, 20.05 + 1.0 / 21.05, 1e-12);
}

#[test]
fn a_window_does_not_brake_below_the_least() {
    let params = params(&[]);
    let mut sender = sender(&params);
    for number in 1..100 {
        let brake = ack(&sender, number, true);
        sender.on_feedback(&params, ms(100), &brake);
        assert!(sender.window >= 5.0);
    }
    assert!(sender.window < 6.0 + 1e-9, "{}", sender.window);
}

/// Verifies that the smaller window applies, and that both windows are at most twice the packets in flight (section
/// 5.1.1).
#[test]
fn a_loss_cuts_the_other_window_and_flight_bounds_both() {
    let params = params(&[("initial_window", 40.0)]);
    let mut sender = sender(&params);
    let last = Outgoing {
        number: 39,
        size: PACKET,
        kind: Kind::Data,
    };
    sender.on_send(&params, Time::ZERO, &last);
    let loss = Loss {
        number: 3,
        next: 40,
        outstanding: 39,
    };
    sender.on_loss(&params, ms(100), &loss);
    close(sender.cubic.size(), 28.0, 1e-12);
    assert_eq!((sender.window, sender.window()), (40.0, 28));
    sender.window = 500.0;
    let few = Feedback {
        outstanding: 24,
        ..ack(&sender, 38, false)
    };
    sender.on_feedback(&params, ms(101), &few);
    close(sender.window, 50.0, 1e-12);
}

fn network(capacity: f64, rtt: u64, flows: u64) -> Network<Abc> {
    let mut link = Network::new(params(&[]), &[capacity]);
    link.ports[0].line = Rate::new(capacity);
    for i in 0..flows {
        link.flow(PACKET, &[0], Duration::ZERO, ms(200 * i)).back = Duration::from_ms(rtt);
    }
    link
}

/// Runs for `time` ms. Returns the rates of the flows in bit/s, and the mean queueing delay in seconds. The delay is
/// sampled once per millisecond.
fn measure(link: &mut Network<Abc>, capacity: f64, time: u64) -> (std::vec::Vec<f64>, f64) {
    let before: std::vec::Vec<_> = link.flows.iter().map(|flow| flow.delivered).collect();
    let mut waiting = 0;
    for _ in 0..time {
        link.run(link.now + Duration::from_ms(1));
        waiting += link.ports[0].queue();
    }
    let seconds = time as f64 / 1000.0;
    let rate = |(flow, before): (&crate::testing::Flow<Abc>, u32)| f64::from(flow.delivered - before) * BITS / seconds;
    let rates = link.flows.iter().zip(before).map(rate).collect();
    (rates, waiting as f64 / time as f64 * BITS / capacity)
}

/// Verifies section 3.1.3. In equilibrium, `w (1 - 2 f) = 1` for all flows, and all windows are equal. For `A = N / (mu
/// RTT) - (1 - eta)` below 0, the load is `eta + N / (mu RTT)` and the queue is empty. Differences of windows decrease
/// by a factor of e in `w` round trips, here 10 s.
#[test]
fn few_flows_fill_their_share_of_the_link_equally_without_a_queue() {
    for flows in [1, 2] {
        let (capacity, rtt) = (16e6, 0.1);
        let mut link = network(capacity, 100, flows);
        link.run(ms(60_000));
        let (rates, delay) = measure(&mut link, capacity, 20_000);
        let expected = 0.98 * capacity + flows as f64 * BITS / rtt;
        close(rates.iter().sum(), expected, 0.005);
        for rate in &rates {
            close(*rate, expected / flows as f64, 0.05);
        }
        assert!(delay < 0.005, "{delay} s");
    }
}

/// Verifies the queueing delay for `A` above 0. The link is full, and a delay of `x = d_t + delta A` compensates the
/// additive increase. The rates vary around equal shares. The bound on Jain's index was chosen after one run with an
/// index of 0.98.
#[test]
fn the_delay_of_many_flows_is_that_of_the_paper() {
    let (capacity, back, flows) = (16e6, 0.1, 20);
    let mut link = network(capacity, 100, flows);
    link.run(ms(40_000));
    let (rates, delay) = measure(&mut link, capacity, 20_000);
    let mut expected = 0.05;
    for _ in 0..100 {
        let extra = flows as f64 * BITS / (capacity * (back + expected)) - 0.02;
        expected = 0.05 + 0.133 * extra;
    }
    close(rates.iter().sum(), capacity, 0.002);
    close(delay, expected, 0.02);
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    let jain = rates.iter().sum::<f64>().powi(2) / (flows as f64 * squares);
    assert!(jain > 0.95, "{jain} of {rates:?}");
}

/// Verifies that the rate converges within five round trips after the capacity has doubled or halved.
#[test]
fn a_step_of_the_capacity_is_followed_within_five_round_trips() {
    let mut link = network(20e6, 100, 2);
    link.run(ms(20_000));
    for capacity in [40e6, 20e6] {
        link.ports[0].line = Rate::new(capacity);
        let params = link.routers;
        link.ports[0].router.on_capacity(&params, Rate::new(capacity).unwrap());
        link.run(link.now + Duration::from_ms(500));
        let (rates, delay) = measure(&mut link, capacity, 500);
        let used = rates.iter().sum::<f64>() / capacity;
        assert!((0.93..1.01).contains(&used), "{used} of {capacity} is used");
        assert!(delay < 0.06, "{delay} s at {capacity}");
    }
}
