//! Sender algorithm: sends at the echoed rate.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::Header;
use crate::header::LONGEST_TIME;
use crate::{Feedback, FlowInfo, Outgoing, SenderLaw};

/// Longest inter-packet time of a sender. A sender needs packets to receive a higher rate.
const SLOWEST_GAP: Duration = Duration::from_secs(10);

/// Weight of a new sample in the smoothed round-trip time (RFC 6298, section 2.3).
const RTT_GAIN: f64 = 0.125;

/// Sender of RCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    rate: Rate,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
}

impl Sender {
    fn floor(packet_size: Bytes) -> Rate {
        packet_size.per(SLOWEST_GAP).expect("the gap is not zero")
    }
}

impl SenderLaw for Sender {
    type Params = ();
    type Header = Header;

    fn new(_params: &(), flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: Self::floor(flow.packet_size),
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
        self.srtt = if self.srtt == 0.0 {
            sample
        } else {
            self.srtt + RTT_GAIN * (sample - self.srtt)
        };
        let echoed = f64::from(feedback.header.rate);
        if echoed.is_finite() {
            self.rate = Rate::clamped(echoed.max(Self::floor(self.packet_size).bps()));
        }
    }
}
