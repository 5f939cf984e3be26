//! Sender half: a window that changes by the feedback of each ACK.

use levelflow_units::{Bytes, Rate, Time};

use super::{XcpHeader, XcpParams};
use crate::bytes::before;
use crate::header::LONGEST_TIME;
use crate::{Feedback, FlowInfo, Loss, Outgoing, SenderLaw};

/// First window in packets, as ns-2 has it; RFC 5681, section 3.1, allows 2 to 4.
const INITIAL_WINDOW: f64 = 2.0;

/// Shortest round-trip time a sender computes with, seconds.
const SHORTEST_RTT: f64 = 1e-6;

/// Round-trip time assumed for [`SenderLaw::rate`] before the first sample, seconds (the first timeout of RFC 6298).
const UNKNOWN_RTT: f64 = 1.0;

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct XcpSender {
    packet_size: Bytes,
    /// `cwnd`, bytes.
    window: f64,
    /// Smoothed round-trip time in seconds, 0 before the first sample.
    srtt: f64,
    /// Losses of packets sent before this number have been acknowledged.
    recovered: Option<u32>,
}

impl XcpSender {
    /// Sets the window to so many bytes, at least one packet.
    fn resize(&mut self, bytes: f64) {
        let packet = self.packet_size.get() as f64;
        self.window = bytes.clamp(packet, packet * f64::from(u32::MAX));
    }
}

impl SenderLaw for XcpSender {
    type Params = XcpParams;
    type Header = XcpHeader;

    fn new(_params: &XcpParams, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            window: INITIAL_WINDOW * flow.packet_size.get() as f64,
            srtt: 0.0,
            recovered: None,
        }
    }

    fn rate(&self) -> Rate {
        let srtt = if self.srtt > 0.0 { self.srtt } else { UNKNOWN_RTT };
        Rate::clamped(f64::from(self.window()) * self.packet_size.as_bits_f64() / srtt)
    }

    fn paces(&self) -> bool {
        false
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.window / self.packet_size.get() as f64) as u32
    }

    #[inline]
    fn packet_size(&self, _params: &XcpParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &XcpParams, _now: Time, _packet: &Outgoing) -> XcpHeader {
        XcpHeader {
            gap: (self.srtt / f64::from(self.window())) as f32,
            rtt: self.srtt as f32,
            reverse_feedback: 0.0,
            delta_throughput: if self.srtt > 0.0 { f32::INFINITY } else { 0.0 },
        }
    }

    #[inline]
    fn on_feedback(&mut self, params: &XcpParams, _now: Time, feedback: &Feedback<XcpHeader>) {
        let sample = feedback.rtt.as_secs_f64().clamp(SHORTEST_RTT, LONGEST_TIME.into());
        self.srtt = if self.srtt == 0.0 {
            sample
        } else {
            self.srtt + params.rtt_gain * (sample - self.srtt)
        };
        let change = f64::from(feedback.header.reverse_feedback);
        if change.is_finite() {
            self.resize(self.window + change * self.srtt);
        }
    }

    /// As TCP: the window halves once per window (section 3.2).
    fn on_loss(&mut self, _params: &XcpParams, _now: Time, loss: &Loss) {
        if self.recovered.is_none_or(|number| !before(loss.number, number)) {
            self.resize(self.window / 2.0);
            self.recovered = Some(loss.next);
        }
    }

    fn on_timeout(&mut self, _params: &XcpParams, _now: Time, next: u32) {
        self.resize(0.0);
        self.recovered = Some(next);
    }
}
