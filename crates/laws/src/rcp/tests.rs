use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Header, Rcp, Router, Sender, Signals};
use crate::testing::{Both, both};
use crate::{
    Arrived, Arriving, Feedback, FlowInfo, Header as _, Kind, Opening, Outgoing, PortInfo, PortView, Protocol,
    RouterLaw, SenderLaw, Signalling,
};

const C: f64 = 10e6;
const DATA: Bytes = Bytes::new(1000);
const ARRIVED: Arrived = Arrived {
    now: Time::ZERO,
    kind: Kind::Syn,
    size: Bytes::new(40),
};
const IDLE: PortView = PortView::IDLE;

fn params(changes: &[(&str, f64)]) -> Both<Rcp> {
    both(changes)
}

fn router(params: &Both<Rcp>, capacity: f64) -> Router {
    Router::new(
        &params.routers,
        &PortInfo {
            id: 1,
            capacity: Rate::new(capacity).unwrap(),
        },
    )
}

/// Returns `R` after one interval, divided by `R` before this interval. `load` is `y / C`, `queue` is in units of `C
/// d0`, and `dropped` is in bytes.
fn ratio(params: &Both<Rcp>, load: f64, queue: f64, dropped: u64) -> f64 {
    let mut router = router(params, C);
    let elapsed = router.interval(&params.routers);
    let before = router.signal();
    let offered = Rate::new(load * C).unwrap().bytes_in(elapsed);
    router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(offered as u64)), None);
    let queue = Rate::new(queue * C).unwrap().bytes_in(params.routers.initial_rtt);
    let view = PortView {
        queue: Bytes::new(queue as u64),
        dropped: Bytes::new(dropped),
        ..PortView::IDLE
    };
    router.on_interval(&params.routers, elapsed, &view);
    router.signal() / before
}

fn close(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{measured}, expected {expected} within {tolerance}"
    );
}

#[test]
fn eq_2_in_one_step() {
    let slow = params(&[]);
    close(ratio(&slow, 1.0, 0.0, 0), 1.0, 1e-12);
    close(ratio(&slow, 0.0, 0.0, 0), 1.01, 1e-12);
    close(ratio(&slow, 1.0, 1.0, 0), 0.9, 1e-12);
    let once_per_rtt = params(&[("interval", 0.1)]);
    close(ratio(&once_per_rtt, 0.0, 0.0, 0), 1.1, 1e-12);
    let dissertation = params(&[("alpha", 0.4)]);
    assert!(
        ratio(&dissertation, 1.0, 0.5, 0) < ratio(&dissertation, 1.0, 0.0, 0),
        "a queue lowers the rate (eq 126)"
    );
}

#[test]
fn a_packet_in_service_is_no_queue() {
    let step = |packets: u32| {
        let params = params(&[]);
        let mut router = router(&params, C);
        let before = router.signal();
        let view = PortView {
            queue: Bytes::new(1000 + 40 * u64::from(packets - 1)),
            packets,
            in_service: Bytes::new(1000),
            ..PortView::IDLE
        };
        let full = Rate::new(C).unwrap().bytes_in(Duration::from_ms(10));
        router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(full as u64)), None);
        router.on_interval(&params.routers, Duration::from_ms(10), &view);
        router.signal() / before
    };
    close(step(1), 1.0, 1e-12);
    close(step(4), 1.0 - 0.1 * 3.0 * 320.0 / (C * 0.1), 1e-12);
}

#[test]
fn dropped_bytes_are_queue_where_asked() {
    let (plain, aware) = (params(&[]), params(&[("loss_aware", 1.0)]));
    close(ratio(&plain, 1.0, 0.5, 50_000), ratio(&plain, 1.0, 0.5, 0), 0.0);
    let bdp = (C * 0.1 / 8.0) as u64;
    close(ratio(&aware, 1.0, 0.0, bdp), ratio(&plain, 1.0, 1.0, 0), 1e-12);
    assert!(ratio(&aware, 1.0, 0.5, 1) < ratio(&plain, 1.0, 0.5, 1));
}

