//! Tests of MaxStart (section IV-B).

use super::*;

const TAU: f64 = 0.029;

/// Returns the field of a handshake packet after one router for each of `loads`. Each router had its load for 20 ms.
fn start_code(params: &Both<MaxNet>, loads: &[f64]) -> u32 {
    let mut header = sender(params).on_send(params, Time::ZERO, &outgoing(Kind::Syn));
    for load in loads {
        let mut router = router(params, C);
        for _ in 0..20 {
            let bytes = load * C * 0.001 / 8.0;
            router.on_arrival(
                &params.routers,
                &Arriving::alone(Bytes::new(bytes.round() as u64)),
                None,
            );
            router.on_interval(&params.routers, seconds(0.001), &PortView::IDLE);
        }
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
    }
    header.price
}

fn start_rate(params: &Both<MaxNet>, loads: &[f64]) -> f64 {
    let mut sender = sender(params);
    sender.on_feedback(
        params,
        at(TAU),
        &ack(Kind::Syn, start_code(params, loads), seconds(TAU)),
    );
    sender.proposal().bps()
}

#[test]
fn a_flow_starts_at_the_least_spare_capacity() {
    let params = params(&[]);
    assert_eq!(MaxNet::transport(&params).opening, Opening::Handshake);
    close(start_rate(&params, &[0.0]) / C, 0.925, 1e-5);
    close(start_rate(&params, &[0.9]) / C, 0.025, 1e-5);
    close(start_rate(&params, &[0.0, 0.9, 0.5]) / C, 0.025, 1e-5);
    let one_packet = DATA.as_bits_f64() / TAU;
    close(start_rate(&params, &[1.0, 0.0]), one_packet, 1e-3);
    close(start_rate(&self::params(&[("mu", 0.8)]), &[0.0]) / C, 0.85, 1e-5);
}

/// Verifies that spare capacity depends on the bytes that the link sends. At first, a queue drains and no packet
/// arrives. Then the queue drops all arrivals.
#[test]
fn spare_capacity_is_the_unused_capacity() {
    let params = params(&[]);
    let mut router = router(&params, C);
    let ms = (C * 0.001 / 8.0) as u64;
    let mut start_rate = |queue: u64, dropped: u64, arrived: u64| {
        for i in (0..10).rev() {
            let view = PortView {
                queue: Bytes::new(queue + i * ms),
                packets: 1,
                in_service: Bytes::new(queue + i * ms),
                dropped: Bytes::new(dropped),
            };
            router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(arrived)), None);
            router.on_interval(&params.routers, seconds(0.001), &view);
        }
        let mut header = sender(&params).on_send(&params, Time::ZERO, &outgoing(Kind::Syn));
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::ZERO), Some(&mut header));
        params.demand(header::price(header.price)) / C
    };
    start_rate(10 * ms, 0, 100 * ms);
    close(start_rate(0, 0, 0), 0.0, 1e-9);
    close(start_rate(0, 99 * ms, 99 * ms), 0.925, 1e-5);
}

#[test]
fn without_max_start_a_flow_starts_at_the_price() {
    let params = params(&[("max_start", 0.0)]);
    let code = start_code(&params, &[0.9]);
    assert_eq!(code & MAX_START, 0);
    close(start_rate(&params, &[0.9]) / C, 1.0, 1e-5);
}

/// Verifies that the rate rises linearly to the price rate in two round-trip times, in at most 16 steps per round-trip
/// time.
#[test]
fn the_ramp_takes_two_round_trip_times() {
    let params = params(&[]);
    let mut sender = sender(&params);
    let initial = start_rate(&params, &[0.9]);
    let syn = ack(Kind::Syn, start_code(&params, &[0.9]), seconds(TAU));
    sender.on_feedback(&params, at(TAU), &syn);
    let price = ack(Kind::Data, header::code(6.0), seconds(TAU));
    let goal = params.demand(header::price(header::code(6.0)));
    let mut steps = Vec::new();
    let mut last = initial;
    for packet in 0..3000 {
        let since = f64::from(packet) * TAU / 1000.0;
        sender.on_feedback(&params, at(2.0 * TAU + since), &price);
        let rate = sender.proposal().bps();
        if rate != last {
            steps.push(since / TAU);
            last = rate;
            if rate < goal * 0.999_999 {
                close(rate, initial + (goal - initial) * since / (2.0 * TAU), 0.001 * goal);
            }
        }
    }
    close(last / goal, 1.0, 1e-6);
    close(*steps.last().unwrap(), 2.0, 0.1);
    assert!(steps.len() <= 32 && steps.windows(2).all(|s| s[1] - s[0] >= 1.0 / 16.0 - 1e-9));
}

#[test]
fn a_spare_capacity_above_the_price_rate_needs_no_ramp() {
    let params = params(&[]);
    let mut sender = sender(&params);
    sender.on_feedback(
        &params,
        at(TAU),
        &ack(Kind::Syn, start_code(&params, &[0.0]), seconds(TAU)),
    );
    let code = header::code(7.0);
    sender.on_feedback(&params, at(2.0 * TAU), &ack(Kind::Data, code, seconds(TAU)));
    close(sender.proposal().bps() / params.demand(header::price(code)), 1.0, 1e-9);
}

/// Verifies that a ramp never decreases the rate. The price rate falls four round-trip times after the last step. A
/// linear decrease would end far below the price rate and never recover.
#[test]
fn a_price_that_falls_below_the_ramp_ends_it() {
    let params = params(&[]);
    let mut sender = sender(&params);
    let syn = ack(Kind::Syn, start_code(&params, &[0.9]), seconds(TAU));
    sender.on_feedback(&params, at(TAU), &syn);
    let (low, high) = (header::code(6.0), header::code(8.0));
    sender.on_feedback(&params, at(2.0 * TAU), &ack(Kind::Data, low, seconds(TAU)));
    for round in 0..2000 {
        let now = 6.0 * TAU + f64::from(round) * TAU;
        sender.on_feedback(&params, at(now), &ack(Kind::Data, high, seconds(TAU)));
    }
    close(sender.proposal().bps() / params.demand(header::price(high)), 1.0, 1e-3);
}

/// Verifies the spare capacity after a capacity change: the new capacity minus the previous load.
#[test]
fn a_link_that_changes_spares_what_its_load_leaves() {
    let params = params(&[]);
    let mut router = router(&params, C);
    for _ in 0..10 {
        router.on_arrival(
            &params.routers,
            &Arriving::alone(Bytes::new((C * 0.25 * 0.001 / 8.0) as u64)),
            None,
        );
        router.on_interval(&params.routers, seconds(0.001), &PortView::IDLE);
    }
    for (capacity, spare) in [(0.5, 0.2125), (0.2, 0.0), (2.0, 1.6)] {
        router.on_capacity(&params.routers, Rate::new(capacity * C).unwrap());
        let found = header::price(router.spare_code & !MAX_START);
        let found = if router.spare_code == MAX_START | MAX_CODE {
            0.0
        } else {
            params.demand(found) / C
        };
        assert!((found - spare).abs() < 1e-3, "{found} of {capacity}");
    }
}
