//! Tests of XCP against the equations of its paper. Like the paper, they use windows and feedback that changes windows.

mod closed_loop;

use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

use super::{Header, Params, Router, Sender, Xcp};
use crate::params::Problem;
use crate::testing::{Both, both, try_both};
use crate::{
    Arriving, Feedback, FlowInfo, Header as _, Kind, Loss, Opening, Outgoing, PortInfo, PortView, Protocol, RouterLaw,
    SenderLaw,
};

/// Capacity of the link in bit/s, equal to 1.25 MB/s.
const C: f64 = 10e6;
const CAPACITY: f64 = C / 8.0;

fn params(changes: &[(&str, f64)]) -> Both<Xcp> {
    both(changes)
}

fn router(params: &Both<Xcp>) -> Router {
    Router::new(
        &params.routers,
        &PortInfo {
            id: 1,
            capacity: Rate::new(C).unwrap(),
        },
    )
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected.abs().max(1.0),
        "{measured}, expected {expected}"
    );
}

/// Flow with the quantities of the paper.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// Round-trip time `rtt_i`, in seconds.
    rtt: f64,
    /// Congestion window `cwnd_i`, bytes.
    cwnd: f64,
    /// Packet size `s_i`, bytes.
    size: u64,
}

impl Flow {
    fn header(&self) -> Header {
        Header {
            gap: (self.rtt * self.size as f64 / self.cwnd) as f32,
            rtt: self.rtt as f32,
            reverse_feedback: 0.0,
            delta_throughput: f32::INFINITY,
        }
    }

    fn rate(&self) -> f64 {
        self.cwnd / self.rtt
    }

    /// Returns the number of packets sent in `time` seconds.
    fn packets(&self, time: f64) -> u32 {
        (self.rate() * time / self.size as f64).round() as u32
    }
}

/// Returns flows that send these numbers of packets in 0.1 s. The mean round-trip time of the flows is also 0.1 s.
fn mix(loads: [u32; 3]) -> [Flow; 3] {
    let flow = |rtt: f64, packets: u32, size: u64| Flow {
        rtt,
        cwnd: f64::from(packets) * size as f64 * rtt / 0.1,
        size,
    };
    [
        flow(0.05, loads[0], 500),
        flow(0.1, loads[1], 1000),
        flow(0.15, loads[2], 1500),
    ]
}

/// Mean round-trip time `d`, which is also the control interval. In one interval, the sum of `rtt * s / cwnd` over the
/// packets of a flow is `d` at any rate. `s` is the packet size.
const MEAN: f64 = 0.1;

/// Router that receives packets from the test.
struct Desk {
    params: Both<Xcp>,
    router: Router,
    now: Time,
}

impl Desk {
    /// Returns a router after two control intervals with these flows and a constant queue.
    fn settled(flows: &[Flow], queue: u64) -> Self {
        let params = params(&[]);
        let mut desk = Self {
            router: router(&params),
            params,
            now: Time::ZERO,
        };
        for _ in 0..2 {
            desk.pass(flows, MEAN, queue);
            desk.close();
        }
        desk
    }

    /// Passes all packets of `time` seconds through the router. Returns the feedback to each packet, by flow.
    fn pass(&mut self, flows: &[Flow], time: f64, queue: u64) -> Vec<Vec<f64>> {
        let each = |flow: &Flow| (0..flow.packets(time)).map(|_| self.cross(flow, queue)).collect();
        flows.iter().map(each).collect()
    }

    fn cross(&mut self, flow: &Flow, queue: u64) -> f64 {
        let mut header = flow.header();
        let packet = Arriving {
            now: self.now,
            queue: Bytes::new(queue),
            ..Arriving::alone(Bytes::new(flow.size))
        };
        self.router.on_arrival(&self.params.routers, &packet, Some(&mut header));
        self.router.on_departure(&self.params.routers, packet.size, &mut header);
        header.delta_throughput.into()
    }

    fn close(&mut self) {
        let elapsed = Duration::from_secs_f64(MEAN).unwrap();
        self.router.on_interval(&self.params.routers, elapsed, &PortView::IDLE);
        self.now += elapsed;
    }
}

#[test]
fn aggregate_feedback_is_that_of_section_3_5() {
    let (flows, queue) = (mix([40, 20, 10]), 20_000);
    let desk = Desk::settled(&flows, queue);
    let y: f64 = flows.iter().map(Flow::rate).sum();
    let phi = 0.4 * MEAN * (CAPACITY - y) - 0.226 * queue as f64;
    close(desk.router.rtt, MEAN, 1e-6);
    close(desk.router.signal(), phi, 1e-6);
}

