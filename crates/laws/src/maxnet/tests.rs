use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::header::{self, MAX_CODE, MAX_START};
use super::{Header, MaxNet, Params, Receiver, Router, Sender, Signals};
use crate::testing::{Both, both};
use crate::{
    Arrived, Arriving, Feedback, FlowInfo, Header as _, Kind, Opening, Outgoing, PortInfo, PortView, Protocol,
    RouterLaw, SenderLaw, Signalling,
};

mod closed_loop;
mod source;
mod start;

const X_MAX: f64 = 1e15;
const T: f64 = 0.4;
const C: f64 = 622e6;
const DATA: Bytes = Bytes::new(1500);

fn params(changes: &[(&str, f64)]) -> Both<MaxNet> {
    both(changes)
}

fn router(params: &Both<MaxNet>, capacity: f64) -> Router {
    let capacity = Rate::new(capacity).unwrap();
    Router::new(&params.routers, &PortInfo { id: 1, capacity })
}

fn sender(params: &Params) -> Sender {
    Sender::new(params, &FlowInfo::of(DATA))
}

fn outgoing(kind: Kind) -> Outgoing {
    Outgoing {
        number: 0,
        size: DATA,
        kind,
    }
}

/// Returns an ACK with the field `echo`, after a round-trip time of `rtt`.
fn ack(kind: Kind, echo: u32, rtt: Duration) -> Feedback<Header> {
    Feedback::plain(0, kind, rtt, Header { echo, price: 0 })
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value).unwrap()
}

fn at(value: f64) -> Time {
    Time::ZERO + seconds(value)
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

/// Raises the router's price well above its floor.
fn raise(params: &Both<MaxNet>, router: &mut Router) {
    let flooded = PortView {
        queue: Bytes::new(100_000_000),
        ..PortView::IDLE
    };
    (0..100).for_each(|_| router.on_interval(&params.routers, seconds(0.001), &flooded));
}

/// Returns the change of the price in one interval of 1 ms. The load is `y` bit/s, and the link needs `queue` seconds
/// to send its queue.
fn price_step(params: &Both<MaxNet>, y: f64, queue: f64) -> f64 {
    let mut router = router(params, C);
    raise(params, &mut router);
    let before = router.signal();
    let bytes = |bits: f64| Bytes::new((bits / 8.0).round() as u64);
    router.on_arrival(&params.routers, &Arriving::alone(bytes(y * 0.001)), None);
    let view = PortView {
        queue: bytes(queue * C),
        ..PortView::IDLE
    };
    router.on_interval(&params.routers, seconds(0.001), &view);
    router.signal() - before
}

#[test]
fn eq_3_in_one_interval() {
    let plain = params(&[]);
    close(price_step(&plain, C, 0.0), 0.1 * 0.001, 1e-12);
    close(price_step(&plain, 0.0, 0.0), -0.0009, 1e-12);
    close(price_step(&plain, 0.9 * C, 0.0), 0.0, 1e-12);
    close(price_step(&params(&[("mu", 0.94)]), 0.54 * C, 0.0), -0.4 * 0.001, 1e-12);
}

/// Verifies that the price counts the queue of a saturated link as load (section IV-A). For `T_0 = tau` and a sum of
/// windows `W`, a queue of `W - C tau` counts as a load of `W/tau`.
#[test]
fn a_queue_stands_for_the_load_that_windows_hold_back() {
    let tau = 0.029;
    let params = params(&[("t0", tau)]);
    close(price_step(&params, C, tau), 0.001 * (2.0 - 0.9), 1e-10);
}

#[test]
fn a_packet_that_is_being_sent_is_no_queue() {
    let params = params(&[]);
    let mut router = router(&params, C);
    raise(&params, &mut router);
    let mut step = |packets: u32| {
        let before = router.signal();
        let view = PortView {
            queue: Bytes::new(1500 + 40 * u64::from(packets - 1)),
            packets,
            in_service: Bytes::new(1500),
            ..PortView::IDLE
        };
        router.on_interval(&params.routers, seconds(0.001), &view);
        router.signal() - before
    };
    close(step(1), -0.0009, 1e-12);
    close(step(3), -0.0009 + 2.0 * 320.0 / C * 0.001 / 0.13, 1e-12);
}

/// Verifies that the floor of the price is `T ln(x_max/C)`, computed with 30 digits.
#[test]
fn the_price_never_falls_below_that_of_one_flow_that_fills_the_link() {
    let params = params(&[]);
    for (capacity, floor) in [(1e9, 5.526_204_223), (622e6, 5.716_130_1), (400e6, 5.892_720_5)] {
        let mut router = router(&params, capacity);
        close(router.signal(), floor, 1e-6);
        raise(&params, &mut router);
        assert!(router.signal() > floor + 0.5);
        (0..100_000).for_each(|_| router.on_interval(&params.routers, seconds(0.001), &PortView::IDLE));
        close(router.signal(), floor, 1e-6);
    }
}

#[test]
fn a_flood_does_not_wind_the_price_up() {
    let params = params(&[]);
    let mut router = router(&params, C);
    (0..100).for_each(|_| raise(&params, &mut router));
    close(router.signal(), 16.0, 1e-5);
}

#[test]
fn the_echo_is_the_largest_price_of_the_path_in_any_order() {
    let params = params(&[]);
    let links = [400e6, 10e6, 622e6];
    let prices = links.map(|c| T * (X_MAX / c).ln());
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut header = sender(&params).on_send(&params, Time::ZERO, &outgoing(Kind::Data));
        assert_eq!(header, Header { echo: 0, price: 0 });
        header.echo = 77;
        for link in order {
            router(&params, links[link]).on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
        }
        assert_eq!(header.echo, 77, "routers do not change it");
        let arrived = Arrived {
            now: Time::ZERO,
            kind: Kind::Data,
            size: DATA,
        };
        let back = Signals::reflect(&mut Receiver::default(), &arrived, &header);
        close(header::price(back.echo), prices[1], 0.5_f64.powi(20));
    }
}

