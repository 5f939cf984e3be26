use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{Emkc, Header, Params, Router, Sender};
use crate::testing::{Both, Network, both, close, ms, port};
use crate::{
    Arriving, Bottleneck, Feedback, FlowInfo, Header as _, Kind, Outgoing, Parameters, PortView, RouterLaw, SenderLaw,
};

const IDLE: PortView = PortView::IDLE;
const SMALL: Bytes = Bytes::new(200);

fn values(changes: &[(&str, f64)]) -> Vec<f64> {
    assert!(
        changes
            .iter()
            .all(|(name, _)| Params::TABLE.iter().any(|row| row.name == *name))
    );
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    Params::TABLE
        .iter()
        .map(|row| value(row.name).unwrap_or(row.default))
        .collect()
}

fn params(changes: &[(&str, f64)]) -> Both<Emkc> {
    both(changes)
}

/// Returns the network of figs 19 and 20 after 3 s: one flow, 10 Mb/s, alpha 100 kb/s, beta 0.9, Delta 50 ms, packets
/// of 200 B.
fn fig_19(sender: f64, rtt: u64) -> Network<Emkc> {
    let changes = [("alpha", 100e3), ("beta", 0.9), ("interval", 0.05), ("sender", sender)];
    let mut net = Network::<Emkc>::new(params(&changes), &[10e6]);
    net.flow(SMALL, &[0], Duration::from_ms(rtt), Time::ZERO);
    net.run(ms(3000));
    net
}

#[test]
fn the_proper_sender_rises_to_its_fixed_point_and_stays() {
    let fixed_point = 10e6 + 100e3 / 0.9;
    for rtt in [10, 30, 40, 60, 100] {
        let net = fig_19(0.0, rtt);
        close(net.flows[0].rate(), fixed_point, 0.01);
        assert!(
            net.flows[0].peak() <= 1.02 * fixed_point,
            "RTT {rtt} ms: peak {}",
            net.flows[0].peak()
        );
        let settled = net.flows[0]
            .rates
            .iter()
            .rev()
            .find(|(_, rate)| (rate / fixed_point - 1.0).abs() > 0.02);
        assert!(settled.unwrap().0 < ms(600), "RTT {rtt} ms: settles at {settled:?}");
        let pairs = net.flows[0].rates.windows(2);
        let fall = pairs.map(|w| 1.0 - w[1].1 / w[0].1).fold(0.0, f64::max);
        assert!(fall < 0.02, "RTT {rtt} ms: falls by {fall}, beyond packet granularity");
    }
}

#[test]
fn the_naive_sender_overshoots() {
    let peak = [20, 30, 40, 60]
        .map(|rtt| fig_19(1.0, rtt).flows[0].peak())
        .into_iter()
        .fold(0.0, f64::max);
    assert!(peak > 3.0 * 10e6, "overshoot of {:.0} %", (peak / 10e6 - 1.0) * 100.0);
}

#[test]
fn flows_share_alike_whatever_their_rtt() {
    let mut net = Network::<Emkc>::new(params(&[("alpha", 1e6)]), &[10e6]);
    for (flow, rtt) in [10, 50, 100, 200].into_iter().enumerate() {
        net.flow(SMALL, &[0], Duration::from_ms(rtt), ms(130 * flow as u64));
    }
    net.run(ms(20_000));
    for flow in 0..4 {
        close(net.flows[flow].rate(), 10e6 / 4.0 + 1e6 / 0.5, 0.02);
    }
    let (n, c, alpha, beta) = (4.0, 10e6, 1e6, 0.5);
    close(net.ports[0].router.signal(), n * alpha / (c * beta + n * alpha), 0.02);
}

#[test]
fn the_bottleneck_is_found_and_followed() {
    let params = params(&[("alpha", 1e6), ("beta", 0.9)]);
    let mut net = Network::<Emkc>::new(params, &[30e6, 20e6, 18e6]);
    net.flow(SMALL, &[0, 1, 2], Duration::from_ms(610), Time::ZERO);
    net.run(ms(10_000));
    assert_eq!(net.flows[0].sender.bottleneck(), Bottleneck::Router(3));
    close(net.flows[0].rate(), 18e6 + 1e6 / 0.9, 0.01);
    let alone = net.flows[0].rate();
    net.flow(SMALL, &[1], Duration::from_ms(500), ms(10_000));
    net.run(ms(90_000));
    assert_eq!(net.flows[0].sender.bottleneck(), Bottleneck::Router(2));
    for flow in 0..2 {
        close(net.flows[flow].rate(), 10e6 + 1e6 / 0.9, 0.02);
    }
    assert!(
        net.flows[0].peak() <= 1.05 * alone,
        "x1 peaks at {}",
        net.flows[0].peak()
    );
}

