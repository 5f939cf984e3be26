//! XCP's parameter table.

use levelflow_units::Duration;

use super::header::LONGEST_RTT;
use crate::params::{ParamError, ParamSpec, Problem, Unit, seconds};

/// Which round-trip time a router computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttEstimate {
    /// `d`, the mean over flows, each weighted by its rate's share of packets.
    Mean,
    /// `D_max`, the largest within a control interval.
    Max,
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct XcpParams {
    /// Gain on spare bandwidth.
    pub alpha: f64,
    /// Gain on the persistent queue.
    pub beta: f64,
    /// Share of the traffic that is shuffled among flows at equilibrium.
    pub gamma: f64,
    /// Which round-trip time the control equations use.
    pub rtt: RttEstimate,
    /// Control interval of a router that has heard of no round-trip time.
    pub initial_interval: Duration,
    /// Shortest control interval.
    pub shortest_interval: Duration,
    /// Longest control interval, seconds: longer round-trip times count as this.
    pub longest_interval: f64,
    /// Weight of one sample in the smoothed round-trip time.
    pub rtt_gain: f64,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "alpha",
        doc: "gain on spare bandwidth",
        unit: Unit::Number,
        default: 0.4,
        range: (0.0, 1.0),
        source: "Katabi et al. 2002, section 3.5",
    },
    ParamSpec {
        name: "beta",
        doc: "gain on the persistent queue; alpha^2 sqrt 2 by the stability condition",
        unit: Unit::Number,
        default: 0.226,
        range: (0.0, 10.0),
        source: "Katabi et al. 2002, section 3.5",
    },
    ParamSpec {
        name: "gamma",
        doc: "share of the traffic that is shuffled among flows when nothing else changes",
        unit: Unit::Number,
        default: 0.1,
        range: (0.0, 1.0),
        source: "Katabi et al. 2002, section 3.5",
    },
    ParamSpec {
        name: "rtt",
        doc: "round-trip time in the control equations: mean over flows, or the largest of a control interval",
        unit: Unit::Choice(&["mean", "max"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Katabi et al. 2002, section 3.5; max: Zhang 2008, section VI.3.4",
    },
    ParamSpec {
        name: "initial_interval",
        doc: "control interval of a router that has heard of no round-trip time",
        unit: Unit::Duration,
        default: 0.05,
        range: (1e-6, LONGEST_RTT as f64),
        source: "the authors' code in ns-2",
    },
    ParamSpec {
        name: "shortest_interval",
        doc: "shortest control interval",
        unit: Unit::Duration,
        default: 0.001,
        range: (1e-6, LONGEST_RTT as f64),
        source: "code of draft-falk-xcp-spec in ns-2 2.35; the draft advises 5 to 10 ms",
    },
    ParamSpec {
        name: "longest_interval",
        doc: "longest control interval: longer round-trip times count as this; 100 s for no limit",
        unit: Unit::Duration,
        default: 1.0,
        range: (1e-6, LONGEST_RTT as f64),
        source: "draft-falk-xcp-spec-03, section 4.2.4, and its code in ns-2 2.35; the paper has no limit",
    },
    ParamSpec {
        name: "rtt_gain",
        doc: "weight of one sample in the smoothed round-trip time",
        unit: Unit::Number,
        default: 0.125,
        range: (0.001, 1.0),
        source: "code of draft-falk-xcp-spec in ns-2 2.35; 0.4 in that of 2002",
    },
];

impl XcpParams {
    pub(super) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let &[
            alpha,
            beta,
            gamma,
            rtt,
            initial_interval,
            shortest_interval,
            longest_interval,
            rtt_gain,
        ] = values
        else {
            panic!("one value per row of the table");
        };
        let conflict = |name, why| ParamError {
            name,
            problem: Problem::Conflict(why),
        };
        if initial_interval > longest_interval {
            return Err(conflict("initial_interval", "must not exceed longest_interval"));
        }
        if shortest_interval > initial_interval {
            return Err(conflict("shortest_interval", "must not exceed initial_interval"));
        }
        Ok(Self {
            alpha,
            beta,
            gamma,
            rtt: if rtt == 0.0 {
                RttEstimate::Mean
            } else {
                RttEstimate::Max
            },
            initial_interval: seconds(initial_interval),
            shortest_interval: seconds(shortest_interval),
            longest_interval,
            rtt_gain,
        })
    }
}
