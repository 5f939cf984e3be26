use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration};

use super::{Kelly, KellyHeader, KellyParams, KellyRouter, KellySender, params::TABLE};
use crate::net::{Net, close, ms, port};
use crate::{Arriving, Feedback, FlowInfo, Header, Kind, Law, Outgoing, PortView, RouterLaw, SenderLaw};

const C: f64 = 1e12;
const OMEGA: f64 = 1e10;
const DATA: Bytes = Bytes::new(1000);
const NOTHING: Bytes = Bytes::ZERO;

fn values(changes: &[(&str, f64)]) -> Vec<f64> {
    assert!(
        changes
            .iter()
            .all(|(name, _)| TABLE.iter().any(|row| row.name == *name))
    );
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    TABLE.iter().map(|row| value(row.name).unwrap_or(row.default)).collect()
}

fn params(changes: &[(&str, f64)]) -> KellyParams {
    Kelly::params(&values(changes)).unwrap()
}

fn outgoing(number: u32) -> Outgoing {
    Outgoing {
        number,
        size: DATA,
        kind: Kind::Data,
    }
}

/// Rates of one flow over routers of these capacities, all of whose answers come `delay` steps later: in each step the
/// routers average exactly the rate of that step, and the packet that reports it carries that rate. The start is held
/// before.
fn steps(params: &KellyParams, capacities: &[f64], delay: usize, count: usize) -> Vec<f64> {
    let mut sender = KellySender::new(params, &FlowInfo { packet_size: DATA });
    let mut routers: Vec<_> = capacities
        .iter()
        .map(|c| KellyRouter::new(params, &port(1, *c)))
        .collect();
    let mut answers = VecDeque::new();
    let mut rates = Vec::new();
    for n in 0..count + delay {
        let now = ms(30 * n as u64);
        rates.push(sender.rate().bps());
        let mut header = sender.on_send(params, now, &outgoing(n as u32));
        let load = Bytes::new(sender.rate().bytes_in(params.interval) as u64);
        for router in &mut routers {
            router.on_arrival(params, &Arriving::alone(load), None);
            router.on_interval(params, params.interval, &PortView::IDLE);
            router.on_arrival(params, &Arriving::alone(NOTHING), Some(&mut header));
        }
        answers.push_back(header);
        if answers.len() == delay {
            let header = answers.pop_front().expect("just pushed");
            let rtt = Duration::from_ms(30 * delay as u64);
            sender.on_feedback(params, now, &Feedback::plain(n as u32, Kind::Data, rtt, header));
        }
    }
    rates.split_off(delay - 1)
}

/// Eq 54.
fn eq_54(kappa: f64, start: f64, delay: usize, count: usize) -> Vec<f64> {
    let mut x = std::vec![start; delay];
    for n in delay..count + delay {
        x.push(x[n - 1] + kappa * OMEGA - kappa * (x[n - delay] - C));
    }
    x.split_off(delay - 1)
}

/// Largest distance from the fixed point in the last tenth.
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
            assert!(measured.len() > 40 && measured[40] != start);
            for (x, exact) in measured.iter().zip(&expected) {
                close(*x, *exact, 1e-5);
            }
        }
    }
}

#[test]
fn a_gain_of_one_half_is_stable_up_to_a_delay_of_three_steps() {
    for (delay, stable) in [(1, true), (2, true), (3, true), (4, false)] {
        let params = params(&[("omega", OMEGA), ("initial_rate", C)]);
        let rates = steps(&params, &[C], delay, 400);
        if stable {
            close(rates[400], C + OMEGA, 1e-6);
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
        close(rates[200], (c1 + c2 + OMEGA) / 2.0, 1e-6);
    }
}

#[test]
fn flows_end_at_their_share_and_overload_the_link_by_omega_each() {
    let params = params(&[("omega", 2e6)]);
    let mut net = Net::<Kelly>::new(params, &[10e6]);
    for flow in 0..4 {
        net.flow(Bytes::new(200), &[0], Duration::from_ms(20), ms(50 * flow));
    }
    net.run(ms(20_000));
    for flow in 0..4 {
        close(net.rate(flow), 10e6 / 4.0 + 2e6, 0.02);
    }
    close(net.routers[0].signal(), 8.0 / 18.0, 0.02);
}

#[test]
fn a_router_counts_all_that_arrives_and_keeps_its_price_while_nothing_does() {
    let params = params(&[]);
    let mut router = KellyRouter::new(&params, &port(1, 1e6));
    let sent = KellyHeader { price: 0.25, rate: 1e6 };
    let pass = |router: &mut KellyRouter, size| {
        let mut header = sent;
        router.on_arrival(&params, &Arriving::alone(Bytes::new(size)), Some(&mut header));
        header.price
    };
    assert_eq!(
        pass(&mut router, 10_000),
        0.25,
        "nothing is known in the first interval"
    );
    router.on_arrival(&params, &Arriving::alone(Bytes::new(15_000)), None);
    for _ in 0..2 {
        router.on_interval(&params, Duration::from_ms(100), &PortView::IDLE);
        assert_eq!(pass(&mut router, 0), 0.75);
    }
    pass(&mut router, 5_000);
    router.on_interval(&params, Duration::from_ms(100), &PortView::IDLE);
    assert_eq!(pass(&mut router, 0), 0.25 - 1.5);
}

#[test]
fn a_sender_steps_from_its_latest_rate_once_per_step() {
    let params = params(&[("initial_rate", 1e6)]);
    let mut sender = KellySender::new(&params, &FlowInfo { packet_size: DATA });
    let mut tell = |at: u64, price: f32| {
        let header = KellyHeader { price, rate: 2e6 };
        let feedback = Feedback::plain(0, Kind::Data, Duration::from_ms(20), header);
        sender.on_feedback(&params, ms(at), &feedback);
        sender.rate().bps()
    };
    let step = |from: f64, price: f64| from + 0.5 * (20e3 - 2e6 * price);
    let first = step(1e6, 0.25);
    close(tell(100, 0.25), first, 1e-12);
    close(tell(129, 0.5), first, 0.0);
    let second = step(first, -1.0);
    close(tell(135, -1.0), second, 1e-12);
    close(tell(159, -1.0), second, 0.0);
    close(tell(160, 0.0), step(second, 0.0), 1e-12);
    close(tell(300, f32::MAX), params.min_rate.bps(), 0.0);
}

#[test]
fn the_wire_layout_is_price_then_rate() {
    let mut wire = [0xff; KellyHeader::WIRE];
    KellyHeader { price: -2.0, rate: 0.5 }.encode(&mut wire);
    assert_eq!(wire, [0xc0, 0, 0, 0, 0x3f, 0, 0, 0]);
    for (price, rate) in [
        (f32::NAN, 1.0),
        (f32::INFINITY, 1.0),
        (0.0, f32::NAN),
        (0.0, -1.0),
        (0.0, f32::INFINITY),
    ] {
        KellyHeader { price, rate }.encode(&mut wire);
        assert!(KellyHeader::decode(&wire).is_err(), "price {price}, rate {rate}");
    }
    let refused = Kelly::params(&values(&[("initial_rate", 500.0)])).unwrap_err();
    assert_eq!(refused.name, "initial_rate");
}
