use std::vec::Vec;

use levelflow_units::{Bytes, Duration};

use super::{EmkcAvq, Header, Router, Sender};
use crate::Law;
use crate::emkc::{self, Emkc};
use crate::testing::{Both, Network, both, close, ms, port};
use crate::{Arriving, Feedback, FlowInfo, Header as _, Kind, Outgoing, Parameters, PortView, RouterLaw, SenderLaw};

const C: f64 = 10e6;
const SMALL: Bytes = Bytes::new(200);

fn values(table: &[crate::ParamSpec], changes: &[(&str, f64)]) -> Vec<f64> {
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    table.iter().map(|row| value(row.name).unwrap_or(row.default)).collect()
}

fn params(changes: &[(&str, f64)]) -> Both<EmkcAvq> {
    both(changes)
}

fn header(price: f32, rtt: f32) -> Header {
    let emkc = emkc::Header {
        id: 4,
        seq: 1,
        price,
        delta: 0.1,
        usr: 0,
    };
    Header::new(emkc, rtt)
}

/// Returns a router after control intervals of 100 ms. Each interval has one packet, given by its load in bit/s and its
/// round-trip time.
fn after(params: &Both<EmkcAvq>, intervals: &[(f64, f32)]) -> Router {
    let mut router = Router::new(&params.routers, &port(9, C));
    for (load, rtt) in intervals {
        let size = Bytes::new((load * 0.1 / 8.0) as u64);
        router.on_arrival(&params.routers, &Arriving::alone(size), Some(&mut header(0.0, *rtt)));
        router.on_interval(&params.routers, Duration::from_ms(100), &PortView::IDLE);
    }
    router
}

#[test]
fn eq_130_in_steps() {
    let params = params(&[]);
    let step = |load: f64, rtt: f64| 0.2 * 0.1 * (C - load) / rtt;
    close(after(&params, &[(2.0 * C, 0.0)]).signal(), 0.5, 1e-6);
    let over = C + step(2.0 * C, 0.5);
    close(after(&params, &[(2.0 * C, 0.5)]).signal(), 1.0 - over / (2.0 * C), 1e-6);
    let back = over + step(0.9 * C, 0.25);
    let twice = after(&params, &[(2.0 * C, 0.5), (0.9 * C, 0.25)]);
    close(twice.signal(), 1.0 - back / (0.9 * C), 1e-6);
    let kept = over + step(0.9 * C, 0.5);
    let silent = after(&params, &[(2.0 * C, 0.5), (0.9 * C, 0.0)]);
    close(silent.signal(), 1.0 - kept / (0.9 * C), 1e-6);
}

#[test]
fn the_virtual_capacity_has_a_ceiling_and_no_floor() {
    let params = params(&[("gamma", 0.9)]);
    let idle = after(&params, &[(0.1 * C, 0.01); 5]);
    close(idle.signal(), 1.0 - 0.9 / 0.1, 1e-6);
    close(idle.target().bps(), 0.9 * C, 1e-12);
    let flooded = after(&params, &[(3.0 * C, 0.1); 20]);
    close(flooded.signal(), 1.0 - (0.9 - 20.0 * 0.2 * 2.1) / 3.0, 1e-6);
    assert!(flooded.signal() > 1.0);
    assert_eq!(
        after(&params, &[(0.0, 0.1)]).signal(),
        f64::from(f32::MIN),
        "no arrivals"
    );
}

#[test]
fn the_largest_rtt_of_an_interval_counts() {
    let params = params(&[]);
    let mut router = Router::new(&params.routers, &port(9, C));
    for rtt in [0.1, 0.4, 0.2] {
        router.on_arrival(
            &params.routers,
            &Arriving::alone(Bytes::new(50_000)),
            Some(&mut header(0.0, rtt)),
        );
    }
    router.on_interval(&params.routers, Duration::from_ms(100), &PortView::IDLE);
    let load = 3.0 * 50_000.0 * 8.0 / 0.1;
    close(router.signal(), 1.0 - (C + 0.02 * (C - load) / 0.4) / load, 1e-6);
}

#[test]
fn a_larger_price_replaces_a_smaller_one() {
    let params = params(&[]);
    let mut router = after(&params, &[(2.0 * C, 0.0)]);
    for (price, id) in [(0.4, 9), (0.6, 4)] {
        let mut header = header(price, 0.3);
        router.on_arrival(&params.routers, &Arriving::alone(SMALL), Some(&mut header));
        assert_eq!((header.id, header.rtt), (id, 0.3));
    }
}