#[test]
fn a_router_reports_the_interval_that_ended_and_counts_all_that_arrives() {
    let params = params(&[]);
    let mut router = Router::new(&params.routers, &port(9, 1e6));
    let mut fresh = Header::unset(5);
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(10_000)), Some(&mut fresh));
    assert_eq!(fresh, Header::unset(5), "no measurement in the first interval");
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(15_000)), None);
    router.on_interval(&params.routers, Duration::from_ms(100), &IDLE);
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(1)), Some(&mut fresh));
    assert_eq!(
        fresh,
        Header {
            id: 9,
            seq: 1,
            price: 0.5,
            delta: 0.1,
            usr: 5
        }
    );
    let mut worse = Header {
        id: 4,
        seq: 8,
        price: 0.6,
        delta: 0.2,
        usr: 5,
    };
    let before = worse;
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(1)), Some(&mut worse));
    assert_eq!(worse, before, "the largest price of the path stays");
    router.on_interval(&params.routers, Duration::from_ms(100), &IDLE);
    router.on_interval(&params.routers, Duration::from_ms(100), &IDLE);
    assert_eq!(router.signal(), f64::from(f32::MIN), "no arrivals");
}

/// Returns a sender after the ACK of packet 0. This ACK has feedback of router 1: one finished interval and price 0.1.
fn listening(changes: &[(&str, f64)]) -> (Params, Sender) {
    let params = params(changes);
    let mut sender = Sender::new(&params, &FlowInfo::of(Bytes::new(1000)));
    acknowledge(&params, &mut sender, 0, 0, (1, 1, 0.1));
    (params.sender, sender)
}

fn acknowledge(params: &Params, sender: &mut Sender, at: u64, number: u32, (id, seq, price): (u32, u32, f32)) -> f64 {
    let header = Header {
        id,
        seq,
        price,
        delta: 0.1,
        usr: 1e6_f32.to_bits(),
    };
    let feedback = Feedback::plain(number, Kind::Data, Duration::from_ms(50), header);
    sender.on_feedback(params, ms(at), &feedback);
    sender.rate().bps()
}

/// Computes the rate by eq 61 with the defaults alpha 200 kb/s and beta 0.5.
fn step(reference: f64, price: f64) -> f64 {
    reference + 200e3 - 0.5 * price * reference
}

#[test]
fn a_step_averages_the_packets_that_the_router_averaged() {
    let (params, mut sender) = listening(&[]);
    assert_eq!(
        sender.rate(),
        params.initial_rate,
        "the first feedback only marks a packet"
    );
    close(
        acknowledge(&params, &mut sender, 100, 20, (1, 2, 0.1)),
        step(20.0 * 8000.0 / 0.1, 0.1),
        1e-7,
    );
    close(
        acknowledge(&params, &mut sender, 110, 25, (1, 2, 0.1)),
        step(20.0 * 8000.0 / 0.1, 0.1),
        1e-7,
    );
    close(
        acknowledge(&params, &mut sender, 300, 80, (1, 4, 0.2)),
        step(60.0 * 8000.0 / 0.2, 0.2),
        1e-7,
    );
    let rate = sender.rate().bps();
    close(acknowledge(&params, &mut sender, 310, 60, (1, 5, 0.9)), rate, 0.0);
    close(acknowledge(&params, &mut sender, 400, 90, (1, 5, f32::MIN)), rate, 0.0);
    close(
        acknowledge(&params, &mut sender, 500, 100, (1, 6, 0.0)),
        step(10.0 * 8000.0 / 0.1, 0.0),
        1e-7,
    );
    let rate = sender.rate().bps();
    close(acknowledge(&params, &mut sender, 600, 120, (1, 1, 0.5)), rate, 0.0);
    close(
        acknowledge(&params, &mut sender, 700, 130, (1, 2, 0.0)),
        step(10.0 * 8000.0 / 0.1, 0.0),
        1e-7,
    );
}

#[test]
fn the_naive_sender_steps_from_the_echoed_rate() {
    let (params, mut sender) = listening(&[("sender", 1.0)]);
    close(sender.rate().bps(), step(1e6, 0.1), 1e-7);
    close(
        acknowledge(&params, &mut sender, 100, 20, (1, 2, -3.0)),
        step(1e6, -3.0),
        1e-7,
    );
    let outgoing = Outgoing {
        number: 21,
        size: SMALL,
        kind: Kind::Data,
    };
    let stamped = sender.on_send(&params, ms(100), &outgoing);
    close(f64::from(f32::from_bits(stamped.usr)), sender.rate().bps(), 1e-7);
}

#[test]
fn a_switch_needs_a_clear_price_and_holds_for_one_rtt() {
    let (params, mut sender) = listening(&[]);
    let rate = acknowledge(&params, &mut sender, 100, 10, (1, 2, 0.1));
    acknowledge(&params, &mut sender, 110, 11, (2, 70, 0.105));
    assert_eq!(sender.bottleneck(), Bottleneck::Router(1), "0.005 is within delta");
    acknowledge(&params, &mut sender, 120, 12, (2, 70, 0.12));
    assert_eq!(sender.bottleneck(), Bottleneck::Router(2));
    acknowledge(&params, &mut sender, 130, 13, (2, 71, 0.12));
    close(acknowledge(&params, &mut sender, 149, 33, (2, 72, 0.12)), rate, 0.0);
    close(
        acknowledge(&params, &mut sender, 151, 73, (2, 73, 0.12)),
        step(40.0 * 8000.0 / 0.1, 0.12),
        1e-6,
    );
}

