//! Sender algorithm: applies eq 12-13 to every ACK and loss.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Control, Params, Utility};
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, SenderLaw, rtt};

/// Initial window in packets, or initial rate in packets per time unit.
const INITIAL_RATE: f64 = 1.0;

/// Window below which packets are paced. The window of the transport has whole packets, and rounding would change a
/// small window too much.
const PACED_BELOW: f64 = 4.0;

/// Limit on window or rate. It keeps rates finite for all parameters.
const MAX_RATE: f64 = 1e9;

/// Shortest round-trip time used, in seconds.
const SHORTEST_RTT: f64 = 1e-9;

/// Sender of the Kunniyur-Srikant law.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    /// Window `W` in packets, or rate `x` in packets per time unit.
    pub(super) level: f64,
    /// Smoothed round-trip time, in seconds; 0 before the first sample.
    srtt: f64,
    /// Packets in flight.
    outstanding: u32,
    rate: Rate,
    window: u32,
    paced: bool,
}

impl Sender {
    fn measure(&mut self, rtt: Duration) {
        let sample = rtt.as_secs_f64().max(SHORTEST_RTT);
        self.srtt = rtt::smoothed(self.srtt, sample, rtt::GAIN);
    }

    fn rtt(&self, params: &Params) -> f64 {
        if self.srtt == 0.0 {
            params.time_unit.as_secs_f64()
        } else {
            self.srtt
        }
    }

    /// Returns the delay `d` of eq 12-13. A rate is the window of a path whose round-trip time is one time unit. With
    /// `d = 1`, eq 12-13 therefore become eq 9-10: `A` ACKs arrive in the time `A/x`.
    fn delay(&self, params: &Params) -> f64 {
        match params.control {
            Control::Rate => 1.0,
            Control::Window if params.delay > 0.0 => params.delay,
            Control::Window => self.rtt(params) / params.time_unit.as_secs_f64(),
        }
    }

    /// Applies eq 12-13 to `acks` ACKs, of which `nacks` report a lost or marked packet.
    fn step(&mut self, params: &Params, acks: u32, nacks: u32) {
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
        self.level = (w + params.kappa * (up - down)).clamp(params.floor, MAX_RATE);
        self.settle(params);
    }

    fn settle(&mut self, params: &Params) {
        self.paced = params.control == Control::Rate || self.level < PACED_BELOW;
        let bits = self.level * self.packet_size.as_bits_f64();
        (self.rate, self.window) = match params.control {
            Control::Window => (Rate::clamped(bits / self.rtt(params)), libm::ceil(self.level) as u32),
            Control::Rate => (Rate::clamped(bits / params.time_unit.as_secs_f64()), u32::MAX),
        };
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        let mut sender = Self {
            packet_size: flow.packet_size,
            level: INITIAL_RATE,
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
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &Params, _now: Time, _packet: &Outgoing) -> NoHeader {
        self.outstanding = self.outstanding.saturating_add(1);
        NoHeader
    }

    #[inline]
    fn on_feedback(&mut self, params: &Params, _now: Time, feedback: &Feedback<NoHeader>) {
        self.measure(feedback.rtt);
        self.outstanding = feedback.outstanding;
        let acks = u32::from(feedback.kind == Kind::Data);
        let nacks = u32::from(feedback.marked && params.signal.marks());
        self.step(params, acks, nacks);
    }

    fn on_loss(&mut self, params: &Params, _now: Time, loss: &Loss) {
        self.outstanding = loss.outstanding;
        self.step(params, 1, u32::from(params.signal.losses()));
    }

    /// Counts each packet in flight as a lost packet. The window or rate does not increase, because no ACK arrived.
    fn on_timeout(&mut self, params: &Params, _now: Time, _next: u32) {
        let nacks = core::mem::take(&mut self.outstanding);
        if params.signal.losses() {
            self.step(params, 0, nacks.max(1));
        }
    }
}
