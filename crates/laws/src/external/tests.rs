use std::boxed::Box;
use std::sync::Arc;

use levelflow_units::{Bytes, Duration, Time};

use super::{Ack, Expired, ExternalLaw, ExternalSender, Limits, Lost, Params, Sender};
use crate::newreno::NewReno;
use crate::{Feedback, FlowInfo, Kind, Law, LawInfo, Loss, NoHeader, Outgoing, SenderLaw, Transport};

/// Law that records its inputs in the window: 1 for a first loss, 2 for a recovering ACK, 4 for a repeated timeout.
#[derive(Debug)]
struct Recorder;

#[derive(Debug, Clone)]
struct State(u32);

impl ExternalLaw for Recorder {
    fn info(&self) -> &'static LawInfo {
        &<NewReno as Law>::INFO
    }

    fn transport(&self) -> Transport {
        Transport::PLAIN
    }

    fn sender(&self, _values: &[f64], _flow: &FlowInfo) -> Box<dyn ExternalSender> {
        Box::new(State(0))
    }
}

impl ExternalSender for State {
    fn limits(&self) -> Limits {
        Limits {
            rate: None,
            window: Some(f64::from(self.0)),
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.0 = 2 * u32::from(ack.recovering);
    }

    fn on_loss(&mut self, lost: &Lost) {
        self.0 = u32::from(lost.first);
    }

    fn on_timeout(&mut self, expired: &Expired) {
        self.0 = 4 * u32::from(expired.repeated);
    }

    fn duplicate(&self) -> Box<dyn ExternalSender> {
        Box::new(self.clone())
    }
}

struct Flow(Params, Sender);

impl Flow {
    fn new() -> Self {
        let law: Arc<dyn ExternalLaw> = Arc::new(Recorder);
        let params = Params {
            law,
            values: Arc::new([]),
        };
        let sender = Sender::new(&params, &FlowInfo::of(Bytes::new(1000)));
        Self(params, sender)
    }

    fn seen(&self) -> u32 {
        self.1.limits.window.unwrap() as u32
    }

    fn send(&mut self, number: u32) {
        let (size, kind) = (Bytes::new(1000), Kind::Data);
        let packet = Outgoing { number, size, kind };
        self.1.on_send(&self.0, Time::ZERO, &packet);
    }

    fn ack(&mut self, number: u32, gap: bool) -> u32 {
        let plain = Feedback::plain(number, Kind::Data, Duration::from_ms(10), NoHeader);
        self.1.on_feedback(&self.0, Time::ZERO, &Feedback { gap, ..plain });
        self.seen()
    }

    fn lose(&mut self, number: u32, next: u32) -> u32 {
        let loss = Loss {
            number,
            next,
            outstanding: 0,
        };
        self.1.on_loss(&self.0, Time::ZERO, &loss);
        self.seen()
    }
}

#[test]
fn only_one_loss_per_window_is_the_first() {
    let mut flow = Flow::new();
    (0..10).for_each(|number| flow.send(number));
    assert_eq!(flow.ack(5, true), 2, "a packet is missing");
    assert_eq!(flow.lose(2, 10), 1);
    assert_eq!(flow.lose(4, 10), 0, "sent before the first loss");
    assert_eq!(flow.ack(9, false), 2, "sent before the first loss");
    flow.send(10);
    flow.send(11);
    assert_eq!(flow.ack(10, true), 2, "another packet is missing");
    assert_eq!(flow.ack(11, false), 0);
    assert_eq!(flow.lose(10, 12), 1, "sent after the first loss");
}

#[test]
fn a_timeout_ends_the_recovery_and_repeats_without_acks() {
    let mut flow = Flow::new();
    (0..10).for_each(|number| flow.send(number));
    flow.lose(2, 10);
    flow.1.on_timeout(&flow.0, Time::ZERO, 10);
    assert_eq!(flow.seen(), 0);
    flow.1.on_timeout(&flow.0, Time::ZERO, 11);
    assert_eq!(flow.seen(), 4);
    assert_eq!(flow.lose(5, 11), 0, "sent before the timeout");
    assert_eq!(flow.ack(5, true), 0, "the window may grow after a timeout");
    flow.1.on_timeout(&flow.0, Time::ZERO, 12);
    assert_eq!(flow.seen(), 0, "there was an ACK");
}

#[test]
fn a_window_sets_a_rate_and_acts_as_at_least_one_packet() {
    let mut flow = Flow::new();
    flow.send(0);
    flow.ack(0, false);
    assert_eq!(flow.1.window(), 1);
    assert!(
        (flow.1.rate().bps() - 8000.0 / 0.01).abs() < 1e-6,
        "{:?}",
        flow.1.rate()
    );
    assert!(!flow.1.paces());
}

/// Verifies the comparison of packet numbers modulo 2^32.
#[test]
fn a_first_loss_is_detected_after_the_numbers_wrap() {
    let mut flow = Flow::new();
    for number in [0, 1 << 30, 1 << 31, 3 << 30, 7] {
        flow.send(number);
        flow.ack(number, false);
        assert_eq!(flow.lose(number, number + 1), 1, "{number}");
    }
}

#[test]
fn a_copy_is_independent() {
    let mut flow = Flow::new();
    let copy = flow.1.clone();
    flow.send(0);
    flow.lose(0, 1);
    assert_eq!(copy.inner.0.limits().window, Some(0.0));
    assert_ne!(copy, flow.1);
}
