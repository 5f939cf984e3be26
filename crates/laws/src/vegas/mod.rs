//! TCP Vegas: keeps a few packets of its own in the queue, which it counts by the round-trip time.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (IEEE JSAC 13(8), 1995),
//! section III.

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::tcp::{Ack, Congestion, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// The law; see the [module](self).
pub type Vegas = Tcp<VegasState>;

parameters! {
    /// Validated parameters of Vegas alone, in packets.
    pub struct VegasParams {
        alpha: f64 = Unit::Number, 2.0, PACKETS,
            "with fewer packets in the queue the window grows",
            "Brakmo and Peterson 1995 (Vegas-2,4); Linux and ns-3";
        beta: f64 = Unit::Number, 4.0, PACKETS,
            "with more packets in the queue the window shrinks",
            "Brakmo and Peterson 1995 (Vegas-2,4); Linux and ns-3";
        gamma: f64 = Unit::Number, 1.0, PACKETS,
            "with more packets in the queue slow start ends",
            "Linux and ns-3; left open by Brakmo and Peterson 1995, section III-C";
    } where {
        beta: beta >= alpha, "must be at least alpha";
    }
}

const TABLE: [ParamSpec; ROWS + VegasParams::TABLE.len()] = table(VegasParams::TABLE);

const PACKETS: (f64, f64) = (0.0, 1e6);

/// What Vegas remembers besides its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VegasState {
    /// Whether slow start grows in this round trip: only in every other one, so that the next shows what came of it.
    grows: bool,
}

/// Packets of a window that wait: the difference of expected and actual throughput, times the shortest round-trip time.
/// `ack` is the one that ends a round trip; its packet was the first one of it, the distinguished segment.
fn waiting(ack: &Ack, window: &Window) -> f64 {
    window.size * (1.0 - ack.rtt.min / ack.rtt.last)
}

impl Variant for VegasState {
    type Params = VegasParams;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Delay,
        ..info(
            "vegas",
            "TCP Vegas: keeps a few packets in the queue",
            "Brakmo and Peterson 1995, section III",
            &TABLE,
        )
    };

    fn on_ack(&mut self, _params: &VegasParams, ack: &Ack, _window: &mut Window) {
        self.grows ^= ack.round;
    }

    fn slow_start(&mut self, params: &VegasParams, ack: &Ack, window: &mut Window) {
        if ack.round && waiting(ack, window) > params.gamma {
            // What fits the pipe, and one packet: the rest of the window only waits.
            window.size = window.size.min(window.size * ack.rtt.min / ack.rtt.last + 1.0);
            window.ssthresh = window.size;
        } else if self.grows {
            window.slow_start(ack.growth);
        }
    }

    fn avoid(&mut self, params: &VegasParams, ack: &Ack, window: &mut Window) {
        if !ack.round {
            return;
        }
        let waiting = waiting(ack, window);
        if waiting < params.alpha {
            window.size += 1.0;
        } else if waiting > params.beta {
            window.size -= 1.0;
            // A window below the threshold would be in slow start.
            window.ssthresh = window.ssthresh.min(window.size);
        }
    }

    fn reduce(&mut self, _params: &VegasParams, congestion: &Congestion) -> f64 {
        congestion.window / 2.0
    }
}