#[test]
fn the_average_rtt_follows_a_step() {
    let params = params(&[("interval", 10.0)]);
    let mut router = router(&params, C);
    let mut header = Header {
        rate: f32::INFINITY,
        rtt: 0.0,
    };
    router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
    assert_eq!(
        router.interval(&params.routers),
        Duration::from_ms(100),
        "a packet without an estimate is ignored"
    );
    header.rtt = 0.5;
    (0..50).for_each(|_| router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header)));
    let reached = (router.interval(&params.routers).as_secs_f64() - 0.1) / 0.4;
    close(reached, 1.0 - 0.98_f64.powi(50), 1e-9);
}

#[test]
fn the_largest_rtt_is_adopted_at_once_and_forgotten_after_a_window() {
    let params = params(&[("rtt", 1.0), ("interval", 0.01)]);
    let mut router = router(&params, C);
    let mut tick = |rtt: f32| {
        let mut header = Header {
            rate: f32::INFINITY,
            rtt,
        };
        router.on_arrival(&params.routers, &Arriving::alone(DATA), Some(&mut header));
        router.on_interval(&params.routers, Duration::from_ms(10), &IDLE);
        router.rtt
    };
    close(tick(0.5), 0.5, 1e-7);
    for _ in 0..49 {
        close(tick(0.2), 0.5, 1e-7);
    }
    close(tick(0.2), 0.2, 1e-7);
    for _ in 0..100 {
        close(tick(0.0), 0.2, 1e-7);
    }
}

/// Verifies `d_0` after intervals of 10 ms. The expected values were computed by hand from the rule of the authors.
#[test]
fn the_average_of_intervals_rises_within_a_round_trip_and_falls_with_the_rate() {
    let params = params(&[("rtt", 2.0), ("initial", 0.25)]);
    let mut router = router(&params, C);
    let mut tick = |packets: &[(u64, f32)]| {
        let (before, share) = (router.rtt, router.rate / C);
        for &(size, rtt) in packets {
            let mut header = Header {
                rate: f32::INFINITY,
                rtt,
            };
            router.on_arrival(&params.routers, &Arriving::alone(Bytes::new(size)), Some(&mut header));
        }
        router.on_interval(&params.routers, Duration::from_ms(10), &IDLE);
        (before, share, router.rtt)
    };
    let (_, _, silent) = tick(&[(1000, 0.0)]);
    close(silent, 0.1, 0.0);
    let (_, _, up) = tick(&[(3000, 0.2), (1000, 0.6)]);
    close(up, 0.1 + 0.1 * (0.3 - 0.1), 1e-8);
    let (_, _, again) = tick(&[]);
    close(again, up + 0.01 / up * (0.3 - up), 1e-8);
    let (before, share, down) = tick(&[(1000, 0.05)]);
    close(
        down,
        before + share * 0.05 / before * 0.01 / before * (0.05 - before),
        1e-8,
    );
}

#[test]
fn the_interval_never_exceeds_the_rtt_and_never_vanishes() {
    let params = params(&[("gain", 1.0)]);
    let mut router = router(&params, C);
    assert_eq!(router.interval(&params.routers), Duration::from_ms(10));
    for (rtt, interval) in [
        (1.0, Duration::from_ms(10)),
        (0.0005, Duration::from_us(500)),
        (1e-30, Duration::from_us(1)),
    ] {
        router.on_arrival(
            &params.routers,
            &Arriving::alone(DATA),
            Some(&mut Header {
                rate: f32::INFINITY,
                rtt,
            }),
        );
        let difference = router.interval(&params.routers).as_secs_f64() - interval.as_secs_f64();
        close(difference, 0.0, 1e-10);
    }
}

#[test]
fn the_offered_rate_stays_between_its_floor_and_the_capacity() {
    let params = params(&[("alpha", 10.0)]);
    let mut router = router(&params, C);
    (0..1000).for_each(|_| router.on_interval(&params.routers, Duration::from_ms(10), &IDLE));
    close(router.signal(), C, 0.0);
    let flooded = PortView {
        queue: Bytes::new(1 << 40),
        ..PortView::IDLE
    };
    router.on_interval(&params.routers, Duration::from_ms(10), &flooded);
    close(router.signal(), 80.0 / 0.1, 1e-9);
    router.on_interval(&params.routers, Duration::ZERO, &flooded);
    close(router.signal(), 80.0 / 0.1, 1e-9);
}

