//! Sender half: one step of eq 1 per interval of the first router.

use levelflow_units::{Bytes, Rate, Time};

use super::{KellyHeader, KellyParams};
use crate::bytes::before;
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw};

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct KellySender {
    packet_size: Bytes,
    rate: Rate,
    /// ACKs for packets before this number are out of date.
    next: u32,
    /// The newest count of intervals, and the first packet that carried it.
    heard: Option<(u32, u32)>,
}

impl SenderLaw for KellySender {
    type Params = KellyParams;
    type Header = KellyHeader;

    fn new(params: &KellyParams, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: params.initial_rate,
            next: 0,
            heard: None,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn packet_size(&self, _params: &KellyParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &KellyParams, _now: Time, _packet: &Outgoing) -> KellyHeader {
        KellyHeader::UNSET
    }

    #[inline]
    fn on_feedback(&mut self, params: &KellyParams, _now: Time, feedback: &Feedback<KellyHeader>) {
        let (number, KellyHeader { price, seq }) = (feedback.number, feedback.header);
        if before(number, self.next) || seq == 0 {
            return;
        }
        self.next = number.wrapping_add(1);
        match self.heard {
            Some((last, since)) if seq > last => self.step(params, seq - last, number.wrapping_sub(since), price),
            Some((last, _)) if seq == last => return,
            _ => {}
        }
        self.heard = Some((seq, number));
    }
}

impl KellySender {
    /// That many steps of eq 1, `x(n) = x(n-1) + kappa (omega - x(n-D) mu)`, with the same `x(n-D)`: the rate of the
    /// packets that the router counted in that time.
    fn step(&mut self, params: &KellyParams, steps: u32, packets: u32, price: f32) {
        let sent = f64::from(packets) * self.packet_size.as_bits_f64() / params.interval.as_secs_f64();
        let change = params.kappa * (f64::from(steps) * params.omega.bps() - sent * f64::from(price));
        self.rate = Rate::clamped((self.rate.bps() + change).max(params.min_rate.bps()));
    }
}