/// Verifies `xi_p = (h + max(phi, 0)) / (d sum(rtt s / cwnd))`, `p_i = xi_p rtt^2 s / cwnd`, `xi_n = (h + max(-phi, 0))
/// / (d sum s)` and `n_i = xi_n rtt s`. Each packet changes the window of its flow by `p_i - n_i`.
#[test]
fn each_packet_gets_the_feedback_of_section_3_5() {
    for (loads, queue) in [([40, 20, 10], 0), ([100, 60, 20], 0), ([100, 50, 20], 30_000)] {
        let flows = mix(loads);
        let mut desk = Desk::settled(&flows, queue);
        let each = || {
            flows
                .iter()
                .flat_map(|flow| (0..flow.packets(MEAN)).map(move |_| *flow))
        };
        let bytes: f64 = each().map(|flow| flow.size as f64).sum();
        let phi = 0.4 * (MEAN * CAPACITY - bytes) - 0.226 * queue as f64;
        let h = (0.1 * bytes - phi.abs()).max(0.0);
        let gaps: f64 = each().map(|f| f.rtt * f.size as f64 / f.cwnd).sum();
        let (xi_p, xi_n) = (
            (h + phi.max(0.0)) / (MEAN * gaps),
            (h + (-phi).max(0.0)) / (MEAN * bytes),
        );
        for flow in flows {
            let Flow { rtt, cwnd, size } = flow;
            let (p, n) = (xi_p * rtt * rtt * size as f64 / cwnd, xi_n * rtt * size as f64);
            close(desk.cross(&flow, queue) * rtt, p - n, 1e-5);
        }
    }
}

proptest! {
    #[test]
    fn grants_of_an_interval_add_up_to_the_aggregate_feedback(
        loads in [2_u32..120, 1_u32..60, 1_u32..30], queue in 0_u64..100_000,
    ) {
        let flows = mix(loads);
        let mut desk = Desk::settled(&flows, queue);
        let granted: f64 = desk.pass(&flows, MEAN, queue).iter().flatten().sum();
        close(granted * MEAN, desk.router.signal(), 1e-4);
    }
}

#[test]
fn a_full_link_shuffles_a_tenth_of_its_traffic_and_gives_every_flow_the_same() {
    // The load is 125 kB in 0.1 s, the capacity of the link.
    let flows = mix([100, 60, 10]);
    let mut desk = Desk::settled(&flows, 0);
    close(desk.router.signal(), 0.0, 1e-6);
    let granted = desk.pass(&flows, MEAN, 0);
    let change: Vec<f64> = granted.iter().map(|packets| packets.iter().sum()).collect();
    close(change.iter().sum::<f64>() / CAPACITY, 0.0, 1e-6);
    for (flow, change) in flows.iter().zip(change) {
        close(change, 0.1 * (CAPACITY / 3.0 - flow.rate()), 1e-5);
    }
}

#[test]
fn grants_sum_to_the_aggregate_feedback() {
    for (loads, queue) in [([40, 20, 10], 0), ([100, 60, 10], 40_000)] {
        let flows = mix(loads);
        let mut desk = Desk::settled(&flows, queue);
        let granted: f64 = desk.pass(&flows, 5.0 * MEAN, queue).iter().flatten().sum();
        close(granted * MEAN, desk.router.signal(), 1e-4);
    }
}

#[test]
fn feedback_withheld_by_another_router_stays_in_the_pool() {
    let flows = mix([20, 10, 4]);
    let Desk { params, mut router, .. } = Desk::settled(&flows, 0);
    let before = router.pools;
    assert!(before.positive.left > 0.0 && before.negative.left == 0.0);
    let mut header = Header {
        delta_throughput: 10.0,
        ..flows[0].header()
    };
    router.on_departure(&params.routers, Bytes::new(500), &mut header);
    assert_eq!(header.delta_throughput, 10.0, "the smaller of two grants counts");
    close(before.positive.left - router.pools.positive.left, 10.0, 1e-9);
}

/// Verifies that a reduction by another router reduces the remaining feedback of this router (its pool). The effect is
/// at most twice the reduction that this router computes, because a header may be forged.
#[test]
fn reductions_by_another_router_count_in_the_negative_pool() {
    let flows = mix([100, 60, 30]);
    let Desk { params, router, .. } = Desk::settled(&flows, 0);
    let before = router.pools;
    let own_share = before.negative.per_unit * 1500.0;
    let mut header = flows[2].header();
    router
        .clone()
        .on_departure(&params.routers, Bytes::new(1500), &mut header);
    let own = f64::from(header.delta_throughput);
    let between = ((own - own_share) / 2.0) as f32;
    assert!(own < 0.0 && f64::from(between) < own);
    for (asked, counted) in [(between, f64::from(between)), (f32::MIN, -own_share)] {
        let mut router = router.clone();
        header.delta_throughput = asked;
        router.on_departure(&params.routers, Bytes::new(1500), &mut header);
        assert_eq!(header.delta_throughput, asked);
        let granted = before.positive.left - router.pools.positive.left;
        let taken = before.negative.left - router.pools.negative.left;
        close(granted - taken, counted, 1e-6);
        close(taken, own_share + own - counted, 1e-4);
    }
}

