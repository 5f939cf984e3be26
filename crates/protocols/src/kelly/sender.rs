//! Sender half: eq 1, once per step.

use levelflow_units::{Bytes, Rate, Time};

use super::{KellyHeader, KellyParams};
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw};

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct KellySender {
    packet_size: Bytes,
    rate: Rate,
    /// The first answer from then on changes the rate.
    due: Time,
}

impl SenderLaw for KellySender {
    type Params = KellyParams;
    type Header = KellyHeader;

    fn new(params: &KellyParams, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: params.initial_rate,
            due: Time::ZERO,
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
        KellyHeader {
            price: 0.0,
            rate: (self.rate.bps() as f32).min(f32::MAX),
        }
    }

    /// Eq 1: `x(n) = x(n-1) + kappa (omega - x(n-D) mu)`, with `x(n-D)` and the price `mu` from the answered packet.
    #[inline]
    fn on_feedback(&mut self, params: &KellyParams, now: Time, feedback: &Feedback<KellyHeader>) {
        if now < self.due {
            return;
        }
        let late = now.since(self.due) >= params.step;
        let from = if late { now } else { self.due };
        self.due = from.checked_add(params.step).unwrap_or(now);
        let paid = f64::from(feedback.header.rate) * f64::from(feedback.header.price);
        let rate = self.rate.bps() + params.kappa * (params.omega.bps() - paid);
        self.rate = Rate::clamped(rate.max(params.min_rate.bps()));
    }
}
