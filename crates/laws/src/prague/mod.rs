//! TCP Prague: a scalable sender for the low-latency queue of L4S, whose rate depends little on its round trip.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control (K. De Schepper, O. Tilmans, B. Briscoe, V. Goel), section 2;
//! requirements: RFC 9331, section 4.

mod params;
#[cfg(test)]
mod tests;

use levelflow_units::Time;

pub use params::PragueParams;

use crate::tcp::{Ack, Cause, Congestion, Tcp, Variant, Window, info};
use crate::{LawInfo, Signal};

/// The law; see the [module](self).
pub type Prague = Tcp<PragueState>;

/// The share of marked packets, and what happens once per virtual round trip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PragueState {
    /// Moving average of the share of marked packets.
    alpha: f64,
    /// Packets that arrived since the last update of `alpha`, and how many of them were marked.
    acked: u32,
    marked: u32,
    /// When that update was, and whether a window has passed since.
    updated: Time,
    round: bool,
    /// When a mark last reduced the window.
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

impl PragueParams {
    /// Virtual round trip, s (section 2.4.4): no shorter than the reference.
    fn virtual_rtt(&self, smooth: f64) -> f64 {
        smooth.max(self.reference_rtt.as_secs_f64())
    }
}

impl Variant for PragueState {
    type Params = PragueParams;
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

    /// Section 2.4.2: `alpha += g (F - alpha)`, once both a window and a virtual round trip have passed.
    fn on_ack(&mut self, params: &PragueParams, ack: &Ack, _window: &mut Window) {
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

    /// Section 2.4.3: a packet per round trip, less by the square of what the round trip is shorter than the virtual one.
    #[inline]
    fn avoid(&mut self, params: &PragueParams, ack: &Ack, window: &mut Window) {
        let shorter = ack.rtt.smooth / params.virtual_rtt(ack.rtt.smooth);
        window.size += f64::from(ack.acked) / window.size * shorter * shorter;
    }

    fn heeds_mark(&self, params: &PragueParams, ack: &Ack) -> bool {
        let passed = |at: Time| ack.now.since(at).as_secs_f64() >= params.virtual_rtt(ack.rtt.smooth);
        self.reduced.is_none_or(passed)
    }

    fn reduce(&mut self, _params: &PragueParams, congestion: &Congestion) -> f64 {
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
