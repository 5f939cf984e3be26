use levelflow_units::{Bytes, Duration, Time};

use super::equation::{loss_rate, packets_per_rtt};
use super::history::LossHistory;
use super::{Params, Sender, Tfrc};
use crate::testing::{Both, Network, close};
use crate::{Delivery, Feedback, FlowInfo, Kind, NoHeader, Outgoing, Parameters, Restart, SenderLaw};

const SIZE: Bytes = Bytes::new(1000);
const BITS: f64 = 8000.0;
const RTT: Duration = Duration::from_ms(100);

/// Computes the equation of section 3.1 term by term, in bytes and seconds.
fn throughput(s: f64, r: f64, p: f64) -> f64 {
    let (b, t_rto) = (1.0, 4.0 * r);
    s / (r * (2.0 * b * p / 3.0).sqrt() + t_rto * (3.0 * (3.0 * b * p / 8.0).sqrt() * p * (1.0 + 32.0 * p.powi(2))))
}

#[test]
fn the_equation_is_that_of_section_3_1() {
    for p in [1e-8, 1e-4, 0.003, 0.01, 0.1, 0.5, 1.0] {
        close(packets_per_rtt(p) * 1000.0 / 0.1, throughput(1000.0, 0.1, p), 1e-12);
        close(loss_rate(packets_per_rtt(p)), p, 1e-6);
    }
    close(packets_per_rtt(1e-7), (1.5e7_f64).sqrt(), 1e-5);
    // Half a packet per round-trip time corresponds to 20.64 % (Linux, net/dccp/ccids/lib/loss_interval.c).
    close(loss_rate(0.5), 0.2064, 1e-3);
}

/// Verifies section 5.4 with values computed by hand. The weights are 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, and their sum is
/// 6.
#[test]
fn the_average_interval_is_that_of_section_5_4() {
    let mut history = LossHistory::new();
    assert_eq!(history.rate(500), None);
    // The first interval corresponds to 10 packets per round-trip time in the equation.
    assert!(history.lose(40, 50, 10.0));
    let first = 1.0 / loss_rate(10.0);
    close(1.0 / history.rate(60).unwrap(), first, 1e-12);
    close(1.0 / history.rate(1039).unwrap(), 1000.0, 1e-12);
    let mut at = 40;
    for interval in [10, 20, 30, 40, 50, 60, 70, 80] {
        at += interval;
        assert!(history.lose(at, at + 5, 0.0));
    }
    let closed = 80.0 + 70.0 + 60.0 + 50.0 + 0.8 * 40.0 + 0.6 * 30.0 + 0.4 * 20.0 + 0.2 * 10.0;
    close(history.rate(at + 9).unwrap(), 6.0 / closed, 1e-12);
    let open = 300.0 + 80.0 + 70.0 + 60.0 + 0.8 * 50.0 + 0.6 * 40.0 + 0.4 * 30.0 + 0.2 * 20.0;
    close(history.rate(at + 299).unwrap(), 6.0 / open, 1e-12);
}

#[test]
fn few_intervals_have_the_first_weights() {
    let mut history = LossHistory::new();
    for (number, next) in [(10, 20), (30, 40), (70, 80)] {
        history.lose(number, next, 5.0);
    }
    let first = 1.0 / loss_rate(5.0);
    close(1.0 / history.rate(71).unwrap(), (40.0 + 20.0 + first) / 3.0, 1e-12);
    close(1.0 / history.rate(169).unwrap(), (100.0 + 40.0 + 20.0) / 3.0, 1e-12);
}

#[test]
fn losses_within_a_round_trip_time_are_one_event() {
    let mut history = LossHistory::new();
    assert!(history.lose(100, 150, 5.0));
    assert!((101..150).all(|number| !history.lose(number, 200, 5.0)));
    assert!(history.lose(150, 200, 5.0));
    assert!(!history.lose(120, 200, 5.0), "an old packet, detected late");
}

fn params(ecn: bool, dither: f64) -> Params {
    Params::read(&[f64::from(u8::from(ecn)), dither]).unwrap()
}

