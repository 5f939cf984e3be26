//! Sender algorithm: sends at the echoed rate.

use levelflow_units::{Bytes, Rate, Time};

use super::Header;
use crate::header::LONGEST_TIME;
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw, paced, rtt};

/// Sender of RCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
}

impl SenderLaw for Sender {
    type Params = ();
    type Header = Header;

    fn new(_params: &(), flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: paced::slowest(flow.packet_size),
            srtt: 0.0,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn packet_size(&self, _params: &()) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &(), _now: Time, _packet: &Outgoing) -> Header {
        Header {
            rate: f32::INFINITY,
            rtt: self.srtt as f32,
        }
    }

    #[inline]
    fn on_feedback(&mut self, _params: &(), _now: Time, feedback: &Feedback<Header>) {
        let sample = feedback.rtt.as_secs_f64().min(LONGEST_TIME.into());
        self.srtt = rtt::smoothed(self.srtt, sample, rtt::GAIN);
        let echoed = f64::from(feedback.header.rate);
        if echoed.is_finite() {
            self.rate = Rate::clamped(echoed.max(paced::slowest(self.packet_size).bps()));
        }
    }
}
