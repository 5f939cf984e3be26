//! Sender: one packet per packet time.

use levelflow_units::{Bytes, Rate, Time};

use super::CbrParams;
use crate::{Feedback, FlowInfo, NoHeader, Outgoing, SenderLaw};

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct CbrSender {
    packet_size: Bytes,
    rate: Rate,
}

impl SenderLaw for CbrSender {
    type Params = CbrParams;
    type Header = NoHeader;

    fn new(params: &CbrParams, flow: &FlowInfo) -> Self {
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
    fn packet_size(&self, _params: &CbrParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &CbrParams, _now: Time, _packet: &Outgoing) -> NoHeader {
        NoHeader
    }

    #[inline]
    fn on_feedback(&mut self, _params: &CbrParams, _now: Time, _feedback: &Feedback<NoHeader>) {}
}
