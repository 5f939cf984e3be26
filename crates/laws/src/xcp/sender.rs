//! Sender algorithm: a congestion window that changes by the feedback of each ACK.

use levelflow_units::{Bytes, Rate, Time};

use super::{Header, Params};
use crate::bytes::before;
use crate::header::LONGEST_TIME;
use crate::{Feedback, FlowInfo, Loss, Outgoing, SenderLaw, rtt};

/// Initial window in packets (ns-2). RFC 5681, section 3.1, permits 2 to 4 packets.
const INITIAL_WINDOW: f64 = 2.0;

/// Shortest round-trip time used by a sender, in seconds.
const SHORTEST_RTT: f64 = 1e-6;

/// Round-trip time that [`SenderLaw::rate`] assumes before the first sample, in seconds (initial timeout of RFC 6298).
const UNKNOWN_RTT: f64 = 1.0;

/// Sender of XCP.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    /// Congestion window `cwnd`, bytes.
    window: f64,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
    /// Number of the first packet sent after the last reduction. Losses of earlier packets do not reduce the window
    /// again.
    recovered: Option<u32>,
}

impl Sender {
    /// Sets the window to `bytes`, or to one packet if `bytes` is less.
    fn resize(&mut self, bytes: f64) {
        let packet = self.packet_size.get() as f64;
        self.window = bytes.clamp(packet, packet * f64::from(u32::MAX));
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = Header;

    fn new(_params: &Params, flow: &FlowInfo) -> Self {
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
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &Params, _now: Time, _packet: &Outgoing) -> Header {
        Header {
            gap: (self.srtt / f64::from(self.window())) as f32,
            rtt: self.srtt as f32,
            reverse_feedback: 0.0,
            delta_throughput: if self.srtt > 0.0 { f32::INFINITY } else { 0.0 },
        }
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, _now: Time, feedback: &Feedback<Header>) {
        let sample = feedback.rtt.as_secs_f64().clamp(SHORTEST_RTT, LONGEST_TIME.into());
        self.srtt = rtt::smoothed(self.srtt, sample, params.rtt_gain);
        let change = f64::from(feedback.header.reverse_feedback);
        if change.is_finite() {
            self.resize(self.window + change * self.srtt);
        }
    }

    /// Halves the window, at most once per window of data, like TCP (section 3.2).
    fn on_loss(&mut self, _params: &Params, _now: Time, loss: &Loss) {
        if self.recovered.is_none_or(|number| !before(loss.number, number)) {
            self.resize(self.window / 2.0);
            self.recovered = Some(loss.next);
        }
    }

    fn on_timeout(&mut self, _params: &Params, _now: Time, next: u32) {
        self.resize(0.0);
        self.recovered = Some(next);
    }
}
