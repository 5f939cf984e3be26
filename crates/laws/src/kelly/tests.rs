use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{Header, Kelly, Params, Router, Sender};
use crate::testing::{Both, Network, both, close, ms, port};
use crate::{Arriving, Feedback, FlowInfo, Header as _, Kind, Parameters, PortView, RouterLaw, SenderLaw};

const C: f64 = 1e12;
const OMEGA: f64 = 1e10;
const DATA: Bytes = Bytes::new(1000);

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

fn params(changes: &[(&str, f64)]) -> Both<Kelly> {
    both(changes)
}

/// Returns the rate of one flow in each step. The path has routers of these capacities. The control intervals of all
/// routers contain the same packets. The prices of step `n` change the rate of step `n + delay`.
fn steps(params: &Both<Kelly>, capacities: &[f64], delay: usize, count: usize) -> Vec<f64> {
    let mut sender = Sender::new(params, &FlowInfo::of(DATA));
    let mut routers: Vec<_> = capacities
        .iter()
        .map(|c| Router::new(&params.routers, &port(1, *c)))
        .collect();
    let mut interval = |packets: u64| {
        let mut header = Header::UNSET;
        for router in &mut routers {
            let load = Bytes::new(packets * DATA.get());
            router.on_arrival(&params.routers, &Arriving::alone(load), None);
            router.on_interval(&params.routers, params.interval, &PortView::IDLE);
            router.on_arrival(&params.routers, &Arriving::alone(Bytes::ZERO), Some(&mut header));
        }
        header
    };
    let mut number = 0;
    acknowledge(params, &mut sender, number, interval(0));
    let (mut rates, mut acks) = (Vec::new(), VecDeque::new());
    for _ in 0..count {
        rates.push(sender.rate().bps());
        let packets = (sender.rate().bytes_in(params.interval) / DATA.get() as f64).round() as u64;
        number += packets as u32;
        acks.push_back((number, interval(packets)));
        if acks.len() == delay {
            let (number, header) = acks.pop_front().expect("just pushed");
            acknowledge(params, &mut sender, number, header);
        }
    }
    rates
}

fn acknowledge(params: &Params, sender: &mut Sender, number: u32, header: Header) {
    let feedback = Feedback::plain(number, Kind::Data, Duration::ZERO, header);
    sender.on_feedback(params, Time::ZERO, &feedback);
}

/// Computes the rates by eq 54.
fn eq_54(kappa: f64, start: f64, delay: usize, count: usize) -> Vec<f64> {
    let mut x = std::vec![start; delay];
    for n in delay..count {
        x.push(x[n - 1] + kappa * OMEGA - kappa * (x[n - delay] - C));
    }
    x
}

/// Returns the largest distance from the fixed point over the last tenth of the rates.
fn rest(rates: &[f64]) -> f64 {
    let last = &rates[rates.len() * 9 / 10..];
    last.iter().map(|x| (x - C - OMEGA).abs()).fold(0.0, f64::max)
}

#[test]
fn one_flow_follows_eq_54_step_by_step() {
    let start = 1.1 * C;
    for delay in 1..=4 {
        for kappa in [0.25, 0.5] {
            let params = params(&[("kappa", kappa), ("omega", OMEGA), ("initial_rate", start)]);
            let (measured, expected) = (steps(&params, &[C], delay, 40), eq_54(kappa, start, delay, 40));
            for (x, exact) in measured.iter().zip(&expected) {
                close(*x, *exact, 1e-5);
            }
            assert!((measured[delay] - start).abs() > 0.01 * C);
        }
    }
}

#[test]
fn a_gain_of_one_half_is_stable_up_to_a_delay_of_three_steps() {
    for (delay, stable) in [(1, true), (2, true), (3, true), (4, false)] {
        let params = params(&[("omega", OMEGA), ("initial_rate", C)]);
        let rates = steps(&params, &[C], delay, 400);
        if stable {
            close(rates[399], C + OMEGA, 1e-6);
        } else {
            assert!(rest(&rates) > 0.5 * C, "delay {delay}: {}", rest(&rates));
            let lowest = rates.iter().copied().fold(f64::MAX, f64::min);
            close(lowest, params.min_rate.bps(), 0.0);
        }
    }
}