/// Verifies that `R` converges to `C / N`, in a fluid model of a single link with steps of 10 ms. Flows send at the
/// rate offered 100 ms earlier.
#[test]
fn processor_sharing_is_the_fixed_point() {
    let params = params(&[("alpha", 0.4)]);
    let (n, d0) = (7.0, Duration::from_ms(100));
    let mut router = router(&params, C);
    let (mut queue, mut history) = (0.0_f64, [router.signal(); 10]);
    for step in 0..5000 {
        let offered = Rate::new(n * history[step % 10])
            .unwrap()
            .bytes_in(Duration::from_ms(10));
        history[step % 10] = router.signal();
        router.on_arrival(
            &params.routers,
            &Arriving::alone(Bytes::new(offered as u64)),
            Some(&mut Header { rate: 1.0, rtt: 0.1 }),
        );
        queue = (queue + offered - C * 0.01 / 8.0).max(0.0);
        let view = PortView {
            queue: Bytes::new(queue as u64),
            ..PortView::IDLE
        };
        router.on_interval(&params.routers, Duration::from_ms(10), &view);
    }
    assert!(router.rtt - d0.as_secs_f64() < 1e-6);
    close(router.signal() / (C / n), 1.0, 1e-3);
    assert!(queue < 1000.0, "{queue} bytes are queued");
}

fn feedback(header: Header, kind: Kind, rtt: Duration) -> Feedback<Header> {
    Feedback::plain(0, kind, rtt, header)
}

#[test]
fn a_flow_starts_at_the_smallest_rate_of_its_path() {
    let params = params(&[]);
    assert_eq!(Rcp::transport(&params).opening, Opening::Handshake);
    let mut sender = Sender::new(&params, &FlowInfo::of(DATA));
    let syn = Outgoing {
        number: 0,
        size: Bytes::new(40),
        kind: Kind::Syn,
    };
    let mut header = sender.on_send(&params, Time::ZERO, &syn);
    assert_eq!(
        header,
        Header {
            rate: f32::INFINITY,
            rtt: 0.0
        }
    );
    for capacity in [40e6, 10e6, 20e6] {
        router(&params, capacity).on_departure(&params.routers, DATA, &mut header);
    }
    sender.on_feedback(
        &params,
        Time::ZERO,
        &feedback(
            Signals::reflect(&mut (), &ARRIVED, &header),
            Kind::Syn,
            Duration::from_ms(80),
        ),
    );
    close(sender.rate().bps(), 0.05 * 10e6, 0.1);
    let data = Outgoing {
        number: 1,
        size: DATA,
        kind: Kind::Data,
    };
    close(f64::from(sender.on_send(&params, Time::ZERO, &data).rtt), 0.08, 1e-8);
    sender.on_feedback(
        &params,
        Time::ZERO,
        &feedback(header, Kind::Data, Duration::from_ms(160)),
    );
    close(f64::from(sender.on_send(&params, Time::ZERO, &data).rtt), 0.09, 1e-8);
}

#[test]
fn a_sender_survives_hostile_rates() {
    let params = params(&[]);
    let mut sender = Sender::new(&params, &FlowInfo::of(DATA));
    let one_in_ten_seconds = DATA.as_bits_f64() / 10.0;
    close(sender.rate().bps(), one_in_ten_seconds, 1e-9);
    for (echoed, adopted) in [(1e6, 1e6), (f32::INFINITY, 1e6), (1e-30, one_in_ten_seconds)] {
        let header = Header { rate: echoed, rtt: 0.0 };
        sender.on_feedback(&params, Time::ZERO, &feedback(header, Kind::Data, Duration::from_ms(1)));
        close(sender.rate().bps(), adopted, 1e-9);
    }
}

#[test]
fn invalid_rates_and_rtts_are_rejected() {
    for (rate, rtt) in [
        (0.0, 0.1),
        (-1.0, 0.1),
        (f32::NAN, 0.1),
        (1.0, -0.1),
        (1.0, f32::INFINITY),
        (1.0, 1e9),
    ] {
        let mut wire = [0; Header::WIRE];
        Header { rate, rtt }.encode(&mut wire);
        assert!(Header::decode(&wire).is_err(), "{rate} b/s, {rtt} s");
    }
    assert_eq!(&[0x7f, 0x80, 0, 0, 0x3f, 0, 0, 0], &{
        let mut wire = [0; Header::WIRE];
        Header {
            rate: f32::INFINITY,
            rtt: 0.5,
        }
        .encode(&mut wire);
        wire
    });
}
