//! REM: random exponential marking. Marks with a probability that grows with a price, which rises until the queue has
//! its target.
//!
//! Source: S. Athuraliya, V. H. Li, S. H. Low, Q. Yin, "REM: Active Queue Management" (2001).
//!
//! At the end of each interval, with `b` the queue now and `b'` the queue one interval ago, both in packets:
//!
//! ```text
//! price <- max(0, price + gamma (alpha (b - b*) + b - b'))
//! ```
//!
//! and each arriving packet is marked with probability `1 - phi^-price`. Over a path with several such queues, the
//! probabilities of a packet to arrive unmarked multiply, so what a sender sees is `1 - phi^-(sum of prices)`.
//!
//! Readings:
//! - The paper's first form of the update has `x - c`, by which the arrival rate exceeds the capacity, where this one
//!   has `b - b'`. The paper gives both: they are equal while the queue is not empty, and this one needs neither the
//!   capacity nor a typical packet. While it is empty, the price falls by `gamma alpha b*` per interval.
//! - `gamma`, `alpha`, `phi` and the interval are those of the authors' code for ns-2; the target there is 20 packets.
//! - Packets in service count as queue.

use levelflow_units::Duration;

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{ParamError, ParamSpec, Unit, seconds};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RemParams {
    /// `b*`, packets.
    pub target: f64,
    /// Price per packet of mismatch and interval.
    pub gamma: f64,
    /// Weight of the queue against its change.
    pub alpha: f64,
    /// Base of the marking probability.
    pub phi: f64,
    /// Time between two updates.
    pub interval: Duration,
    /// Whether packets are marked where they can be.
    pub ecn: bool,
}

const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "target",
        doc: "queue at which the price stands still, b*",
        unit: Unit::Packets,
        default: 50.0,
        range: (0.0, 1e6),
        source: "Zhang 2008, table I; 20 packets in the authors' code for ns-2",
    },
    ParamSpec {
        name: "gamma",
        doc: "price per packet of mismatch and interval",
        unit: Unit::Number,
        default: 0.001,
        range: (1e-9, 1e3),
        source: "Athuraliya, Li, Low, Yin 2001",
    },
    ParamSpec {
        name: "alpha",
        doc: "weight of the queue's distance from its target against its change",
        unit: Unit::Number,
        default: 0.1,
        range: (0.0, 1e3),
        source: "Athuraliya, Li, Low, Yin 2001",
    },
    ParamSpec {
        name: "phi",
        doc: "base of the marking probability 1 - phi^-price",
        unit: Unit::Number,
        default: 1.001,
        range: (1.000_000_1, 1e3),
        source: "Athuraliya, Li, Low, Yin 2001",
    },
    ParamSpec {
        name: "interval",
        doc: "time between two updates of the price",
        unit: Unit::Duration,
        default: 0.002,
        range: (1e-6, 100.0),
        source: "the authors' code for ns-2",
    },
    ParamSpec {
        name: "ecn",
        doc: "mark packets of senders that understand marks instead of dropping them",
        unit: Unit::Switch,
        default: 1.0,
        range: (0.0, 1.0),
        source: "Athuraliya, Li, Low, Yin 2001: marks",
    },
];

/// State of REM at one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rem {
    price: f64,
    probability: f64,
    /// `b'`, packets.
    queue: f64,
}

impl Queue for Rem {
    type Params = RemParams;

    const INFO: QueueInfo = QueueInfo {
        name: "rem",
        title: "REM: marks with a probability that grows with a price, which holds the queue at a target",
        source: "Athuraliya, Li, Low, Yin 2001",
        signal: "price",
        params: TABLE,
    };

    fn params(values: &[f64]) -> Result<RemParams, ParamError> {
        let &[target, gamma, alpha, phi, interval, ecn] = values else {
            panic!("one value per row of the table");
        };
        Ok(RemParams {
            target,
            gamma,
            alpha,
            phi,
            interval: seconds(interval),
            ecn: ecn != 0.0,
        })
    }

    fn ecn(params: &RemParams) -> bool {
        params.ecn
    }

    fn new(_params: &RemParams, _port: &PortInfo) -> Self {
        Self {
            price: 0.0,
            probability: 0.0,
            queue: 0.0,
        }
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
