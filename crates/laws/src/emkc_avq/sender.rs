//! Sender algorithm: EMKC, with the round-trip time in headers.

use levelflow_units::{Bytes, Rate, Time};

use super::Header;
use crate::emkc;
use crate::emkc::Params;
use crate::header::LONGEST_TIME;
use crate::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw, rtt};

/// Weight of a new sample in the smoothed round-trip time (Zhang 2008, section VI.3.3, note 4).
const RTT_GAIN: f64 = 0.4;

/// Sender of EMKC-AVQ.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    emkc: emkc::Sender,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            emkc: emkc::Sender::new(params, flow),
            srtt: 0.0,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.emkc.rate()
    }

    #[inline]
    fn packet_size(&self, params: &Params) -> Bytes {
        self.emkc.packet_size(params)
    }

    #[inline]
    fn on_send(&mut self, params: &Params, now: Time, packet: &Outgoing) -> Header {
        Header::new(self.emkc.on_send(params, now, packet), self.srtt as f32)
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<Header>) {
        let sample = feedback.rtt.as_secs_f64().min(LONGEST_TIME.into());
        self.srtt = rtt::smoothed(self.srtt, sample, RTT_GAIN);
        let Feedback {
            number,
            kind,
            rtt,
            ref header,
            ..
        } = *feedback;
        let own = Feedback::plain(number, kind, rtt, header.emkc());
        self.emkc.on_feedback(params, now, &own);
    }

    fn bottleneck(&self) -> Bottleneck {
        self.emkc.bottleneck()
    }
}
