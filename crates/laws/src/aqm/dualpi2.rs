//! DualPI2: two queues, one for scalable and one for classic senders, whose marks are coupled.
//!
//! Source: RFC 9332 (K. De Schepper, B. Briscoe, G. White, 2023), section 2 and appendix A; `sch_dualpi2` of Linux,
//! whose defaults and order of decisions these are.
//!
//! Packets that say ECT(1) or CE go to the queue L, all others to C. Every `update`, with `d` the longer of the times
//! that the two heads have waited and `d'` that one update ago:
//!
//! ```text
//! p' <- p' + alpha (d - target) + beta (d - d'),  kept between 0 and 1
//! ```
//!
//! As packets leave, C is dropped, or marked if it can be, with `p_C = p'^2`, and L is marked with `p_CL = k p'` and if it
//! waited longer than `step`. Once `k p'` exceeds 1, which marks do not help against, L is marked and both are
//! dropped with `p'^2`. While less than two packets of 1514 bytes are left behind, `p'` does nothing.
//!
//! L goes first, but while both wait, C gets `share` of the bytes: weighted round robin by credit.
//!
//! The two queues are `levelflow_path::Scheduler`, which the simulator and the data plane run.

use levelflow_units::{Bytes, Duration};

use super::{Queue, QueueInfo, Verdict};
use crate::law::PortInfo;
use crate::params::{SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct DualPi2Params {
        target: Duration = Unit::Duration, 0.015, (0.0, 100.0),
            "queueing delay to be held in C",
            "RFC 9332, appendix A.1; Linux";
        update: Duration = Unit::Duration, 0.016, (1e-6, 100.0),
            "time between two updates of the probability",
            "RFC 9332, appendix A.1; Linux";
        alpha: f64 = Unit::Number, 41.0 / 256.0, (0.0, 1e6),
            "gain on the distance from the target, per second",
            "RFC 9332, appendix A.1: 0.16; Linux";
        beta: f64 = Unit::Number, 819.0 / 256.0, (0.0, 1e6),
            "gain on the change of the delay, per second",
            "RFC 9332, appendix A.1: 3.2; Linux";
        coupling: f64 = Unit::Number, 2.0, (0.0, 255.0),
            "probability of a mark in L over p', k",
            "RFC 9332, section 2.1; Linux";
        step: Duration = Unit::Duration, 0.001, (0.0, 100.0),
            "wait above which L is marked",
            "RFC 9332, appendix A.1: 800 us or more; Linux";
        share: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "share of bytes that C gets while both wait",
            "RFC 9332, section 2.5.2.1.1: 1/16; Linux: 10 %";
        limit: u32 = Unit::Packets, 10_000.0, (1.0, 1e6),
            "packets that may wait in both queues",
            "Linux";
        ecn: bool = Unit::Switch, 1.0, SWITCH,
            "mark packets of senders that understand marks instead of dropping them",
            "RFC 9332, section 2.5.1";
    }
}

/// Below this many bytes left behind, the probability does nothing: two packets of Ethernet.
const LITTLE: Bytes = Bytes::new(2 * 1514);

/// The controller of both queues.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DualPi2 {
    /// p'.
    probability: f64,
    /// Delay at the last update, s.
    delay: f64,
}

/// A packet about to leave one of the queues.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Leaving {
    /// Whether it was in L.
    pub low_latency: bool,
    /// How long it waited.
    pub waited: Duration,
    /// What it leaves behind in both queues.
    pub behind: Bytes,
}

impl DualPi2 {
    /// An update; `delay` is the longer of the times that the two heads have waited (RFC 9332, figure 6).
    pub fn update(&mut self, params: &DualPi2Params, delay: Duration) {
        let delay = delay.as_secs_f64();
        let far = delay - params.target.as_secs_f64();
        let change = params.alpha * far + params.beta * (delay - self.delay);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// p', of which the probabilities of both queues are made.
    #[must_use]
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// What becomes of a packet; the draws are uniform on [0, 1) (RFC 9332, figure 5).
    #[must_use]
    pub fn judge(&self, params: &DualPi2Params, packet: &Leaving, draws: [f64; 2]) -> Verdict {
        let coupled = params.coupling * self.probability;
        let overload = coupled > 1.0;
        let squared = draws.iter().all(|&draw| draw < self.probability);
        let verdict = match (packet.low_latency, overload) {
            _ if packet.behind < LITTLE => Verdict::Pass,
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
        title: "DualPI2: a queue of low latency for scalable senders beside one for classic ones, coupled",
        source: "RFC 9332",
        signal: "p', of which both probabilities are made",
        params: &DualPi2Params::TABLE,
    };
    const SCHEDULES: bool = true;

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
