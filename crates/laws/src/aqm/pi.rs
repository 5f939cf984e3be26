//! PI: a proportional-integral controller that keeps the queue at a target.
//!
//! Source: C. V. Hollot, V. Misra, D. Towsley, W. Gong, "On Designing Improved Controllers for AQM Routers Supporting
//! TCP Flows" (2001).
//!
//! At the end of each interval, `q` is the current queue and `q'` is the queue one interval earlier, in packets:
//!
//! ```text
//! p <- p + a (q - q_ref) - b (q' - q_ref),  kept between 0 and 1
//! ```
//!
//! Each arriving packet is marked with probability `p`. The update approximates the controller `C(s) = K (1 + s/z) /
//! s`, where `s` is the Laplace variable. For the sampling interval `T`, the trapezoidal rule gives `a = K/z + K T/2`
//! and `b = K/z - K T/2`. The paper computes `K` and `z` from capacity, number of flows and round-trip time.
//!
//! Interpretations of the source:
//! - Gains and interval are from the paper. They are designed for 3750 packets/s, at least 60 flows and round-trip
//!   times of at most 246 ms. The target is 200 packets in the example of the paper. The default here is 50 packets, as
//!   in ns-2.
//! - `p` is clamped to the range from 0 to 1, as in ns-2. The paper does not define a range.
//! - The queue includes the packet in service.

use levelflow_units::Duration;

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct PiParams {
        /// Target queue `q_ref`, packets.
        target: f64 = Unit::Packets, 50.0, (0.0, 1e6),
            "target queue, q_ref",
            "ns-2; 200 packets in Hollot et al. 2001, section IV";
        a: f64 = Unit::Number, 1.822e-5, (1e-12, 1.0),
            "gain on the current queue, per packet",
            "Hollot et al. 2001, section IV";
        b: f64 = Unit::Number, 1.816e-5, (0.0, 1.0),
            "gain on the queue one interval earlier, per packet",
            "Hollot et al. 2001, section IV";
        /// Sampling interval `T`.
        interval: Duration = Unit::Duration, 0.00625, (1e-6, 100.0),
            "time between two updates of the probability",
            "Hollot et al. 2001, section IV: 160 Hz";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "Hollot et al. 2001: marks or drops";
    } where {
        a: a > b, "must be above b; otherwise a long queue would reduce the marking probability";
    }
}

/// State of PI at one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pi {
    /// Marking probability `p`.
    probability: f64,
    /// `q'`: queue at the last update, packets.
    queue: f64,
}

impl Queue for Pi {
    type Params = PiParams;

    const INFO: QueueInfo = QueueInfo {
        name: "pi",
        title: "PI: a proportional-integral controller that holds the queue at a target",
        source: "Hollot, Misra, Towsley, Gong 2001",
        signal: "marking probability",
        params: &PiParams::TABLE,
    };
    const DRAWS: bool = true;

    fn ecn(params: &PiParams) -> bool {
        params.ecn
    }

    fn new(_params: &PiParams, _port: &PortInfo) -> Self {
        Self {
            probability: 0.0,
            queue: 0.0,
        }
    }

    fn on_arrival(&mut self, _params: &PiParams, _packet: &Arriving, draw: f64) -> Verdict {
        Verdict::by_chance(self.probability, draw)
    }

    fn interval(params: &PiParams) -> Option<Duration> {
        Some(params.interval)
    }

    fn on_interval(&mut self, params: &PiParams, _elapsed: Duration, port: &PortView) {
        let queue = f64::from(port.packets);
        let change = params.a * (queue - params.target) - params.b * (self.queue - params.target);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.queue = queue;
    }

    fn signal(&self) -> f64 {
        self.probability
    }
}

#[cfg(test)]
mod tests;