#[test]
fn the_option_is_laid_out_as_in_fig_4() {
    let mut wire = [0; 8];
    let header = Header {
        echo: 0x80_0102,
        price: 0x03_0405,
    };
    header.encode(&mut wire);
    assert_eq!(wire, [42, 8, 0x80, 1, 2, 3, 4, 5]);
    assert_eq!(Header::decode(&wire), Ok(header));
    for (byte, value) in [(0, 41), (1, 6)] {
        let mut other = wire;
        other[byte] = value;
        assert!(Header::decode(&other).is_err(), "byte {byte}");
    }
}

/// Verifies section V: 4 integer bits and 18 fraction bits encode 32 b/s to 1 Pb/s in relative steps of 1e-5. This
/// implementation uses 19 fraction bits.
#[test]
fn prices_have_the_range_and_precision_of_section_v() {
    assert_eq!((T * (X_MAX / 32.0).ln()).log2().ceil() as u32, 4);
    assert_eq!((-(T * 1e-5_f64.ln_1p()).log2()).ceil() as u32, 18);
    assert_eq!(header::price(MAX_CODE) + header::price(1), 16.0);
    close(header::price(header::code(12.429_218)), 12.429_218, 0.5_f64.powi(20));
    let params = params(&[]);
    let step = params.demand(header::price(1000)) / params.demand(header::price(1001)) - 1.0;
    close(step, 4.7684e-6, 1e-10);
    for decade in 0..140 {
        let rate = 32.0 * 10_f64.powf(f64::from(decade) / 10.0);
        if rate < X_MAX * 0.999_99 {
            let decoded = params.demand(header::price(header::code(params.routers.price_of(rate))));
            assert!((decoded / rate - 1.0).abs() <= 2.4e-6, "{rate} b/s");
        }
    }
    assert_eq!(header::code(1e9), MAX_CODE);
    assert_eq!(header::code(0.0), 1, "no router writes 0");
}

/// Returns the echoed averages of prices. The input has the arrival time and the code of each price. Arrival times
/// count from the end of the first round-trip time, which takes 100 ms.
fn averaged(prices: impl Iterator<Item = (f64, u32)>) -> Vec<f64> {
    let mut receiver = Receiver::default();
    let mut echo = |now, kind, price| {
        let arrived = Arrived { now, kind, size: DATA };
        Signals::reflect(&mut receiver, &arrived, &Header { echo: 0, price }).echo
    };
    assert_eq!(
        echo(Time::ZERO, Kind::Syn, MAX_START | 5),
        MAX_START | 5,
        "codes of MaxStart are not averaged"
    );
    prices
        .map(|(after, price)| f64::from(echo(at(0.1 + after), Kind::Data, price)))
        .collect()
}

#[test]
fn a_receiver_averages_over_a_round_trip_time() {
    let step = averaged((0..=100_u32).map(|ms| (f64::from(ms) / 1000.0, if ms == 0 { 0 } else { 1_000_000 })));
    assert_eq!(step[0], 0.0);
    close(step[100] / 1e6, 1.0 - (-1.0_f64).exp(), 0.005);
}

#[test]
fn a_burst_counts_as_one_price() {
    let (low, high) = (1_000_000, 2_000_000);
    let times = [0.0, 0.001, 0.002, 0.003];
    let single = averaged(times.into_iter().map(|t| (t, if t == 0.002 { high } else { low })));
    let burst = averaged(times.into_iter().flat_map(|t| {
        let packets = if t == 0.002 { 10 } else { 1 };
        (0..packets).map(move |i| (t + f64::from(i) * 1e-6, if t == 0.002 { high } else { low }))
    }));
    let risen = |averages: &[f64]| averages.last().unwrap() / f64::from(low) - 1.0;
    assert!(risen(&single) > 0.009);
    close(risen(&burst), risen(&single), 0.0001);
}

#[test]
fn a_gap_longer_than_a_round_trip_time_forgets() {
    let averages = averaged([(0.0, 100), (0.05, 200), (0.2, 500)].into_iter());
    assert_eq!(averages, [100.0, 150.0, 500.0]);
}

#[test]
fn an_average_between_two_codes_is_rounded_to_the_nearer() {
    let after = |last| *averaged([(0.0, 100), (0.075, last)].into_iter()).last().unwrap();
    assert_eq!([101, 102, 103].map(after), [101.0, 102.0, 102.0]);
}
