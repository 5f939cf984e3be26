//! TCP-LP: Reno that makes way as soon as delays grow, so that it uses only what others leave.
//!
//! Source: A. Kuzmanovic, E. Knightly, "TCP-LP: a distributed algorithm for low priority data transfer" (INFOCOM 2003).

mod params;
#[cfg(test)]
mod tests;

pub use params::LpParams;

use levelflow_units::{Duration, Time};

use crate::LawInfo;
use crate::reno::{additive_increase, half};
use crate::tcp::{Ack, Congestion, Tcp, Variant, Window, info};

/// The law; see the [module](self).
pub type Lp = Tcp<LpState>;

/// What one flow remembers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LpState {
    /// Largest round-trip time so far, s.
    max_rtt: f64,
    /// Last early indication of congestion.
    indicated: Option<Time>,
    /// Until then the window does not grow, and another indication takes it to 1.
    inference: Time,
}

impl LpState {
    /// Whether the smoothed delay is above its threshold, as told by a packet sent after the last indication and itself
    /// delayed so much.
    fn is_indication(&self, params: &LpParams, ack: &Ack) -> bool {
        let rtt = &ack.rtt;
        let threshold = rtt.min + params.delta * (self.max_rtt - rtt.min);
        let above = rtt.smooth.min(rtt.last) > threshold;
        let age = |at: Time| ack.now.since(at).as_secs_f64();
        above && self.indicated.is_none_or(|at| age(at) >= rtt.last)
    }
}

impl Variant for LpState {
    type Params = LpParams;
    const INFO: LawInfo = LawInfo {
        signal: crate::Signal::Delay,
        ..info(
            "lp",
            "TCP-LP: makes way as soon as delays grow",
            "Kuzmanovic, Knightly 2003, section III",
            &params::TABLE,
        )
    };

    fn on_ack(&mut self, params: &LpParams, ack: &Ack, window: &mut Window) {
        self.max_rtt = self.max_rtt.max(ack.rtt.last);
        let starts = window.size < window.ssthresh;
        if starts || !self.is_indication(params, ack) {
            return;
        }
        window.size = if ack.now < self.inference {
            1.0
        } else {
            window.size / 2.0
        };
        window.ssthresh = window.size;
        self.indicated = Some(ack.now);
        let length = Duration::from_secs_f64(params.inference * ack.rtt.smooth).unwrap_or(Duration::MAX);
        self.inference = ack.now.checked_add(length).unwrap_or(ack.now);
    }

    fn avoid(&mut self, _params: &LpParams, ack: &Ack, window: &mut Window) {
        if ack.now >= self.inference {
            additive_increase(ack.acked, window);
        }
    }

    fn reduce(&mut self, _params: &LpParams, congestion: &Congestion) -> f64 {
        half(congestion)
    }
}