#[test]
fn a_packet_without_a_round_trip_time_counts_as_traffic_and_gets_nothing() {
    let params = params(&[]);
    let mut router = router(&params);
    let unknown = Header {
        gap: 0.0,
        rtt: 0.0,
        ..mix([1, 1, 1])[0].header()
    };
    let mut header = unknown;
    let interval = router.interval(&params.routers);
    assert_eq!(interval, Duration::from_ms(50), "before the first round-trip time");
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(62_500)), Some(&mut header));
    router.on_interval(&params.routers, interval, &PortView::IDLE);
    close(router.signal(), 0.0, 1e-9);
    assert_eq!(router.interval(&params.routers), interval);
    router.on_departure(&params.routers, Bytes::new(62_500), &mut header);
    assert_eq!(header.delta_throughput, 0.0);
}

#[test]
fn an_interval_without_arrivals_grants_nothing() {
    let flows = mix([10, 10, 10]);
    let mut desk = Desk::settled(&flows, 0);
    desk.close();
    assert_eq!(desk.router.interval(&desk.params.routers), Duration::from_ms(50));
    let granted = desk.pass(&flows, MEAN, 0);
    assert!(granted.iter().flatten().all(|change| *change == 0.0));
}

fn interval_after(changes: &[(&str, f64)], stamps: &[(f64, f64)]) -> f64 {
    let params = params(changes);
    let mut router = router(&params);
    for (gap, rtt) in stamps {
        let mut header = Header {
            gap: *gap as f32,
            rtt: *rtt as f32,
            ..mix([1, 1, 1])[0].header()
        };
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(1000)), Some(&mut header));
    }
    router.on_interval(&params.routers, Duration::from_ms(50), &PortView::IDLE);
    router.interval(&params.routers).as_secs_f64()
}

#[test]
fn the_interval_is_the_mean_or_the_largest_round_trip_time() {
    let stamps = [(0.01, 0.22), (0.03, 2.02)];
    close(interval_after(&[], &stamps), (0.01 * 0.22 + 0.03 * 1.0) / 0.04, 1e-7);
    let mean = (0.01 * 0.22 + 0.03 * 2.02) / 0.04;
    close(interval_after(&[("longest_interval", 100.0)], &stamps), mean, 1e-7);
    let largest = [("longest_interval", 100.0), ("rtt", 1.0)];
    close(interval_after(&largest, &stamps), 2.02, 1e-7);
    close(interval_after(&[("rtt", 1.0)], &stamps), 1.0, 1e-9);
    close(interval_after(&[], &[(1e-5, 1e-5)]), 0.001, 1e-9);
}

#[test]
fn limits_of_the_interval_have_an_order() {
    for changes in [
        [("longest_interval", 0.04), ("shortest_interval", 0.001)],
        [("longest_interval", 1.0), ("shortest_interval", 0.06)],
    ] {
        let refused = try_both::<Xcp>(&changes).unwrap_err();
        assert!(matches!(refused.problem, Problem::Conflict(_)), "{refused}");
    }
}

/// Returns the persistent queue, derived from `phi`. A packet arrives every 5 ms from time zero, and `queues` are the
/// backlogs at these arrivals.
fn persistent(queues: &[u64]) -> f64 {
    let params = params(&[("alpha", 0.0), ("beta", 1.0), ("gamma", 0.0)]);
    let mut router = router(&params);
    for (i, queue) in queues.iter().enumerate() {
        let packet = Arriving {
            now: Time::ZERO + Duration::from_ms(5 * i as u64),
            queue: Bytes::new(*queue),
            ..Arriving::alone(Bytes::new(1000))
        };
        router.on_arrival(&params.routers, &packet, None);
    }
    router.on_interval(&params.routers, Duration::from_ms(50), &PortView::IDLE);
    -router.signal()
}

