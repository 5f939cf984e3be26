use std::collections::VecDeque;
use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};
use proptest::prelude::*;

use super::{Bbr, BbrParams, BbrSender};
use crate::{Delivery, Feedback, FlowInfo, Kind, Law, Loss, NoHeader, Outgoing, SenderLaw};

const SIZE: Bytes = Bytes::new(1000);

fn defaults() -> BbrParams {
    let values: Vec<f64> = Bbr::INFO.params.iter().map(|row| row.default).collect();
    Bbr::params(&values).unwrap()
}

fn sender(params: &BbrParams) -> BbrSender {
    BbrSender::new(params, &FlowInfo { packet_size: SIZE })
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value).unwrap()
}

/// What was known when a packet was sent, and when its ACK arrives.
struct Packet {
    number: u32,
    sent: Time,
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    back: Time,
}

/// A greedy flow over a queue that serves `capacity` packets per second, and a wire; delivery rates as in
/// draft-ietf-ccwg-bbr, section 4.1.
struct Loop {
    params: BbrParams,
    sender: BbrSender,
    now: Time,
    capacity: f64,
    delay: Duration,
    /// Each so-manieth packet is lost.
    loses: u32,
    sent_at: Option<Time>,
    free_at: Time,
    number: u32,
    acks: VecDeque<Packet>,
    lost: VecDeque<u32>,
    /// What the receiver misses, as far as the sender knows: the number it had, and the one it was sent again under.
    missing: Vec<(u32, Option<u32>)>,
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
}

impl Loop {
    fn new(capacity: f64, delay: f64) -> Self {
        let params = defaults();
        let mut sender = sender(&params);
        let delay = seconds(delay);
        let now = Time::ZERO + delay;
        sender.on_feedback(&params, now, &Feedback::plain(0, Kind::Syn, delay, NoHeader));
        Self {
            params,
            sender,
            now,
            capacity,
            delay,
            loses: u32::MAX,
            sent_at: None,
            free_at: now,
            number: 1,
            acks: VecDeque::new(),
            lost: VecDeque::new(),
            missing: Vec::new(),
            delivered: 0,
            delivered_at: now,
            first_sent: now,
        }
    }

    fn outstanding(&self) -> u32 {
        (self.acks.len() + self.lost.len()) as u32
    }

    /// Packets waiting or in service.
    fn queue(&self) -> f64 {
        let left = self.free_at.since(self.now).as_secs_f64();
        left * self.capacity
    }

    fn rate(&self) -> f64 {
        self.sender.rate().bps() / SIZE.as_bits_f64()
    }

    fn run(&mut self, end: f64, mut see: impl FnMut(&Self)) {
        let end = Time::ZERO + seconds(end);
        while self.now < end {
            let gap = self.sender.rate().time_to_send(SIZE).unwrap();
            let may = self.outstanding() < self.sender.window();
            let send = self.sent_at.map_or(self.now, |at| at + gap).max(self.now);
            match self.acks.front() {
                Some(packet) if !may || packet.back <= send => {
                    self.now = packet.back;
                    self.take();
                    see(self);
                }
                _ => {
                    assert!(may, "nothing is on its way and nothing may be sent");
                    self.now = send;
                    self.send();
                }
            }
        }
    }

    fn send(&mut self) {
        if self.outstanding() == 0 {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        let number = self.number;
        let sent = Outgoing {
            number,
            size: SIZE,
            kind: Kind::Data,
        };
        self.sender.on_send(&self.params, self.now, &sent);
        self.number += 1;
        self.sent_at = Some(self.now);
        if let Some((_, again)) = self.missing.iter_mut().find(|(_, again)| again.is_none()) {
            *again = Some(number);
        }
        if number % self.loses == self.loses - 1 {
            self.lost.push_back(number);
            return;
        }
        self.free_at = self.free_at.max(self.now) + seconds(1.0 / self.capacity);
        self.acks.push_back(Packet {
            number,
            sent: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            back: self.free_at + self.delay,
        });
    }

    fn take(&mut self) {
        let packet = self.acks.pop_front().unwrap();
        while self.lost.front().is_some_and(|lost| lost + 3 <= packet.number) {
            let number = self.lost.pop_front().unwrap();
            match self.missing.iter_mut().find(|(_, again)| *again == Some(number)) {
                Some((_, again)) => *again = None,
                None => self.missing.push((number, None)),
            }
            let loss = Loss {
                number,
                next: self.number,
                outstanding: self.outstanding(),
            };
            self.sender.on_loss(&self.params, self.now, &loss);
        }
        self.missing.retain(|(_, again)| *again != Some(packet.number));
        self.delivered += 1;
        self.delivered_at = self.now;
        self.first_sent = packet.sent;
        let interval = packet
            .sent
            .since(packet.first_sent)
            .max(self.now.since(packet.delivered_at));
        let feedback = Feedback {
            outstanding: self.outstanding(),
            gap: self
                .lost
                .iter()
                .chain(self.missing.iter().map(|(first, _)| first))
                .any(|first| *first < packet.number),
            delivery: Some(Delivery {
                total: self.delivered,
                prior: packet.delivered,
                interval,
            }),
            ..Feedback::plain(packet.number, Kind::Data, self.now.since(packet.sent), NoHeader)
        };
        self.sender.on_feedback(&self.params, self.now, &feedback);
    }
}

fn close(measured: f64, expected: f64, relative: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= relative,
        "{measured}, expected {expected} within {relative}"
    );
}

