//! Sender half: eq 12-13 on every ACK and loss.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Control, KsParams, Utility};
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, SenderLaw};

/// Window in packets, or rate in packets per time unit, of a new flow.
const INITIAL: f64 = 1.0;

/// Smaller windows are paced: a window counts whole packets, and rounding them would say something else.
const PACED_BELOW: f64 = 4.0;

/// Keeps rates finite whatever the parameters.
const CEILING: f64 = 1e9;

/// Weight of one sample in the smoothed round-trip time (RFC 6298, section 2.3).
const RTT_GAIN: f64 = 0.125;

/// Shortest round-trip time that is computed with, seconds.
const SHORTEST_RTT: f64 = 1e-9;

/// One flow.
#[derive(Debug, Clone, PartialEq)]
pub struct KsSender {
    packet_size: Bytes,
    /// `W` in packets, or `x` in packets per time unit.
    pub(super) level: f64,
    /// Smoothed round-trip time in seconds, 0 before the first sample.
    srtt: f64,
    /// Packets on their way.
    outstanding: u32,
    rate: Rate,
    window: u32,
    paced: bool,
}

impl KsSender {
    fn measure(&mut self, rtt: Duration) {
        let sample = rtt.as_secs_f64().max(SHORTEST_RTT);
        self.srtt = if self.srtt == 0.0 {
            sample
        } else {
            self.srtt + RTT_GAIN * (sample - self.srtt)
        };
    }

    fn rtt(&self, params: &KsParams) -> f64 {
        if self.srtt == 0.0 {
            params.time_unit.as_secs_f64()
        } else {
            self.srtt
        }
    }

    /// `d` of eq 12-13. A rate is a window of one time unit: where `A` acks take the time `A/x`, eq 12-13 with `d = 1`
    /// are eq 9-10.
    fn delay(&self, params: &KsParams) -> f64 {
        match params.control {
            Control::Rate => 1.0,
            Control::Window if params.delay > 0.0 => params.delay,
            Control::Window => self.rtt(params) / params.time_unit.as_secs_f64(),
        }
    }

    /// Eq 12-13 for `acks` ACKs, positive or negative, of which `nacks` are negative.
    fn step(&mut self, params: &KsParams, acks: u32, nacks: u32) {
        let (w, d) = (self.level, self.delay(params));
        let (slope, cut) = match (params.utility, params.nu) {
            (Utility::Log, _) => (1.0, d),
            (Utility::Power, 1.0) => (1.0, w),
            (Utility::Power, nu) => (nu, d * libm::pow(w / d, nu)),
        };
        let up = slope * params.weight * d * d / w * f64::from(acks);
        let down = if nacks == 0 {
            0.0
        } else {
            params.beta * cut * f64::from(nacks)
        };
        self.level = (w + params.kappa * (up - down)).clamp(params.floor, CEILING);
        self.settle(params);
    }

    fn settle(&mut self, params: &KsParams) {
        self.paced = params.control == Control::Rate || self.level < PACED_BELOW;
        let bits = self.level * self.packet_size.as_bits_f64();
        (self.rate, self.window) = match params.control {
            Control::Window => (Rate::clamped(bits / self.rtt(params)), libm::ceil(self.level) as u32),
            Control::Rate => (Rate::clamped(bits / params.time_unit.as_secs_f64()), u32::MAX),
        };
    }
}

impl SenderLaw for KsSender {
    type Params = KsParams;
    type Header = NoHeader;

    fn new(params: &KsParams, flow: &FlowInfo) -> Self {
        let mut sender = Self {
            packet_size: flow.packet_size,
            level: INITIAL,
            srtt: 0.0,
            outstanding: 0,
            rate: Rate::ZERO,
            window: 1,
            paced: true,
        };
        sender.settle(params);
        sender
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn paces(&self) -> bool {
        self.paced
    }

    #[inline]
    fn window(&self) -> u32 {
        self.window
    }

    #[inline]
    fn packet_size(&self, _params: &KsParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &KsParams, _now: Time, _packet: &Outgoing) -> NoHeader {
        self.outstanding = self.outstanding.saturating_add(1);
        NoHeader
    }

    #[inline]
    fn on_feedback(&mut self, params: &KsParams, _now: Time, feedback: &Feedback<NoHeader>) {
        self.measure(feedback.rtt);
        self.outstanding = feedback.outstanding;
        let acks = u32::from(feedback.kind == Kind::Data);
        let nacks = u32::from(feedback.marked && params.signal.marks());
        self.step(params, acks, nacks);
    }

    fn on_loss(&mut self, params: &KsParams, _now: Time, loss: &Loss) {
        self.outstanding = loss.outstanding;
        self.step(params, 1, u32::from(params.signal.losses()));
    }

    /// Every packet on its way is a negative ack. Time has passed without ACKs, so nothing is added.
    fn on_timeout(&mut self, params: &KsParams, _now: Time, _next: u32) {
        let nacks = core::mem::take(&mut self.outstanding);
        if params.signal.losses() {
            self.step(params, 0, nacks.max(1));
        }
    }
}
