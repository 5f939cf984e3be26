//! REM: random exponential marking. Marks packets with a probability that grows with a price. The price changes until
//! the queue is at its target.
//!
//! Source: S. Athuraliya, V. H. Li, S. H. Low, Q. Yin, "REM: Active Queue Management" (2001).
//!
//! At the end of each interval, `b` is the current queue and `b'` is the queue one interval earlier, in packets:
//!
//! ```text
//! price <- max(0, price + gamma (alpha (b - b*) + b - b'))
//! ```
//!
//! Each arriving packet is marked with probability `1 - phi^-price`. On a path with several REM queues, the
//! probabilities of passing unmarked multiply. The marking probability of the path is therefore `1 - phi^-(sum of
//! prices)`.
//!
//! Interpretations of the source:
//! - The paper has two forms of the update. The other form has `x - c`, arrival rate minus capacity, instead of `b -
//!   b'`. While the queue is not empty, both forms are equal. The form used here needs neither the capacity nor a
//!   typical packet size. While the queue is empty, the price falls by `gamma alpha b*` per interval.
//! - `gamma`, `alpha`, `phi` and the interval are from the code of the authors for ns-2. The target in this code is 20
//!   packets.
//! - The queue includes the packet in service.

use levelflow_units::Duration;

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct RemParams {
        /// Target queue `b*`, packets.
        target: f64 = Unit::Packets, 50.0, (0.0, 1e6),
            "target queue, at which the price is constant, b*",
            "Zhang 2008, table I; 20 packets in the authors' code for ns-2";
        gamma: f64 = Unit::Number, 0.001, (1e-9, 1e3),
            "gain on the weighted difference of queue and target plus the change of the queue, per packet",
            "Athuraliya, Li, Low, Yin 2001";
        alpha: f64 = Unit::Number, 0.1, (0.0, 1e3),
            "weight of the difference of queue and target, relative to the change of the queue",
            "Athuraliya, Li, Low, Yin 2001";
        phi: f64 = Unit::Number, 1.001, (1.000_000_1, 1e3),
            "base of the marking probability 1 - phi^-price",
            "Athuraliya, Li, Low, Yin 2001";
        interval: Duration = Unit::Duration, 0.002, (1e-6, 100.0),
            "time between two updates of the price",
            "the authors' code for ns-2";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "Athuraliya, Li, Low, Yin 2001: marks";
    }
}

/// State of REM at one port.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rem {
    price: f64,
    probability: f64,
    /// `b'`: queue at the last update, packets.
    queue: f64,
}

impl Queue for Rem {
    type Params = RemParams;

    const INFO: QueueInfo = QueueInfo {
        name: "rem",
        title: "REM: marks packets with a probability that grows with a price, which holds the queue at a target",
        source: "Athuraliya, Li, Low, Yin 2001",
        signal: "price",
        params: &RemParams::TABLE,
    };
    const DRAWS: bool = true;

    fn ecn(params: &RemParams) -> bool {
        params.ecn
    }

    fn new(_params: &RemParams, _port: &PortInfo) -> Self {
        Self::default()
    }

    fn on_arrival(&mut self, _params: &RemParams, _packet: &Arriving, draw: f64) -> Verdict {
        Verdict::by_chance(self.probability, draw)
    }

    fn interval(params: &RemParams) -> Option<Duration> {
        Some(params.interval)
    }

    fn on_interval(&mut self, params: &RemParams, _elapsed: Duration, port: &PortView) {
        let queue = f64::from(port.packets);
        let mismatch = params.alpha * (queue - params.target) + queue - self.queue;
        self.price = (self.price + params.gamma * mismatch).max(0.0);
        self.probability = 1.0 - libm::pow(params.phi, -self.price);
        self.queue = queue;
    }

    fn signal(&self) -> f64 {
        self.price
    }
}

#[cfg(test)]
mod tests;
