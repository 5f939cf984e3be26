use std::collections::VecDeque;

use levelflow_units::{Bytes, Duration, Time};

use super::equation::{loss_rate, packets_per_rtt};
use super::history::LossHistory;
use super::{Tfrc, TfrcParams, TfrcSender};
use crate::{Feedback, FlowInfo, Kind, Law, Loss, NoHeader, Outgoing, SenderLaw};

const SIZE: Bytes = Bytes::new(1000);
const BITS: f64 = 8000.0;
const RTT: Duration = Duration::from_ms(100);

fn close(measured: f64, expected: f64, relative: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= relative,
        "{measured}, expected {expected} within {relative}"
    );
}

/// Section 3.1 term by term, in bytes and seconds.
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
    // Linux, net/dccp/ccids/lib/loss_interval.c: half a packet per round-trip time stands for 20.64 %.
    close(loss_rate(0.5), 0.2064, 1e-3);
}

/// Section 5.4 by hand: weights 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2, whose sum is 6.
#[test]
fn the_average_interval_is_that_of_section_5_4() {
    let mut history = LossHistory::new();
    assert_eq!(history.rate(500), None);
    // The first interval is the one that explains 10 packets per round-trip time.
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
    assert!(!history.lose(120, 200, 5.0), "an old packet, seen late");
}

/// A path on which each packet is acknowledged after `RTT`, except those that are lost.
struct Path {
    params: TfrcParams,
    sender: TfrcSender,
    now: Time,
    next: u32,
    acks: VecDeque<(Time, u32)>,
    missing: VecDeque<u32>,
}

impl Path {
    fn open(ecn: bool) -> Self {
        let params = Tfrc::params(&[f64::from(u8::from(ecn))]).unwrap();
        let mut sender = TfrcSender::new(&params, &FlowInfo { packet_size: SIZE });
        assert_eq!(sender.rate().bps(), BITS, "a packet per second");
        sender.on_feedback(&params, Time::ZERO, &Feedback::plain(0, Kind::Syn, RTT, NoHeader));
        Self {
            params,
            sender,
            now: Time::ZERO,
            next: 1,
            acks: VecDeque::new(),
            missing: VecDeque::new(),
        }
    }

    fn rate(&self) -> f64 {
        self.sender.rate().bps()
    }

    fn send(&mut self, loses: impl Fn(u32) -> bool) {
        let gap = self.sender.rate().time_to_send(SIZE).unwrap();
        self.now += gap;
        while let Some((_, number)) = self.acks.front().copied().filter(|(at, _)| *at <= self.now) {
            self.acks.pop_front();
            while let Some(lost) = self.missing.front().copied().filter(|lost| *lost + 3 <= number) {
                self.missing.pop_front();
                let loss = Loss {
                    number: lost,
                    next: self.next,
                    outstanding: 0,
                };
                self.sender.on_loss(&self.params, self.now, &loss);
            }
            let ack = Feedback::plain(number, Kind::Data, RTT, NoHeader);
            self.sender.on_feedback(&self.params, self.now, &ack);
        }
        let sent = Outgoing {
            number: self.next,
            size: SIZE,
            kind: Kind::Data,
        };
        self.sender.on_send(&self.params, self.now, &sent);
        if loses(self.next) {
            self.missing.push_back(self.next);
        } else {
            self.acks.push_back((self.now + RTT, self.next));
        }
        self.next += 1;
    }
}

#[test]
fn regular_losses_give_the_rate_of_the_equation() {
    for every in [50, 100, 1000] {
        let mut path = Path::open(false);
        (0..20 * every).for_each(|_| path.send(|number| number % every == 0));
        close(path.rate(), 8.0 * throughput(1000.0, 0.1, 1.0 / f64::from(every)), 1e-6);
    }
}

#[test]
fn without_losses_the_rate_doubles_and_never_exceeds_twice_what_arrives() {
    let mut path = Path::open(false);
    close(path.rate(), 4.0 * BITS / 0.1, 1e-12);
    let mut last = path.rate();
    while path.rate() < 1000.0 * BITS / 0.1 {
        path.send(|_| false);
        let rate = path.rate();
        assert!(rate >= last && rate <= 2.0 * last, "{last} to {rate}");
        last = rate;
    }
    assert!(
        path.now < Time::ZERO + RTT * 24,
        "8 doublings take two round-trip times each, as what arrives lags: {:?}",
        path.now
    );
}

/// Section 6.3.1: the first loss leaves about the rate that arrived.
#[test]
fn the_first_loss_event_keeps_the_received_rate() {
    let mut path = Path::open(false);
    while path.rate() < 1000.0 * BITS / 0.1 {
        path.send(|_| false);
    }
    let (before, lost) = (path.rate(), path.next);
    while path.rate() >= before {
        path.send(|number| number == lost);
    }
    assert!(path.rate() > 0.4 * before && path.rate() < 0.6 * before);
}

#[test]
fn a_timeout_halves_the_rate_down_to_a_packet_in_64_seconds() {
    let mut path = Path::open(false);
    (0..10_000).for_each(|_| path.send(|number| number % 100 == 0));
    let before = path.rate();
    path.sender.on_timeout(&path.params, path.now, path.next);
    assert!(path.rate() <= 0.5 * before);
    (0..60).for_each(|_| path.sender.on_timeout(&path.params, path.now, path.next));
    close(path.rate(), BITS / 64.0, 1e-12);
}

#[test]
fn a_mark_is_a_loss_where_asked() {
    for ecn in [false, true] {
        let mut path = Path::open(ecn);
        (0..200).for_each(|_| path.send(|_| false));
        let before = path.rate();
        let plain = Feedback::plain(150, Kind::Data, RTT, NoHeader);
        path.sender
            .on_feedback(&path.params, path.now, &Feedback { marked: true, ..plain });
        assert_eq!(path.rate() < before, ecn);
    }
}
