use std::vec::Vec;

use levelflow_units::{Bytes, Duration, Time};

use super::{Aimd, Params, Sender};
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, ParamError, Parameters, Protocol, SenderLaw};

const C: f64 = 1e6;
const ALPHA: f64 = 10e3;
const SIZE: Bytes = Bytes::new(1000);

fn with(changes: &[(&str, f64)]) -> Result<Params, ParamError> {
    let value = |name| changes.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    assert!(
        changes
            .iter()
            .all(|(name, _)| Params::TABLE.iter().any(|r| r.name == *name))
    );
    let values: Vec<f64> = Params::TABLE
        .iter()
        .map(|r| value(r.name).unwrap_or(r.default))
        .collect();
    Params::read(&values)
}

/// Simulated sender. A step is one round-trip time. In a step, all packets are acknowledged or lost.
struct Flow {
    params: Params,
    sender: Sender,
    next: u32,
}

impl Flow {
    fn new(changes: &[(&str, f64)]) -> Self {
        let params = with(changes).unwrap();
        let sender = Sender::new(&params, &FlowInfo::of(SIZE));
        Self {
            params,
            sender,
            next: 0,
        }
    }

    fn rate(&self) -> f64 {
        self.sender.rate().bps()
    }

    fn send(&mut self, packets: u32) -> u32 {
        let first = self.next;
        for _ in 0..packets {
            let sent = Outgoing {
                number: self.next,
                size: SIZE,
                kind: Kind::Data,
            };
            self.sender.on_send(&self.params, Time::ZERO, &sent);
            self.next += 1;
        }
        first
    }

    fn ack(&mut self, number: u32, marked: bool) {
        let plain = Feedback::plain(number, Kind::Data, Duration::from_ms(100), NoHeader);
        self.sender
            .on_feedback(&self.params, Time::ZERO, &Feedback { marked, ..plain });
    }

    fn lose(&mut self, number: u32) {
        let loss = Loss {
            number,
            next: self.next,
            outstanding: 0,
        };
        self.sender.on_loss(&self.params, Time::ZERO, &loss);
    }

    /// Runs one round-trip time with five packets. The first packet is lost if the link is overloaded.
    fn round(&mut self, overload: bool) {
        let first = self.send(5);
        if overload {
            self.lose(first);
        }
        for number in first + u32::from(overload)..first + 5 {
            self.ack(number, false);
        }
    }
}

/// Verifies the sawtooth of the rate. In a period, the rate rises from `keep` times its peak to just above the
/// capacity. A period has `(1 - keep) C / alpha` increases and one decrease, one step per round-trip time. The mean
/// rate is the midpoint of the smallest and the largest rate.
#[test]
fn the_rate_is_a_sawtooth() {
    for keep in [0.5, 0.8] {
        let mut flow = Flow::new(&[("keep", keep)]);
        let mut rates = Vec::new();
        while rates.len() < 2000 {
            flow.round(flow.rate() > C);
            rates.push(flow.rate());
        }
        let drops: Vec<usize> = (1..2000).filter(|&i| rates[i] < rates[i - 1]).collect();
        let increases = (1.0 - keep) * C / ALPHA;
        for pair in drops[1..].windows(2) {
            let period = (pair[1] - pair[0]) as f64;
            assert!((period - increases - 1.0).abs() <= 1.0, "{period} steps");
            let peak = rates[pair[1] - 1];
            let mean = rates[pair[0]..pair[1]].iter().sum::<f64>() / period;
            assert!(peak > C && peak < C + ALPHA + 1e-6, "peak {peak}");
            assert!((mean - f64::midpoint(keep * peak, peak)).abs() <= ALPHA, "mean {mean}");
        }
        assert!(drops.len() > 15, "{keep}: {} drops", drops.len());
    }
}

/// Verifies Zhang 2008, theorem 13, eq 115, for two synchronised flows. They start with the most unfair rates, almost 0
/// and `C`.
#[test]
fn two_flows_become_fair_as_theorem_13_says() {
    for epsilon in [0.1_f64, 0.01] {
        let mut flows = [
            Flow::new(&[("min_rate", 1.0), ("initial_rate", 1.0)]),
            Flow::new(&[("initial_rate", C)]),
        ];
        let mut steps = 0;
        while flows[0].rate() / flows[1].rate() < 1.0 - epsilon {
            let overload = flows[0].rate() + flows[1].rate() > C;
            flows.iter_mut().for_each(|flow| flow.round(overload));
            steps += 1;
        }
        let (n, cut) = (2.0_f64, 0.5_f64);
        let expected = (C + n * ALPHA / cut) * (n.ln() - epsilon.ln()) / (-n * ALPHA * (1.0 - cut).ln() / cut);
        let error = f64::from(steps) / expected - 1.0;
        assert!(error.abs() < 0.03, "{steps} steps, expected {expected}");
    }
}

#[test]
fn there_is_one_decrease_per_round_trip_time() {
    let mut flow = Flow::new(&[("initial_rate", C)]);
    let first = flow.send(10);
    (first..first + 4).for_each(|number| flow.lose(number));
    assert_eq!(flow.rate(), 0.5 * C);
    flow.send(10);
    (first + 4..first + 10).for_each(|number| flow.ack(number, false));
    assert_eq!(flow.rate(), 0.5 * C, "ACKs for packets from before the decrease");
    flow.lose(first + 9);
    assert_eq!(flow.rate(), 0.5 * C, "a loss from before the decrease");
    flow.ack(first + 11, false);
    assert_eq!(flow.rate(), 0.5 * C + ALPHA);
    flow.ack(first + 12, false);
    assert_eq!(flow.rate(), 0.5 * C + ALPHA, "one increase per round-trip time");
    flow.lose(first + 10);
    assert_eq!(
        flow.rate(),
        0.5 * (0.5 * C + ALPHA),
        "a loss of a packet sent since the decrease"
    );
}

#[test]
fn marks_count_only_where_asked() {
    for (ecn, kept) in [(0.0, 1.0), (1.0, 0.5)] {
        let mut flow = Flow::new(&[("initial_rate", C), ("ecn", ecn)]);
        let first = flow.send(2);
        flow.ack(first, true);
        flow.ack(first + 1, true);
        let expected = kept * C + if ecn == 0.0 { ALPHA } else { 0.0 };
        assert_eq!(flow.rate(), expected);
        assert_eq!(Aimd::transport(&flow.params).ecn, ecn != 0.0);
    }
}

#[test]
fn the_rate_has_a_floor() {
    let mut flow = Flow::new(&[("keep", 0.0)]);
    flow.round(true);
    assert_eq!(flow.rate(), 1e3);
    flow.sender.on_timeout(&flow.params, Time::ZERO, flow.next);
    assert_eq!(flow.rate(), 1e3);
    let refused = with(&[("initial_rate", 1.0)]).unwrap_err();
    assert_eq!(refused.name, "initial_rate");
}
