//! TCP-LP: Reno that also backs off when delays increase. It uses only the capacity that other flows do not use.
//!
//! Source: A. Kuzmanovic, E. Knightly, "TCP-LP: a distributed algorithm for low priority data transfer" (INFOCOM 2003).

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use levelflow_units::{Duration, Time};

use crate::LawInfo;
use crate::reno::{additive_increase, half};
use crate::tcp::{AckEvent, Congestion, Tcp, Variant, Window, info};

/// TCP-LP; see the [module](self).
pub type Lp = Tcp<LpState>;

/// State of the early congestion indication of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LpState {
    /// Largest round-trip time so far, in seconds.
    max_rtt: f64,
    /// Time of the last early congestion indication.
    indicated: Option<Time>,
    /// End of the inference phase. In this phase, the window does not grow, and another indication reduces the window
    /// to 1 packet.
    inference: Time,
}

impl LpState {
    /// Returns true if this ACK indicates congestion. Both the smoothed delay and the delay of the packet must exceed
    /// the threshold. The packet must have been sent after the last indication.
    fn is_indication(&self, params: &Params, ack: &AckEvent) -> bool {
        let rtt = &ack.rtt;
        let threshold = rtt.min + params.delta * (self.max_rtt - rtt.min);
        let above = rtt.smooth.min(rtt.last) > threshold;
        let age = |at: Time| ack.now.since(at).as_secs_f64();
        above && self.indicated.is_none_or(|at| age(at) >= rtt.last)
    }
}

impl Variant for LpState {
    type Params = Params;
    const INFO: LawInfo = LawInfo {
        signal: crate::Signal::Delay,
        ..info(
            "lp",
            "TCP-LP: yields as soon as delays grow",
            "Kuzmanovic, Knightly 2003, section III",
            &params::TABLE,
        )
    };

    fn on_ack(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
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

    fn avoid(&mut self, _params: &Params, ack: &AckEvent, window: &mut Window) {
        if ack.now >= self.inference {
            additive_increase(ack.acked, window);
        }
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        half(congestion)
    }
}
