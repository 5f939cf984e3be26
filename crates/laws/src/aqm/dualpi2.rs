//! DualPI2: two queues with coupled marking. Queue L is for scalable senders, and queue C is for classic senders.
//!
//! Source: RFC 9332 (K. De Schepper, B. Briscoe, G. White, 2023), section 2 and appendix A. Defaults and the order of
//! decisions are from `sch_dualpi2` of Linux.
//!
//! Packets with ECT(1) or CE join queue L, and other packets join queue C. `d` is the longer of the queueing delays of
//! the two head packets, and `d'` is the value of `d` at the previous update. Once per interval `update`:
//!
//! ```text
//! p' <- p' + alpha (d - target) + beta (d - d'),  kept between 0 and 1
//! ```
//!
//! Departing packets of C are marked with probability `p_C = p'^2`, or dropped if they are not ECN-capable. Packets of
//! L are marked with probability `p_CL = k p'`. Packets of L with a queueing delay above `step` are always marked. If
//! `k p'` exceeds 1, marks do not suffice. Both queues then drop packets with probability `p'^2`, and the remaining
//! packets of L are marked. If the backlog is below two packets of 1514 bytes, `p'` has no effect.
//!
//! L has priority. While both queues have a backlog, weighted round robin with credits gives C the fraction `share` of
//! the bytes.
//!
//! The two queues are in `levelflow_path::Scheduler`. The simulator and the data plane run this scheduler.

use levelflow_units::{Bytes, Duration};

use super::{Queue, QueueInfo, Verdict};
use crate::law::PortInfo;
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct DualPi2Params {
        target: Duration = Unit::Duration, 0.015, (0.0, 100.0),
            "target queueing delay of queue C, for classic senders",
            "RFC 9332, appendix A.1; Linux";
        update: Duration = Unit::Duration, 0.016, (1e-6, 100.0),
            "time between two updates of the probability",
            "RFC 9332, appendix A.1; Linux";
        alpha: f64 = Unit::Number, 41.0 / 256.0, (0.0, 1e6),
            "gain on the difference of delay and target, per second",
            "RFC 9332, appendix A.1: 0.16; Linux";
        beta: f64 = Unit::Number, 819.0 / 256.0, (0.0, 1e6),
            "gain on the change of the delay, per second",
            "RFC 9332, appendix A.1: 3.2; Linux";
        coupling: f64 = Unit::Number, 2.0, (0.0, 255.0),
            "coupling factor k: marking probability of queue L divided by p'",
            "RFC 9332, section 2.1; Linux";
        step: Duration = Unit::Duration, 0.001, (0.0, 100.0),
            "queueing delay above which packets of queue L are marked",
            "RFC 9332, appendix A.1: 800 us or more; Linux";
        share: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "fraction of the bytes that queue C gets while both queues have a backlog",
            "RFC 9332, section 2.5.2.1.1: 1/16; Linux: 10 %";
        limit: u32 = Unit::Packets, 10_000.0, (1.0, 1e6),
            "largest backlog of both queues, packets",
            "Linux";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "RFC 9332, section 2.5.1";
    }
}

/// Smallest backlog at which the probability has an effect: two Ethernet frames of 1514 bytes.
const MIN_MARKING_BACKLOG: Bytes = Bytes::new(2 * 1514);

/// Controller of both queues.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DualPi2 {
    /// Base probability `p'`.
    probability: f64,
    /// Delay at the last update, in seconds.
    delay: f64,
}

/// Packet that is about to leave one of the queues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaving {
    /// True for queue L.
    pub low_latency: bool,
    /// Queueing delay.
    pub waited: Duration,
    /// Backlog of both queues without this packet.
    pub behind: Bytes,
}

impl DualPi2 {
    /// Updates the probability. `delay` is the longer of the queueing delays of the two head packets (RFC 9332, figure
    /// 6).
    pub fn update(&mut self, params: &DualPi2Params, delay: Duration) {
        let delay = delay.as_secs_f64();
        let far = delay - params.target.as_secs_f64();
        let change = params.alpha * far + params.beta * (delay - self.delay);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// Returns the base probability `p'`, which determines the probabilities of both queues.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Decides on a packet (RFC 9332, figure 5). The draws are uniform on [0, 1).
    #[must_use]
    pub fn judge(&self, params: &DualPi2Params, packet: &Leaving, draws: [f64; 2]) -> Verdict {
        let coupled = params.coupling * self.probability;
        let overload = coupled > 1.0;
        let squared = draws.iter().all(|&draw| draw < self.probability);
        let verdict = match (packet.low_latency, overload) {
            _ if packet.behind < MIN_MARKING_BACKLOG => Verdict::Pass,
            (_, true) if squared => Verdict::Drop,
            (true, true) => Verdict::Notify,
            (true, false) => Verdict::by_chance(coupled, draws[0]),
            (false, false) if squared => Verdict::Notify,
            (false, _) => Verdict::Pass,
        };
        if verdict == Verdict::Pass && packet.low_latency && packet.waited > params.step {
            return Verdict::Notify;
        }
        verdict
    }
}

impl Queue for DualPi2 {
    type Params = DualPi2Params;

    const INFO: QueueInfo = QueueInfo {
        name: "dualpi2",
        title: "DualPI2: a low-latency queue for scalable senders, coupled with a queue for classic ones",
        source: "RFC 9332",
        signal: "base probability p', which determines the probabilities of both queues",
        params: &DualPi2Params::TABLE,
    };
    const SCHEDULES: bool = true;
    const DRAWS: bool = true;

    fn ecn(params: &DualPi2Params) -> bool {
        params.ecn
    }

    fn new(_params: &DualPi2Params, _port: &PortInfo) -> Self {
        Self::default()
    }

    fn interval(params: &DualPi2Params) -> Option<Duration> {
        Some(params.update)
    }

    fn signal(&self) -> f64 {
        self.probability
    }
}

#[cfg(test)]
mod tests;