/// Returns a path after the handshake. Each packet is acknowledged after one `RTT`.
fn open(ecn: bool) -> Network<Tfrc> {
    let sender = params(ecn, 0.0);
    let mut path = Network::new(Both { sender, routers: () }, &[1.0]);
    path.flow(SIZE, &[0], RTT, Time::ZERO);
    assert_eq!(path.flows[0].rate(), BITS, "a packet per second");
    path.run(Time::ZERO + RTT);
    path
}

/// Runs until `packets` more packets have been sent.
fn send(path: &mut Network<Tfrc>, packets: u32) {
    let next = path.flows[0].next + packets;
    while path.flows[0].next < next {
        path.step();
    }
}

#[test]
fn regular_losses_give_the_rate_of_the_equation() {
    for every in [50, 100, 1000] {
        let mut path = open(false).losing(move |number, _| number % every == 0);
        send(&mut path, 20 * every);
        close(
            path.flows[0].rate(),
            8.0 * throughput(1000.0, 0.1, 1.0 / f64::from(every)),
            1e-6,
        );
    }
}

#[test]
fn without_losses_the_rate_doubles_and_never_exceeds_twice_what_arrives() {
    let mut path = open(false);
    close(path.flows[0].rate(), 4.0 * BITS / 0.1, 1e-12);
    let mut last = path.flows[0].rate();
    while path.flows[0].rate() < 1000.0 * BITS / 0.1 {
        send(&mut path, 1);
        let rate = path.flows[0].rate();
        assert!(rate >= last && rate <= 2.0 * last, "{last} to {rate}");
        last = rate;
    }
    assert!(
        path.now < Time::ZERO + RTT * 25,
        "after the handshake, 8 doublings take two round-trip times each, as the receive rate lags: {:?}",
        path.now
    );
}

/// Verifies section 6.3.1: after the first loss, the rate is about the receive rate.
#[test]
fn the_first_loss_event_keeps_the_received_rate() {
    let mut path = open(false);
    while path.flows[0].rate() < 1000.0 * BITS / 0.1 {
        send(&mut path, 1);
    }
    let (before, lost) = (path.flows[0].rate(), path.flows[0].next);
    path = path.losing(move |number, _| number == lost);
    while path.flows[0].rate() >= before {
        send(&mut path, 1);
    }
    assert!(path.flows[0].rate() > 0.4 * before && path.flows[0].rate() < 0.6 * before);
}

#[test]
fn a_timeout_halves_the_rate_down_to_a_packet_in_64_seconds() {
    let mut path = open(false).losing(|number, _| number % 100 == 0);
    send(&mut path, 10_000);
    let (now, params, flow) = (path.now, &path.params, &mut path.flows[0]);
    let before = flow.rate();
    flow.sender.on_timeout(params, now, flow.next);
    assert!(flow.rate() <= 0.5 * before);
    (0..60).for_each(|_| flow.sender.on_timeout(params, now, flow.next));
    close(flow.rate(), BITS / 64.0, 1e-12);
}

/// Computes the rates after successive expirations of the nofeedback timer, by section 4.4. `x_bps` is the rate of the
/// equation, and `received` is the receive rate. Rates are in packets per second.
fn halvings(x_bps: f64, mut received: f64, times: usize) -> std::vec::Vec<f64> {
    let mut rates = std::vec::Vec::new();
    for _ in 0..times {
        let limit = if x_bps > 2.0 * received { received } else { x_bps / 2.0 };
        received = limit.max(1.0 / 64.0) / 2.0;
        rates.push(x_bps.min(2.0 * received).max(1.0 / 64.0));
    }
    rates
}

#[test]
fn the_nofeedback_timer_does_what_section_4_4_says() {
    for every in [20, 100, 3000] {
        let mut path = open(false).losing(move |number, _| number % every == 0);
        send(&mut path, 20 * every);
        let (now, params, flow) = (path.now, &path.params, &mut path.flows[0]);
        let x_bps = throughput(1.0, 0.1, 1.0 / f64::from(every));
        close(flow.rate(), x_bps * BITS, 1e-6);
        let received = flow.sender.received.largest() / BITS;
        for expected in halvings(x_bps, received, 40) {
            let timer = (4.0 * 0.1_f64).max(2.0 * BITS / flow.rate());
            close(flow.sender.timeout().unwrap().as_secs_f64(), timer, 1e-6);
            flow.sender.on_timeout(params, now, flow.next);
            close(flow.rate(), expected * BITS, 1e-6);
        }
        close(flow.rate(), BITS / 64.0, 1e-12);
    }
}