#[test]
fn the_critical_gains_are_those_of_eq_3() {
    for (delay, critical) in [(1, 2.0), (2, 1.0), (3, 0.618_034), (4, 0.445_042)] {
        for (share, grows) in [(0.98, false), (1.02, true)] {
            let off = 1e-3 * C;
            let start = C + OMEGA + off;
            let params = params(&[("kappa", share * critical), ("omega", OMEGA), ("initial_rate", start)]);
            let left = rest(&steps(&params, &[C], delay, 600));
            assert_eq!(left > off, grows, "delay {delay}, {share} of the critical gain: {left}");
        }
    }
}

#[test]
fn the_prices_of_a_path_are_summed() {
    let params = params(&[("omega", OMEGA), ("initial_rate", C)]);
    for [c1, c2] in [[C, C], [C, 3.0 * C], [0.5 * C, 2.0 * C]] {
        let rates = steps(&params, &[c1, c2], 1, 200);
        close(rates[199], (c1 + c2 + OMEGA) / 2.0, 1e-6);
    }
}

#[test]
fn flows_end_at_their_share_and_overload_the_link_by_omega_each() {
    let params = params(&[("omega", 2e6)]);
    let mut net = Network::<Kelly>::new(params, &[10e6]);
    for flow in 0..4 {
        net.flow(Bytes::new(200), &[0], Duration::from_ms(20), ms(50 * flow));
    }
    net.run(ms(20_000));
    for flow in 0..4 {
        close(net.flows[flow].rate(), 10e6 / 4.0 + 2e6, 0.02);
    }
    close(net.ports[0].router.signal(), 8.0 / 18.0, 0.02);
}

#[test]
fn a_router_counts_all_that_arrives_and_keeps_its_price_while_nothing_does() {
    let params = params(&[]);
    let mut router = Router::new(&params.routers, &port(1, 1e6));
    let pass = |router: &mut Router, size| {
        let mut header = Header { price: 0.25, seq: 0 };
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(size)), Some(&mut header));
        (header.price, header.seq)
    };
    assert_eq!(
        pass(&mut router, 10_000),
        (0.25, 0),
        "no measurement in the first interval"
    );
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(15_000)), None);
    for seq in 1..=2 {
        router.on_interval(&params.routers, Duration::from_ms(100), &PortView::IDLE);
        assert_eq!(pass(&mut router, 0), (0.75, seq));
    }
    pass(&mut router, 5_000);
    router.on_interval(&params.routers, Duration::from_ms(100), &PortView::IDLE);
    assert_eq!(pass(&mut router, 0), (0.25 - 1.5, 3));
    let mut other = Header { price: 0.0, seq: 70 };
    router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut other));
    assert_eq!(
        other,
        Header { price: -1.5, seq: 70 },
        "the first router clocks the sender"
    );
}

#[test]
fn a_sender_steps_once_per_interval_from_its_latest_rate() {
    let params = params(&[("interval", 0.1), ("initial_rate", 500e3)]);
    let mut sender = Sender::new(&params, &FlowInfo::of(DATA));
    let mut rate = |number, price, seq| {
        acknowledge(&params, &mut sender, number, Header { price, seq });
        sender.rate().bps()
    };
    let step = |x: f64, steps: f64, sent: f64, price: f64| x + 0.5 * (steps * 20e3 - sent * price);
    close(rate(0, 0.5, 0), 500e3, 0.0);
    close(rate(10, 0.5, 3), 500e3, 0.0);
    let first = step(500e3, 1.0, 20.0 * 8000.0 / 0.1, -0.25);
    close(rate(30, -0.25, 4), first, 1e-12);
    close(rate(40, 0.5, 4), first, 0.0);
    close(rate(35, 0.5, 5), first, 0.0);
    let second = step(first, 3.0, 30.0 * 8000.0 / 0.1, 0.125);
    close(rate(60, 0.125, 7), second, 1e-12);
    close(rate(70, 0.5, 2), second, 0.0);
    close(rate(71, 0.0, 3), step(second, 1.0, 0.0, 0.0), 1e-12);
    close(rate(72, f32::MAX, 4), params.min_rate.bps(), 0.0);
}

#[test]
fn the_wire_layout_is_price_then_count() {
    let mut wire = [0xff; Header::WIRE];
    Header {
        price: -2.0,
        seq: 0x0102_0304,
    }
    .encode(&mut wire);
    assert_eq!(wire, [0xc0, 0, 0, 0, 1, 2, 3, 4]);
    for price in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        Header { price, seq: 1 }.encode(&mut wire);
        assert!(Header::decode(&wire).is_err(), "price {price}");
    }
    let refused = Params::read(&values(&[("initial_rate", 500.0)])).unwrap_err();
    assert_eq!(refused.name, "initial_rate");
}
