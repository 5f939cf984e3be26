//! Tests of the dynamics of eq 10, in floating-point and integer arithmetic.

use super::*;

const ALPHA: f64 = 0.66;
const ETA: f64 = 0.06;

fn demand(price: f64) -> f64 {
    X_MAX * (-price / T).exp()
}

/// Passes an ACK with price `code` to the sender every `every` seconds, from `start` to `end`. Returns the target rate
/// after each ACK.
fn feed(params: &Params, sender: &mut Sender, code: u32, tau: f64, (start, end): (f64, f64), every: f64) -> Vec<f64> {
    let steps = ((end - start) / every).round() as u32;
    let mut rates = Vec::new();
    for step in 1..=steps {
        let now = at(start + f64::from(step) * every);
        sender.on_feedback(params, now, &ack(Kind::Data, code, seconds(tau)));
        rates.push(sender.proposal().bps());
    }
    rates
}

#[test]
fn every_flow_converges_to_the_common_demand_curve() {
    for arithmetic in [0.0, 1.0] {
        let params = params(&[("arithmetic", arithmetic)]);
        for tau in [0.001, 0.029, 0.179, 1.0] {
            let mut sender = sender(&params);
            let constant = tau * tau / (ALPHA * ETA * T);
            let every = (constant / 1000.0).min(tau / 10.0);
            feed(&params, &mut sender, header::code(5.6), tau, (0.0, 10.0 * every), every);
            let end = 10.0 * every + 20.0 * constant;
            let code = header::code(6.4);
            let rates = feed(&params, &mut sender, code, tau, (10.0 * every, end), every);
            let expected = demand(header::price(code));
            close(
                rates.last().unwrap() / expected,
                1.0,
                if arithmetic == 0.0 { 1e-6 } else { 1e-5 },
            );
        }
    }
}

/// Verifies eq 6. A price change of `dq` multiplies the rate by `e^(-alpha dq/tau)`. After the change,
/// `log(rate/demand)` decays with time constant `tau^2/(alpha eta T)`.
#[test]
fn xi_has_the_time_constant_of_eq_6() {
    for (tau, constant) in [(0.029, 0.0531), (0.179, 2.0228)] {
        let params = params(&[]);
        let mut sender = sender(&params);
        let (before, after) = (header::code(6.0), header::code(6.01));
        let change = header::price(after) - header::price(before);
        let every = constant / 10_000.0;
        feed(&params, &mut sender, before, tau, (0.0, 10.0 * every), every);
        let start = 10.0 * every;
        let rates = feed(&params, &mut sender, after, tau, (start, start + 2.0 * constant), every);
        let error = |rate: f64| (rate / demand(header::price(after))).ln();
        let jump = change / T - ALPHA * change / tau;
        close(error(rates[0]), jump, jump.abs() * 0.001);
        let fallen = rates
            .iter()
            .position(|r| (error(*r) / jump) < (-1.0_f64).exp())
            .unwrap();
        close((fallen as f64 + 1.0) * every, constant, 0.01 * constant);
    }
}

#[test]
fn xi_never_passes_its_equilibrium() {
    for arithmetic in [0.0, 1.0] {
        let params = params(&[("arithmetic", arithmetic)]);
        for tau in [0.001, 0.029, 1.0] {
            for wait in [0.1, 1.0, 3.0, 10.0] {
                let mut sender = sender(&params);
                feed(&params, &mut sender, header::code(5.6), tau, (0.0, tau), tau);
                let code = header::code(5.61);
                let rates = feed(
                    &params,
                    &mut sender,
                    code,
                    tau,
                    (tau, tau + 50.0 * wait * tau),
                    wait * tau,
                );
                let errors: Vec<f64> = rates.iter().map(|r| (r / demand(header::price(code))).ln()).collect();
                let rounding = if arithmetic == 0.0 { 1e-9 } else { 5e-6 };
                let first = errors[0];
                assert!(
                    errors
                        .windows(2)
                        .all(|e| e[1] * first >= -rounding && e[1].abs() <= e[0].abs() + rounding),
                    "tau {tau}, every {wait} tau: {errors:?}"
                );
            }
        }
    }
}

