//! Sender: one rate change per round-trip time.

use levelflow_units::{Bytes, Rate, Time};

use super::Params;
use crate::bytes::before;
use crate::{Feedback, FlowInfo, Loss, NoHeader, Outgoing, SenderLaw};

/// Sender of AIMD.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
    /// Number of the next packet to be sent.
    next: u32,
    /// Number of the first packet sent after the last rate change. The ACK of this packet ends the round-trip time.
    stepped: u32,
    /// Number of the first packet sent after the last decrease. Losses and marks of earlier packets are ignored,
    /// because these packets were sent at a higher rate.
    decreased: u32,
}

impl Sender {
    fn decrease(&mut self, params: &Params, next: u32) {
        self.rate = Rate::clamped((params.keep * self.rate.bps()).max(params.min_rate.bps()));
        self.stepped = next;
        self.decreased = next;
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: params.initial_rate,
            ..Self::default()
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
    fn on_send(&mut self, _params: &Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        NoHeader
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, _now: Time, feedback: &Feedback<NoHeader>) {
        if feedback.marked && params.ecn && !before(feedback.number, self.decreased) {
            self.decrease(params, self.next);
        } else if !before(feedback.number, self.stepped) {
            self.rate = Rate::clamped(self.rate.bps() + params.alpha.bps());
            self.stepped = self.next;
        }
    }

    fn on_loss(&mut self, params: &Params, _now: Time, loss: &Loss) {
        if !before(loss.number, self.decreased) {
            self.decrease(params, loss.next);
        }
    }

    fn on_timeout(&mut self, params: &Params, _now: Time, next: u32) {
        self.decrease(params, next);
    }
}