#[test]
fn a_sender_steps_as_emkc_does_and_tells_its_smoothed_rtt() {
    let changes = [("alpha", 1e6), ("beta", 0.9)];
    let avq = params(&changes);
    let plain = emkc::Params::read(&values(Emkc::INFO.params, &changes)).unwrap();
    let flow = FlowInfo::of(SMALL);
    let (mut ours, mut theirs) = (Sender::new(&avq, &flow), emkc::Sender::new(&plain, &flow));
    let mut smoothed = 0.0;
    for n in 0..50_u32 {
        let outgoing = Outgoing {
            number: n,
            size: SMALL,
            kind: Kind::Data,
        };
        let now = ms(30 * u64::from(n));
        let (sent, expected) = (
            ours.on_send(&avq, now, &outgoing),
            theirs.on_send(&plain, now, &outgoing),
        );
        assert_eq!(sent.emkc(), expected);
        close(f64::from(sent.rtt) + 1.0, smoothed + 1.0, 1e-6);
        let sample = 0.1 + 0.01 * f64::from(n % 7);
        smoothed = if n == 0 { sample } else { 0.6 * smoothed + 0.4 * sample };
        let emkc = emkc::Header {
            id: 1 + n / 20,
            seq: n / 2,
            price: 0.1 * (n % 5) as f32 - 0.2,
            delta: 0.05,
            usr: n,
        };
        let rtt = Duration::from_secs_f64(sample).unwrap();
        let header = Header::new(emkc, 0.0);
        ours.on_feedback(&avq, now, &Feedback::plain(n, Kind::Data, rtt, header));
        theirs.on_feedback(&plain, now, &Feedback::plain(n, Kind::Data, rtt, emkc));
        assert_eq!((ours.rate(), ours.bottleneck()), (theirs.rate(), theirs.bottleneck()));
    }
    assert!(ours.rate() != avq.initial_rate);
}

/// Returns a network in equilibrium, with one link and a flow for each round-trip time in `rtts`, ms.
fn settled(changes: &[(&str, f64)], rtts: &[u64]) -> Network<EmkcAvq> {
    let mut net = Network::<EmkcAvq>::new(params(changes), &[C]);
    for (flow, rtt) in rtts.iter().enumerate() {
        net.flow(SMALL, &[0], Duration::from_ms(*rtt), ms(130 * flow as u64));
    }
    net.run(ms(60_000));
    net
}

#[test]
fn flows_share_the_target_alike_and_lose_nothing() {
    for (gamma, rtts) in [(1.0, &[40][..]), (0.9, &[20, 60, 120]), (1.0, &[30, 60, 120, 200])] {
        let net = settled(&[("gamma", gamma), ("alpha", 500e3)], rtts);
        let n = rtts.len() as f64;
        for flow in 0..rtts.len() {
            close(net.flows[flow].rate(), gamma * C / n, 0.02);
        }
        let virtual_capacity = gamma * C * (1.0 - net.ports[0].router.signal());
        close(virtual_capacity, gamma * C - n * 500e3 / 0.5, 0.02);
    }
}

#[test]
fn the_price_of_a_stable_link_may_exceed_one() {
    let net = settled(&[("alpha", 2e6), ("beta", 0.3)], &[60, 100]);
    for flow in 0..2 {
        close(net.flows[flow].rate(), C / 2.0, 0.03);
    }
    close(net.ports[0].router.signal(), 2.0 * 2e6 / (0.3 * C), 0.03);
}

#[test]
fn the_wire_layout_is_emkcs_and_the_rtt() {
    let mut wire = [0xff; Header::WIRE];
    header(2.0, 0.5).encode(&mut wire);
    assert_eq!(wire[8..12], [0x40, 0, 0, 0]);
    assert_eq!(wire[20..], [0x3f, 0, 0, 0]);
    assert_eq!(Header::decode(&wire), Ok(header(2.0, 0.5)));
    for (price, rtt) in [(f32::INFINITY, 0.1), (f32::NAN, 0.1), (0.5, 100.5), (0.5, -0.1)] {
        header(price, rtt).encode(&mut wire);
        assert!(Header::decode(&wire).is_err(), "p {price}, rtt {rtt}");
    }
}
