//! Sender half: EMKC's, which also tells routers its round-trip time.

use levelflow_units::{Bytes, Rate, Time};

use super::{EmkcAvqHeader, EmkcAvqParams};
use crate::emkc::EmkcSender;
use crate::header::LONGEST_TIME;
use crate::{Bottleneck, Feedback, FlowInfo, Outgoing, SenderLaw};

/// Weight of one sample in the smoothed round-trip time (Zhang 2008, section VI.3.3, note 4).
const RTT_GAIN: f64 = 0.4;

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct EmkcAvqSender {
    emkc: EmkcSender,
    /// Smoothed round-trip time in seconds, 0 before the first sample.
    srtt: f64,
}

impl SenderLaw for EmkcAvqSender {
    type Params = EmkcAvqParams;
    type Header = EmkcAvqHeader;

    fn new(params: &EmkcAvqParams, flow: &FlowInfo) -> Self {
        Self {
            emkc: EmkcSender::new(&params.emkc, flow),
            srtt: 0.0,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.emkc.rate()
    }

    #[inline]
    fn packet_size(&self, params: &EmkcAvqParams) -> Bytes {
        self.emkc.packet_size(&params.emkc)
    }

    #[inline]
    fn on_send(&mut self, params: &EmkcAvqParams, now: Time, packet: &Outgoing) -> EmkcAvqHeader {
        EmkcAvqHeader::new(self.emkc.on_send(&params.emkc, now, packet), self.srtt as f32)
    }

    #[inline]
    fn on_feedback(&mut self, params: &EmkcAvqParams, now: Time, feedback: &Feedback<EmkcAvqHeader>) {
        let sample = feedback.rtt.as_secs_f64().min(LONGEST_TIME.into());
        self.srtt = if self.srtt == 0.0 {
            sample
        } else {
            self.srtt + RTT_GAIN * (sample - self.srtt)
        };
        let Feedback {
            number,
            kind,
            rtt,
            ref header,
            ..
        } = *feedback;
        let own = Feedback::plain(number, kind, rtt, header.emkc());
        self.emkc.on_feedback(&params.emkc, now, &own);
    }

    fn bottleneck(&self) -> Bottleneck {
        self.emkc.bottleneck()
    }
}