/// Compares integer arithmetic with double precision, for prices that cover the whole range of rates.
#[test]
fn integers_give_the_window_of_double_precision() {
    let (float, fixed) = (params(&[]), params(&[("arithmetic", 1.0)]));
    for tau in [0.001, 0.029, 0.179, 1.0] {
        let (mut a, mut b) = (sender(&float), sender(&fixed));
        let (mut now, mut random) = (0.0, 1_u64);
        for step in 0..20_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let wander = (random >> 40) as f64 / f64::from(1 << 24);
            now += 0.001 * tau * (0.1 + wander);
            let sweep = 6.2 * (1.0 - (f64::from(step) / 20_000.0 * std::f64::consts::TAU).cos());
            let code = header::code(sweep + 0.01 * wander);
            a.on_feedback(&float, at(now), &ack(Kind::Data, code, seconds(tau)));
            b.on_feedback(&fixed, at(now), &ack(Kind::Data, code, seconds(tau)));
            let (a, b) = (a.proposal().bps(), b.proposal().bps());
            assert!(
                (b / a - 1.0).abs() <= 1e-4 || a < 32.0,
                "{a} and {b} b/s at step {step}, tau {tau}"
            );
        }
    }
}

#[test]
fn integers_hold_whatever_the_times_and_parameters() {
    let corner = |range: (f64, f64), high: bool| if high { range.1 } else { range.0 };
    for bits in 0..16_u32 {
        let mut changes = std::vec![("arithmetic", 1.0)];
        for (i, name) in ["x_max", "t", "alpha", "eta"].into_iter().enumerate() {
            let row = Params::TABLE.iter().find(|row| row.name == name).unwrap();
            changes.push((name, corner(row.range, bits >> i & 1 == 1)));
        }
        let params = params(&changes);
        for (rtt, wait) in [
            (Duration::ZERO, Duration::MAX),
            (Duration::from_secs(1 << 20), Duration::from_us(1)),
        ] {
            let mut sender = sender(&params);
            let mut now = Time::ZERO;
            for code in [1, MAX_CODE, 1, MAX_CODE] {
                sender.on_feedback(&params, now, &ack(Kind::Data, code, rtt));
                let rate = sender.proposal().bps();
                assert!(
                    (1200.0..=params.x_max.max(1200.0) * 1.001).contains(&rate),
                    "{changes:?}: {rate} b/s"
                );
                now = now.checked_add(wait).unwrap_or(now);
            }
        }
    }
}

#[test]
fn the_window_holds_the_rate_for_the_shortest_round_trip_time() {
    let params = params(&[]);
    let mut sender = sender(&params);
    let code = header::code(6.0);
    let rate = demand(header::price(code));
    sender.on_feedback(&params, at(1.0), &ack(Kind::Data, code, seconds(0.03)));
    assert_eq!(sender.window(), (rate * 0.03 / 12_000.0).ceil() as u32);
    assert!(!sender.paces());
    for step in 0..100 {
        let now = at(2.0 + f64::from(step) * 0.001);
        sender.on_feedback(&params, now, &ack(Kind::Data, code, seconds(0.06)));
    }
    assert_eq!(sender.window(), (rate * 0.03 / 12_000.0).ceil() as u32);
    close(sender.rate().bps() / (rate / 2.0), 1.0, 0.001);
    close(sender.proposal().bps() / rate, 1.0, 1e-6);
}

#[test]
fn a_paced_sender_spaces_packets_by_the_rate() {
    let params = params(&[("paced", 1.0)]);
    let mut sender = sender(&params);
    let code = header::code(10.0);
    sender.on_feedback(&params, at(1.0), &ack(Kind::Data, code, seconds(0.03)));
    assert!(sender.paces());
    assert_eq!(sender.window(), 1);
    close(sender.rate().bps() / demand(header::price(code)), 1.0, 1e-9);
    sender.on_feedback(&params, at(2.0), &ack(Kind::Data, MAX_CODE, seconds(0.03)));
    close(sender.rate().bps(), 1200.0, 1e-9);
}

#[test]
fn a_timeout_leaves_one_packet_until_the_next_price() {
    let params = params(&[]);
    let mut sender = sender(&params);
    let code = header::code(6.0);
    sender.on_feedback(&params, at(1.0), &ack(Kind::Data, code, seconds(0.03)));
    let window = sender.window();
    sender.on_timeout(&params, at(2.0), 9);
    assert_eq!(sender.window(), 1);
    sender.on_feedback(&params, at(3.0), &ack(Kind::Data, code, seconds(0.03)));
    assert_eq!(sender.window(), window);
}

#[test]
fn without_router_prices_the_window_stays_one_packet() {
    let params = params(&[]);
    let mut sender = sender(&params);
    for echo in [MAX_START, 0] {
        sender.on_feedback(&params, at(1.0), &ack(Kind::Data, echo, seconds(0.03)));
        assert_eq!(sender.window(), 1);
    }
}
