//! FAST TCP: each flow adjusts its congestion window to keep a fixed number of its packets in the queue.
//!
//! Source: D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: motivation, architecture, algorithms, performance"
//! (IEEE/ACM ToN 14(6), 2006).

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::tcp::{AckEvent, Congestion, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// FAST TCP; see the [module](self).
pub type Fast = Tcp<FastState>;

parameters! {
    /// Validated parameters of FAST TCP, in addition to those of all TCP laws.
    pub struct Params {
        alpha: f64 = Unit::Number, 20.0, (1.0, 1e6),
            "packets that the flow keeps in queues",
            "Levelflow, for 10 Mb/s; Wei et al. 2006 use 200 for 1 Gb/s";
        gamma: f64 = Unit::Number, 0.5, (0.001, 1.0),
            "step of the window per round trip, as a fraction of the distance to its target",
            "Wei et al. 2006: between 0 and 1; 0.5 in their experiments";
    }
}

const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);

/// Average round-trip time of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FastState {
    /// Moving average of the round-trip time, in seconds; 0 before the first ACK.
    average: f64,
}

impl FastState {
    /// Returns `baseRTT / RTT`, the smallest round-trip time divided by the average round-trip time.
    fn moving(&self, ack: &AckEvent) -> f64 {
        ack.rtt.min / self.average
    }
}

impl Variant for FastState {
    type Params = Params;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Delay,
        ..info(
            "fast",
            "FAST TCP: keeps a fixed number of packets in queues",
            "Wei, Jin, Low, Hegde 2006",
            &TABLE,
        )
    };

    /// Updates the average with weight `min(3/w, 1/4)`. For `w` above 12 packets, the averaging time is a third of a
    /// round trip.
    fn on_ack(&mut self, _params: &Params, ack: &AckEvent, window: &mut Window) {
        if self.average == 0.0 {
            self.average = ack.rtt.last;
        }
        let weight = (3.0 / window.size).min(0.25);
        self.average += weight * (ack.rtt.last - self.average);
    }

    /// Grows the window. Ends slow start when the desired number of packets is queued.
    fn slow_start(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        if window.size * (1.0 - self.moving(ack)) > params.alpha {
            window.ssthresh = window.size;
        } else {
            window.slow_start(ack.growth);
        }
    }

    /// Updates the window once per round trip: `w <- min(2w, (1 - gamma) w + gamma (baseRTT/RTT w + alpha))`.
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        if !ack.round {
            return;
        }
        let old = window.size;
        let target = self.moving(ack) * old + params.alpha;
        window.size = (old + params.gamma * (target - old)).min(2.0 * old);
        // Lowers the threshold with the window. A window below the threshold would start slow start.
        window.ssthresh = window.ssthresh.min(window.size);
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        congestion.window / 2.0
    }
}
