//! TCP Vegas: each flow keeps a few packets in the queue. The sender estimates the number of these packets from the
//! round-trip time.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (IEEE JSAC
//! 13(8), 1995), section III.

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::tcp::{AckEvent, Congestion, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// TCP Vegas; see the [module](self).
pub type Vegas = Tcp<VegasState>;

parameters! {
    /// Validated parameters of Vegas, in packets, in addition to those of all TCP laws.
    pub struct Params {
        alpha: f64 = Unit::Number, 2.0, PACKET_RANGE,
            "queued packets below which the window grows",
            "Brakmo and Peterson 1995 (Vegas-2,4); Linux and ns-3";
        beta: f64 = Unit::Number, 4.0, PACKET_RANGE,
            "queued packets above which the window shrinks",
            "Brakmo and Peterson 1995 (Vegas-2,4); Linux and ns-3";
        gamma: f64 = Unit::Number, 1.0, PACKET_RANGE,
            "queued packets above which slow start ends",
            "Linux and ns-3; Brakmo and Peterson 1995, section III-C, has no value";
    } where {
        beta: beta >= alpha, "must be at least alpha";
    }
}

const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);

const PACKET_RANGE: (f64, f64) = (0.0, 1e6);

/// State of Vegas in addition to its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VegasState {
    /// True if slow start grows the window in this round trip. The window grows in every other round trip. In the next
    /// round trip, the sender measures the queue that the growth has caused.
    grows: bool,
}

/// Returns the number of queued packets: `(expected - actual) min_rtt`, where `expected` and `actual` are throughputs.
/// `ack` must end a round trip (`round` is true). The acknowledged packet is the first packet of that round trip, the
/// distinguished segment.
fn waiting(ack: &AckEvent, window: &Window) -> f64 {
    window.size * (1.0 - ack.rtt.min / ack.rtt.last)
}

impl Variant for VegasState {
    type Params = Params;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Delay,
        ..info(
            "vegas",
            "TCP Vegas: keeps a few packets in the queue",
            "Brakmo and Peterson 1995, section III",
            &TABLE,
        )
    };

    fn on_ack(&mut self, _params: &Params, ack: &AckEvent, _window: &mut Window) {
        self.grows ^= ack.round;
    }

    fn slow_start(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        if ack.round && waiting(ack, window) > params.gamma {
            // The new window is the bandwidth-delay product plus one packet. The other packets of the old window are in
            // the queue.
            window.size = window.size.min(window.size * ack.rtt.min / ack.rtt.last + 1.0);
            window.ssthresh = window.size;
        } else if self.grows {
            window.slow_start(ack.growth);
        }
    }

    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        if !ack.round {
            return;
        }
        let waiting = waiting(ack, window);
        if waiting < params.alpha {
            window.size += 1.0;
        } else if waiting > params.beta {
            window.size -= 1.0;
            // Lowers the threshold with the window. A window below the threshold would start slow start.
            window.ssthresh = window.ssthresh.min(window.size);
        }
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        congestion.window / 2.0
    }
}
