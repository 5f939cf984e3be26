//! Sender: paces packets at a constant rate.

use levelflow_units::{Bytes, Rate, Time};

use super::Params;
use crate::{Feedback, FlowInfo, NoHeader, Outgoing, SenderLaw};

/// Sender of CBR.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: params.rate,
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
    fn on_send(&mut self, _params: &Params, _now: Time, _packet: &Outgoing) -> NoHeader {
        NoHeader
    }

    #[inline]
    fn on_feedback(&mut self, _params: &Params, _now: Time, _feedback: &Feedback<NoHeader>) {}
}
