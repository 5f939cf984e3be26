//! PIE: a proportional-integral controller that keeps the queueing delay at a target.
//!
//! Source: RFC 8033 (R. Pan, P. Natarajan, F. Baker, G. White, 2017), section 4, and the optional parts of section 5
//! that Linux implements.
//!
//! At the end of each interval, `d` is the current queueing delay and `d'` is the queueing delay one interval earlier:
//!
//! ```text
//! p <- p + s (alpha (d - target) + beta (d - d')),  kept between 0 and 1
//! ```
//!
//! The scale `s` grows with `p`, from 1/2048 to 1. Each arriving packet is dropped with probability `p`. A packet is
//! not dropped if any of these conditions is true:
//!
//! - The last delay was below half of the target, and `p` is below 0.2.
//! - The backlog is at most two packets.
//! - The burst allowance is above zero. The allowance is `burst` while `p = 0` and `d` and `d'` are below half of the
//!   target. Otherwise it decreases with time.
//!
//! Interpretations of the source:
//! - `d` is the queue without the packet in service, divided by the capacity. The RFC estimates the departure rate
//!   instead.
//! - Section 5.1: if the probability exceeds `mark_below`, ECN-capable packets are dropped, too.
//! - Section 5.4 (de-randomization): no packet is dropped while the sum of the probabilities since the last drop is
//!   below 0.85. A packet is always dropped when the sum reaches 8.5.
//! - Section 5.5: at a probability of at least 0.1, an update adds at most 0.02. At a delay above 250 ms, each update
//!   also adds 0.02, as in Linux (`pie_calculate_probability`).
//! - The packet size in the equations of the RFC is the largest size so far, as in [`codel`](super::codel).

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::{Queue, QueueInfo, Verdict};
use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct PieParams {
        /// `QDELAY_REF`: target delay.
        target: Duration = Unit::Duration, 0.015, (0.0, 100.0),
            "target queueing delay",
            "RFC 8033, section 4.2";
        /// `T_UPDATE`: update interval.
        interval: Duration = Unit::Duration, 0.015, (1e-6, 100.0),
            "time between two updates of the probability",
            "RFC 8033, section 4.2";
        alpha: f64 = Unit::Number, 0.125, (0.0, 1e3),
            "gain on the difference of delay and target, per second",
            "RFC 8033, section 4.2";
        beta: f64 = Unit::Number, 1.25, (0.0, 1e3),
            "gain on the change of the delay, per second",
            "RFC 8033, section 4.2";
        /// `MAX_BURST`: burst duration.
        burst: Duration = Unit::Duration, 0.15, (0.0, 100.0),
            "duration of a burst that passes without drops, after an interval without drops and delay",
            "RFC 8033, section 4.4";
        mark_below: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "largest probability at which ECN-capable packets are marked instead of dropped",
            "RFC 8033, section 5.1";
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "RFC 8033, section 5.1: optional; Linux drops";
    }
}

/// State of PIE at one port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pie {
    capacity: Rate,
    /// Largest packet so far.
    largest: Bytes,
    probability: f64,
    /// `qdelay_old_`: last queueing delay, seconds.
    delay: f64,
    /// Burst allowance, `burst_allowance_`: remaining time without drops.
    allowance: Duration,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
}

impl Queue for Pie {
    type Params = PieParams;

    const INFO: QueueInfo = QueueInfo {
        name: "pie",
        title: "PIE: a proportional-integral controller that holds the queueing delay at a target",
        source: "RFC 8033",
        signal: "drop probability",
        params: &PieParams::TABLE,
    };
    const DRAWS: bool = true;

    fn ecn(params: &PieParams) -> bool {
        params.ecn
    }

    fn new(params: &PieParams, port: &PortInfo) -> Self {
        Self {
            capacity: port.capacity,
            largest: Bytes::ZERO,
            probability: 0.0,
            delay: 0.0,
            allowance: params.burst,
            accumulated: 0.0,
        }
    }

    fn on_capacity(&mut self, _params: &PieParams, _now: Time, capacity: Rate) {
        self.capacity = capacity;
    }

    fn on_arrival(&mut self, params: &PieParams, packet: &Arriving, draw: f64) -> Verdict {
        self.largest = self.largest.max(packet.size);
        if self.allowance > Duration::ZERO || self.spares(params, packet.queue) || !self.drops(draw) {
            return Verdict::Pass;
        }
        if self.probability <= params.mark_below {
            Verdict::Notify
        } else {
            Verdict::Drop
        }
    }

    fn interval(params: &PieParams) -> Option<Duration> {
        Some(params.interval)
    }

    fn on_interval(&mut self, params: &PieParams, _elapsed: Duration, port: &PortView) {
        let (target, before) = (params.target.as_secs_f64(), self.delay);
        let waiting = port.waiting_bits();
        self.delay = if waiting > 0.0 {
            waiting / self.capacity.bps().max(1.0)
        } else {
            0.0
        };
        let change = params.alpha * (self.delay - target) + params.beta * (self.delay - before);
        let mut change = self.scale() * change;
        if self.probability >= 0.1 {
            change = change.min(LARGEST_STEP);
        }
        if self.delay > LONG_DELAY_S {
            change += LARGEST_STEP;
        }
        self.probability += change;
        if self.delay == 0.0 && before == 0.0 {
            self.probability *= IDLE_DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let quiet = |delay: f64| delay < target / 2.0;
        self.allowance = if self.probability == 0.0 && quiet(self.delay) && quiet(before) {
            params.burst
        } else {
            self.allowance.saturating_sub(params.interval)
        };
    }

    fn signal(&self) -> f64 {
        self.probability
    }
}

/// Largest increase per update if the probability is at least 0.1. Each update at a delay above `LONG_DELAY_S` also
/// adds this value.
const LARGEST_STEP: f64 = 0.02;
const LONG_DELAY_S: f64 = 0.25;
/// Factor on the probability in each interval without a queue.
const IDLE_DECAY: f64 = 0.98;

impl Pie {
    /// Returns the scale `s` of the current probability (section 4.2).
    fn scale(&self) -> f64 {
        let scales = [
            (1e-6, 2048.0),
            (1e-5, 512.0),
            (1e-4, 128.0),
            (1e-3, 32.0),
            (1e-2, 8.0),
            (1e-1, 2.0),
        ];
        let found = scales.iter().find(|(below, _)| self.probability < *below);
        1.0 / found.map_or(1.0, |(_, scale)| *scale)
    }

    /// Returns true if the delay or the backlog is too small for drops (section 4.1).
    fn spares(&self, params: &PieParams, queue: Bytes) -> bool {
        let quiet = self.delay < params.target.as_secs_f64() / 2.0 && self.probability < 0.2;
        quiet || queue <= self.largest + self.largest
    }

    /// Decides at random to drop a packet or not. The sum of the probabilities between two drops is bounded (section
    /// 5.4).
    fn drops(&mut self, draw: f64) -> bool {
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let drops = self.accumulated >= 8.5 || (self.accumulated >= 0.85 && draw < self.probability);
        if drops {
            self.accumulated = 0.0;
        }
        drops
    }
}

#[cfg(test)]
mod tests;