/// The phase of 1.25 leaves at most a quarter of a bandwidth-delay product in the queue, the next one drains it.
#[test]
fn a_pipe_is_filled_and_its_queue_stays_short() {
    for (capacity, delay) in [(1250.0, 0.04), (1e4, 0.1), (100.0, 0.2)] {
        let mut path = Loop::new(capacity, delay);
        path.run(5.0, |_| {});
        let (before, mut most, mut least) = (path.delivered, 0.0_f64, f64::MAX);
        path.run(9.9, |path| {
            most = most.max(path.queue());
            least = least.min(path.queue());
            close(path.sender.path.bandwidth, capacity, 0.01);
        });
        close(f64::from(path.delivered - before) / 4.9, capacity, 0.02);
        assert!(most < 0.25 * capacity * delay + 3.0, "{most} packets wait");
        assert!(least < 2.0, "the queue never empties: {least}");
        close(path.sender.path.rtt, delay, 1e-9);
    }
}

/// With a pacing gain of 4 ln 2 a rate that doubles per round trip is its own continuation: what arrived in the last round
/// trip was sent one to two round trips ago, at `(1/2 - 1/4) / ln 2` of the rate now.
#[test]
fn the_rate_doubles_per_round_trip_until_the_pipe_is_full() {
    let delay = 0.1;
    let mut path = Loop::new(1e7, delay);
    let mut rates = Vec::new();
    for round in 1..=12 {
        path.run(delay * f64::from(1 + round), |_| {});
        rates.push(path.rate());
    }
    close(rates[10] / rates[9], 2.0, 0.03);
    close(rates[11] / rates[10], 2.0, 0.03);
}

#[test]
fn four_packets_measure_a_round_trip_time_that_is_ten_seconds_old() {
    let mut path = Loop::new(1250.0, 0.04);
    let mut probes: Vec<(f64, f64)> = Vec::new();
    let mut see = |path: &Loop| {
        let now = path.now.as_secs_f64();
        match probes.last_mut() {
            _ if path.sender.window() > 4 => {}
            Some(probe) if now - probe.1 < 0.1 => probe.1 = now,
            _ => probes.push((now, now)),
        }
    };
    // No data packet is as fast as the handshake. From then on the queue drains in each cycle, and that is a measurement.
    path.run(20.0, &mut see);
    path.delay = seconds(0.08);
    path.run(35.0, &mut see);
    assert_eq!(probes.len(), 2, "{probes:?}");
    let cycle = 8.0 * 0.05;
    for ((from, to), expected) in probes.iter().zip([10.04, 30.0]) {
        assert!(from - expected > -cycle && from - expected < 0.1, "{probes:?}");
        // The window is reached within a round trip, then held for 200 ms and to the next ACK.
        assert!(to - from > 0.2 && to - from < 0.2 + 2.0 * 0.09, "{probes:?}");
    }
}

#[test]
fn a_slower_link_and_a_longer_path_are_noticed() {
    let mut path = Loop::new(1250.0, 0.04);
    path.run(5.0, |_| {});
    path.capacity = 500.0;
    path.run(8.0, |_| {});
    close(path.sender.path.bandwidth, 500.0, 0.02);
    path.delay = seconds(0.08);
    path.run(30.0, |_| {});
    close(path.sender.path.rtt, 0.08 + 1.0 / 500.0, 0.05);
    let before = path.delivered;
    path.run(39.0, |_| {});
    close(f64::from(path.delivered - before) / 9.0, 500.0, 0.05);
}

/// Cardwell et al. 2016: random losses do not slow it down while they are fewer than the probing gain.
#[test]
fn losses_do_not_matter() {
    for loses in [1000, 100, 20] {
        let mut path = Loop::new(1250.0, 0.04);
        path.loses = loses;
        path.run(2.0, |_| {});
        let before = path.delivered;
        path.run(10.0, |_| {});
        let goodput = f64::from(path.delivered - before) / 8.0;
        close(goodput, 1250.0, 0.03 + 1.0 / f64::from(loses));
    }
}

#[test]
fn a_timeout_leaves_one_packet_until_something_arrives() {
    let mut path = Loop::new(1250.0, 0.04);
    path.run(2.0, |_| {});
    let window = path.sender.window();
    path.sender.on_timeout(&path.params, path.now, path.number);
    assert_eq!(path.sender.window(), 1);
    let number = path.number;
    let ack = Feedback::plain(number, Kind::Data, seconds(0.04), NoHeader);
    path.sender.on_feedback(&path.params, path.now, &ack);
    assert_eq!(path.sender.window(), window);
}

#[test]
fn any_measurement_keeps_rate_and_window_alive() {
    let ack = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    let inputs = proptest::collection::vec((0_u8..4, ack), 0..60);
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }, |(inputs in inputs)| {
        let params = defaults();
        let mut sender = sender(&params);
        for (what, (number, a, b, time, interval)) in inputs {
            let now = Time::from_ps(time);
            match what {
                0 => sender.on_loss(&params, now, &Loss { number, next: a, outstanding: b }),
                1 => sender.on_timeout(&params, now, number),
                _ => {
                    let delivery = Some(Delivery { total: a, prior: b, interval: Duration::from_ps(interval) });
                    let plain = Feedback::plain(number, Kind::Data, Duration::from_ps(interval), NoHeader);
                    sender.on_feedback(&params, now, &Feedback { delivery, acked: a, outstanding: b, ..plain });
                }
            }
            prop_assert!(sender.rate().bps() > 0.0 && sender.rate().bps().is_finite());
            prop_assert!(sender.window() > 0);
        }
    });
}