#[test]
fn an_interval_whose_first_packet_is_not_known_counts_only_at_a_steady_rate() {
    let (params, mut sender) = listening(&[("delta", 0.1)]);
    let rate = acknowledge(&params, &mut sender, 100, 10, (1, 2, 0.1));
    acknowledge(&params, &mut sender, 150, 15, (2, 70, 0.12));
    close(acknowledge(&params, &mut sender, 210, 40, (1, 3, 0.1)), rate, 0.0);
    close(acknowledge(&params, &mut sender, 300, 50, (1, 4, 0.1)), rate, 0.0);
    close(
        acknowledge(&params, &mut sender, 351, 60, (1, 5, 0.1)),
        step(10.0 * 8000.0 / 0.1, 0.1),
        1e-6,
    );
    let rate = sender.rate().bps();
    acknowledge(&params, &mut sender, 400, 70, (2, 71, 0.12));
    close(acknowledge(&params, &mut sender, 1400, 80, (1, 7, 0.1)), rate, 0.0);
    acknowledge(&params, &mut sender, 1401, 81, (2, 80, 0.12));
    close(
        acknowledge(&params, &mut sender, 1402, 90, (1, 8, 0.1)),
        step(rate, 0.1),
        1e-6,
    );
}

#[test]
fn a_silent_bottleneck_is_left_even_at_an_equal_price() {
    let (params, mut sender) = listening(&[]);
    acknowledge(&params, &mut sender, 340, 10, (2, 70, 0.1));
    assert_eq!(sender.bottleneck(), Bottleneck::Router(1));
    acknowledge(&params, &mut sender, 360, 20, (2, 70, 0.1));
    assert_eq!(
        sender.bottleneck(),
        Bottleneck::Router(2),
        "3 Delta + RTT = 350 ms have passed"
    );
}

#[test]
fn without_switch_handling_sequence_numbers_of_all_routers_are_compared() {
    let (params, mut sender) = listening(&[("switch", 1.0)]);
    let rate = acknowledge(&params, &mut sender, 50, 10, (2, 70, 0.105));
    close(rate, step(10.0 * 8000.0 / 0.1, 0.105), 1e-6);
    assert_eq!(sender.bottleneck(), Bottleneck::Router(2));
    close(acknowledge(&params, &mut sender, 250, 30, (1, 4, 0.3)), rate, 0.0);
    close(
        acknowledge(&params, &mut sender, 450, 50, (2, 74, 0.2)),
        step(40.0 * 8000.0 / 0.1, 0.2),
        1e-6,
    );
}

#[test]
fn a_rate_never_falls_below_its_floor() {
    let (params, mut sender) = listening(&[("beta", 1.9), ("alpha", 1.0)]);
    close(
        acknowledge(&params, &mut sender, 100, 1, (1, 2, 1.0)),
        params.min_rate.bps(),
        0.0,
    );
    let refused = Params::read(&values(&[("initial_rate", 500.0)])).unwrap_err();
    assert_eq!(
        (refused.name, std::format!("{refused}").as_str()),
        ("initial_rate", "must be at least min_rate")
    );
}

#[test]
fn the_wire_layout_is_fig_18() {
    let mut wire = [0xff; Header::WIRE];
    Header {
        id: 1,
        seq: 0x0203,
        price: -2.0,
        delta: 0.5,
        usr: 0x0405_0607,
    }
    .encode(&mut wire);
    assert_eq!(wire, [0, 0, 0, 1, 0, 0, 2, 3, 0xc0, 0, 0, 0, 0x3f, 0, 0, 0, 4, 5, 6, 7]);
    for (price, delta) in [
        (f32::NAN, 0.1),
        (1.5, 0.1),
        (f32::NEG_INFINITY, 0.1),
        (0.5, f32::NAN),
        (0.5, -0.1),
    ] {
        Header {
            id: 1,
            seq: 1,
            price,
            delta,
            usr: 0,
        }
        .encode(&mut wire);
        assert!(Header::decode(&wire).is_err(), "p {price}, Delta {delta}");
    }
}

#[test]
fn packet_numbers_may_wrap() {
    let params = params(&[]);
    let packet_size = Bytes::new(1000);
    let mut sender = Sender::new(&params, &FlowInfo::of(packet_size));
    sender.next = u32::MAX - 60;
    acknowledge(&params, &mut sender, 100, u32::MAX - 60, (1, 3, 0.2));
    acknowledge(&params, &mut sender, 200, u32::MAX - 50, (1, 4, 0.2));
    let rate = acknowledge(&params, &mut sender, 300, 9, (1, 5, 0.2));
    close(rate, step(60.0 * 8000.0 / 0.1, 0.2), 1e-6);
}
