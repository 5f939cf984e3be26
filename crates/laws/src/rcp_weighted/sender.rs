//! Sender algorithm: sends at a multiple of the echoed rate.

use levelflow_units::{Bytes, Rate, Time};

use super::Params;
use crate::rcp::{self, Header};
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw};

/// Sender of weighted RCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    rcp: rcp::Sender,
    weight: f64,
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            rcp: rcp::Sender::new(&(), flow),
            weight: params.weight,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.weight * self.rcp.rate().bps())
    }

    #[inline]
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.rcp.packet_size(&())
    }

    #[inline]
    fn on_send(&mut self, _params: &Params, now: Time, packet: &Outgoing) -> Header {
        self.rcp.on_send(&(), now, packet)
    }

    #[inline]
    fn on_feedback(&mut self, _params: &Params, now: Time, feedback: &Feedback<Header>) {
        self.rcp.on_feedback(&(), now, feedback);
    }
}
