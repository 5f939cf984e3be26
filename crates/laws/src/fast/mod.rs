//! FAST TCP: moves its window towards the one that keeps a fixed number of its packets in the queue.
//!
//! Source: D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: motivation, architecture, algorithms, performance" (IEEE/ACM ToN
//! 14(6), 2006).

#[cfg(test)]
mod tests;

use crate::params::{Unit, parameters};
use crate::tcp::{Ack, Congestion, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, Signal};

/// The law; see the [module](self).
pub type Fast = Tcp<FastState>;

parameters! {
    /// Validated parameters of FAST alone.
    pub struct FastParams {
        alpha: f64 = Unit::Number, 20.0, (1.0, 1e6),
            "packets that the flow keeps in queues",
            "own choice for 10 Mb/s; Wei et al. 2006 take 200 for 1 Gb/s";
        gamma: f64 = Unit::Number, 0.5, (0.001, 1.0),
            "part of the way to its target that the window goes per round trip",
            "Wei et al. 2006: between 0 and 1; 0.5 in their experiments";
    }
}

const TABLE: [ParamSpec; ROWS + FastParams::TABLE.len()] = table(FastParams::TABLE);

/// The round-trip time of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FastState {
    /// Moving average, s; 0 before the first ACK.
    average: f64,
}

impl FastState {
    /// Part of the average round-trip time that is not waiting: `baseRTT / RTT`.
    fn moving(&self, ack: &Ack) -> f64 {
        ack.rtt.min / self.average
    }
}

impl Variant for FastState {
    type Params = FastParams;
    const INFO: LawInfo = LawInfo {
        signal: Signal::Delay,
        ..info(
            "fast",
            "FAST TCP: keeps a fixed number of packets in queues",
            "Wei, Jin, Low, Hegde 2006",
            &TABLE,
        )
    };

    /// The average has the weight `min(3/w, 1/4)`: it spans a third of a round trip.
    fn on_ack(&mut self, _params: &FastParams, ack: &Ack, window: &mut Window) {
        if self.average == 0.0 {
            self.average = ack.rtt.last;
        }
        let weight = (3.0 / window.size).min(0.25);
        self.average += weight * (ack.rtt.last - self.average);
    }

    /// Until what the flow wants to keep in queues is there.
    fn slow_start(&mut self, params: &FastParams, ack: &Ack, window: &mut Window) {
        if window.size * (1.0 - self.moving(ack)) > params.alpha {
            window.ssthresh = window.size;
        } else {
            window.slow_start(ack.growth);
        }
    }

    /// `w <- min(2w, (1 - gamma) w + gamma (baseRTT/RTT w + alpha))`, once per round trip.
    fn avoid(&mut self, params: &FastParams, ack: &Ack, window: &mut Window) {
        if !ack.round {
            return;
        }
        let old = window.size;
        let target = self.moving(ack) * old + params.alpha;
        window.size = (old + params.gamma * (target - old)).min(2.0 * old);
        // A window below the threshold would be in slow start.
        window.ssthresh = window.ssthresh.min(window.size);
    }

    fn reduce(&mut self, _params: &FastParams, congestion: &Congestion) -> f64 {
        congestion.window / 2.0
    }
}
