//! Sender algorithm: one step of eq 1 per control interval of the first router.

use levelflow_units::{Bytes, Rate, Time};

use super::{Header, Params};
use crate::bytes::before;
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw};

/// Sender of Kelly control.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
    /// Lowest packet number that an ACK may have; ACKs for earlier packets are ignored.
    next: u32,
    /// Number of intervals in the last report, and number of the first packet that carried this report.
    last_report: Option<(u32, u32)>,
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: params.initial_rate,
            next: 0,
            last_report: None,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &Params, _now: Time, _packet: &Outgoing) -> Header {
        Header::UNSET
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, _now: Time, feedback: &Feedback<Header>) {
        let (number, Header { price, seq }) = (feedback.number, feedback.header);
        if before(number, self.next) || seq == 0 {
            return;
        }
        self.next = number.wrapping_add(1);
        match self.last_report {
            Some((last, since)) if seq > last => self.step(params, seq - last, number.wrapping_sub(since), price),
            Some((last, _)) if seq == last => return,
            _ => {}
        }
        self.last_report = Some((seq, number));
    }
}

impl Sender {
    /// Applies `steps` steps of eq 1, `x(n) = x(n-1) + kappa (omega - x(n-D) mu)`. For `x(n-D)`, all steps use the
    /// average rate of the packets that the router counted in these intervals.
    fn step(&mut self, params: &Params, steps: u32, packets: u32, price: f32) {
        let sent = f64::from(packets) * self.packet_size.as_bits_f64() / params.interval.as_secs_f64();
        let change = params.kappa * (f64::from(steps) * params.omega.bps() - sent * f64::from(price));
        self.rate = Rate::clamped((self.rate.bps() + change).max(params.min_rate.bps()));
    }
}
