//! TCP Prague: a scalable sender for the low-latency queue of L4S. Its rate is nearly independent of its round-trip
//! time.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control (K. De Schepper, O. Tilmans, B. Briscoe, V. Goel), section 2;
//! requirements: RFC 9331, section 4.

mod params;
#[cfg(test)]
mod tests;

use levelflow_units::Time;

pub use params::Params;

use crate::tcp::{AckEvent, Cause, Congestion, Tcp, Variant, Window, info};
use crate::{LawInfo, Signal};

/// TCP Prague; see the [module](self).
pub type Prague = Tcp<PragueState>;

/// Estimate of the fraction of marked packets, updated once per virtual round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PragueState {
    /// Moving average of the fraction of marked packets.
    alpha: f64,
    /// Packets acknowledged since the last update of `alpha`. `marked` is the number of marked packets among them.
    acked: u32,
    marked: u32,
    /// Time of the last update of `alpha`. `round` is true if a round trip has ended since this update.
    updated: Time,
    round: bool,
    /// Time of the last reduction in response to a mark.
    reduced: Option<Time>,
}

impl Default for PragueState {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            acked: 0,
            marked: 0,
            updated: Time::ZERO,
            round: false,
            reduced: None,
        }
    }
}

impl Params {
    /// Returns the virtual round-trip time, in seconds (section 2.4.4): the larger of smoothed and reference round-trip
    /// time.
    fn virtual_rtt(&self, smooth: f64) -> f64 {
        smooth.max(self.reference_rtt.as_secs_f64())
    }
}

impl Variant for PragueState {
    type Params = Params;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Mark,
        ..info(
            "prague",
            "TCP Prague: scalable, for low-latency queues, cut by the share of marked packets",
            "draft-briscoe-iccrg-prague-congestion-control; RFC 9331",
            &params::TABLE,
        )
    };
    const SCALABLE: bool = true;

    /// Updates `alpha += g (F - alpha)` when both a real and a virtual round trip have passed (section 2.4.2).
    fn on_ack(&mut self, params: &Params, ack: &AckEvent, _window: &mut Window) {
        self.acked = self.acked.saturating_add(ack.acked);
        if ack.marked {
            self.marked = self.marked.saturating_add(ack.acked);
        }
        self.round |= ack.round;
        let passed = ack.now.since(self.updated).as_secs_f64() >= params.virtual_rtt(ack.rtt.smooth);
        if self.round && passed && self.acked > 0 {
            let share = f64::from(self.marked) / f64::from(self.acked);
            self.alpha += params.gain * (share - self.alpha);
            (self.acked, self.marked) = (0, 0);
            (self.updated, self.round) = (ack.now, false);
        }
    }

    /// Grows the window by `(R/V)^2` packets per round trip (section 2.4.3). `R` is the real and `V` the virtual
    /// round-trip time.
    #[inline]
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        let shorter = ack.rtt.smooth / params.virtual_rtt(ack.rtt.smooth);
        window.size += f64::from(ack.acked) / window.size * shorter * shorter;
    }

    fn heeds_mark(&self, params: &Params, ack: &AckEvent) -> bool {
        let passed = |at: Time| ack.now.since(at).as_secs_f64() >= params.virtual_rtt(ack.rtt.smooth);
        self.reduced.is_none_or(passed)
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        let removed = match congestion.cause {
            Cause::Mark => {
                self.reduced = Some(congestion.now);
                self.alpha / 2.0
            }
            Cause::Loss | Cause::Timeout => 0.5,
        };
        congestion.window * (1.0 - removed)
    }
}