/// Verifies that expirations of the nofeedback timer during an idle time halve the rate, down to about the initial
/// rate.
#[test]
fn an_idle_time_takes_no_more_than_slow_start_gives() {
    for (idle, halvings) in [(0.1, 0), (0.45, 0), (0.55, 1), (0.95, 2), (1000.0, 8)] {
        let mut path = open(false);
        while path.flows[0].rate() < 1000.0 * BITS / 0.1 {
            send(&mut path, 1);
        }
        let (now, params, flow) = (path.now, &path.params, &mut path.flows[0]);
        let before = flow.rate();
        let restart = Restart {
            idle: Duration::from_secs_f64(idle).unwrap(),
            timeout: Duration::from_ms(300),
            app_limited: true,
        };
        flow.sender.on_restart(params, now, &restart);
        close(flow.rate(), before / f64::from(1 << halvings), 1e-12);
        assert!(flow.rate() >= 4.0 * BITS / 0.1, "the initial rate");
    }
}

/// Verifies section 4.3: the receive rate does not limit the rate of an application-limited flow.
#[test]
fn an_application_that_sends_little_keeps_the_rate() {
    for app_limited in [false, true] {
        let mut path = open(false);
        while path.flows[0].rate() < 1000.0 * BITS / 0.1 {
            send(&mut path, 1);
        }
        let (params, flow) = (&path.params, &mut path.flows[0]);
        let before = flow.rate();
        let (mut now, mut number) = (path.now, flow.next);
        for _ in 0..20 {
            let packet = Outgoing {
                number,
                size: SIZE,
                kind: Kind::Data,
            };
            flow.sender.on_send(params, now, &packet);
            now += RTT;
            let delivery = Some(Delivery {
                total: number,
                prior: number - 1,
                interval: RTT,
                app_limited,
            });
            let ack = Feedback {
                delivery,
                ..Feedback::plain(number, Kind::Data, RTT, NoHeader)
            };
            flow.sender.on_feedback(params, now, &ack);
            number += 1;
        }
        if app_limited {
            assert!(flow.rate() >= before, "{} bit/s", flow.rate());
        } else {
            close(flow.rate(), 4.0 * BITS / 0.1, 1e-9);
        }
    }
}

#[test]
fn gaps_are_dithered_about_those_of_the_rate() {
    let info = |seed| FlowInfo {
        size: None,
        seed,
        ..FlowInfo::of(SIZE)
    };
    let gaps = |dither, seed| {
        let params = params(false, dither);
        let mut sender = Sender::new(&params, &info(seed));
        let gap = |number| {
            let packet = Outgoing {
                number,
                size: SIZE,
                kind: Kind::Data,
            };
            sender.on_send(&params, Time::ZERO, &packet);
            sender.rate().bps() / sender.pace().bps()
        };
        (0..10_000).map(gap).collect::<std::vec::Vec<f64>>()
    };
    assert!(gaps(0.0, 1).iter().all(|gap| *gap == 1.0));
    let some: std::vec::Vec<f64> = (0..16).flat_map(|seed| gaps(0.1, seed)).collect();
    assert!(some.iter().all(|gap| (0.9..=1.1).contains(gap)));
    // Tolerance: five standard deviations of the mean.
    let count = some.len() as f64;
    close(some.iter().sum::<f64>(), count, 5.0 * 0.1 / (3.0 * count).sqrt());
    assert_ne!(gaps(0.1, 1), gaps(0.1, 2));
}

#[test]
fn a_mark_is_a_loss_where_asked() {
    for ecn in [false, true] {
        let mut path = open(ecn);
        send(&mut path, 200);
        let before = path.flows[0].rate();
        let plain = Feedback::plain(150, Kind::Data, RTT, NoHeader);
        let marked = Feedback { marked: true, ..plain };
        path.flows[0].sender.on_feedback(&path.params, path.now, &marked);
        assert_eq!(path.flows[0].rate() < before, ecn);
    }
}