#[test]
fn the_persistent_queue_is_the_smallest_of_half_a_round_trip() {
    // The round-trip time is 50 ms. Without a queue, search windows are 25 ms long.
    close(persistent(&[0, 0, 9000, 9000, 9000, 9000]), 0.0, 1e-9);
    // A queue of 12.5 kB drains in 10 ms. Search windows are therefore 20 ms long.
    let standing = [12_500, 14_000, 13_000, 15_000, 12_500];
    close(persistent(&standing), 12_500.0, 1e-9);
    let drained = [12_500, 14_000, 0, 15_000, 12_500];
    close(persistent(&drained), 0.0, 1e-9);
    let refilled = [0, 0, 0, 0, 0, 9000, 9000, 9000, 9000, 9000, 9000];
    close(persistent(&refilled), 9000.0, 1e-9);
}

fn sender(params: &Params) -> Sender {
    Sender::new(params, &FlowInfo::of(Bytes::new(1000)))
}

fn send(sender: &mut Sender, params: &Params) -> Header {
    let packet = Outgoing {
        number: 1,
        size: Bytes::new(1000),
        kind: Kind::Data,
    };
    sender.on_send(params, Time::ZERO, &packet)
}

fn ack(sender: &mut Sender, params: &Params, rtt_ms: u64, reverse_feedback: f32) {
    let header = Header {
        gap: 0.0,
        rtt: 0.0,
        reverse_feedback,
        delta_throughput: 0.0,
    };
    let feedback = Feedback::plain(1, Kind::Data, Duration::from_ms(rtt_ms), header);
    sender.on_feedback(params, Time::ZERO, &feedback);
}

#[test]
fn a_window_grows_by_the_feedback_of_a_round_trip_and_keeps_a_packet() {
    let params = params(&[]);
    assert_eq!(Xcp::transport(&params).opening, Opening::Handshake);
    let mut sender = sender(&params);
    let first = send(&mut sender, &params);
    assert_eq!((first.gap, first.rtt, first.delta_throughput), (0.0, 0.0, 0.0));
    ack(&mut sender, &params, 200, 0.0);
    assert_eq!(sender.window(), 2);
    let next = send(&mut sender, &params);
    assert_eq!((next.gap, next.rtt, next.delta_throughput), (0.1, 0.2, f32::INFINITY));
    close(sender.rate().bps(), 80e3, 1e-9);
    ack(&mut sender, &params, 200, 9_000.0);
    assert_eq!(sender.window(), 3, "2000 B + 9000 B/s 0.2 s are 3.8 packets");
    ack(&mut sender, &params, 200, 1_001.0);
    assert_eq!(sender.window(), 4);
    ack(&mut sender, &params, 200, f32::INFINITY);
    assert_eq!(sender.window(), 4, "no router on the path");
    ack(&mut sender, &params, 200, -1e9);
    assert_eq!(sender.window(), 1);
    ack(&mut sender, &params, 280, 0.0);
    close(send(&mut sender, &params).rtt.into(), 0.21, 1e-7);
}

#[test]
fn losses_halve_the_window_once_per_window_and_a_timeout_leaves_one_packet() {
    let params = params(&[]);
    let mut sender = sender(&params);
    ack(&mut sender, &params, 100, 80_000.0);
    assert_eq!(sender.window(), 10);
    let mut lose = |number, next| {
        let loss = Loss {
            number,
            next,
            outstanding: 0,
        };
        sender.on_loss(&params, Time::ZERO, &loss);
        sender.window()
    };
    let next = 3;
    assert_eq!(lose(u32::MAX, next), 5, "numbers wrap");
    assert_eq!(lose(2, 8), 5, "second loss of one window");
    assert_eq!(lose(3, 8), 2);
    sender.on_timeout(&params, Time::ZERO, 20);
    assert_eq!(sender.window(), 1);
}

#[test]
fn the_wire_layout_is_that_of_the_draft() {
    let header = Header {
        gap: 0.25,
        rtt: 0.5,
        reverse_feedback: -2.0,
        delta_throughput: f32::INFINITY,
    };
    let mut wire = [0; 20];
    header.encode(&mut wire);
    let expected = [
        0, 20, 0x33, 0, 0x3e, 0x80, 0, 0, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x7f, 0x80, 0, 0,
    ];
    assert_eq!(wire, expected);
    assert_eq!(Header::decode(&wire), Ok(header));
    for (at, bad) in [
        (0, 0x0014_3200_u32),
        (4, 0x7fc0_0000),
        (4, 0),
        (8, 0xbf80_0000),
        (8, 0x42ca_0000),
        (12, 0x7fc0_0000),
        (16, 0xff80_0000),
    ] {
        let mut wire = expected;
        wire[at..at + 4].copy_from_slice(&bad.to_be_bytes());
        assert!(Header::decode(&wire).is_err(), "{bad:x} at byte {at}");
    }
    let back = header.reflected();
    assert_eq!((back.reverse_feedback, back.rtt, back.gap), (f32::INFINITY, 0.0, 0.0));
}
