//! RCP's parameter table.

use levelflow_units::{Bytes, Duration};

use crate::params::{ParamSpec, Unit, seconds};

/// Which round-trip time a router computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttEstimate {
    /// `d_0`, the moving average over packets.
    Mean,
    /// `D_max`, the largest within the last control interval of eq 1.
    Max,
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RcpParams {
    /// Gain on spare capacity, `alpha` of eq 2.
    pub alpha: f64,
    /// Gain on the queue, `beta` of eq 2.
    pub beta: f64,
    /// Longest time between two updates; `T` is the smaller of this and the round-trip time.
    pub interval: Duration,
    /// First offered rate, as a fraction of the capacity.
    pub initial: f64,
    /// Round-trip time that routers assume before a packet has told them one.
    pub initial_rtt: Duration,
    /// Weight of one packet in the average round-trip time.
    pub gain: f64,
    /// Floor of the offered rate: this much per round-trip time.
    pub min_per_rtt: Bytes,
    /// Which round-trip time eq 2 uses.
    pub rtt: RttEstimate,
    /// Whether dropped bytes count as queue.
    pub loss_aware: bool,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "alpha",
        doc: "gain on spare capacity",
        unit: Unit::Number,
        default: 0.1,
        range: (0.0, 10.0),
        source: "Dukkipati et al. 2005, section III",
    },
    ParamSpec {
        name: "beta",
        doc: "gain on the queue",
        unit: Unit::Number,
        default: 1.0,
        range: (0.0, 10.0),
        source: "Dukkipati et al. 2005, section III",
    },
    ParamSpec {
        name: "interval",
        doc: "longest time between two updates of the offered rate",
        unit: Unit::Duration,
        default: 0.01,
        range: (1e-6, 100.0),
        source: "Dukkipati et al. 2005, section III",
    },
    ParamSpec {
        name: "initial",
        doc: "first offered rate as a fraction of the capacity",
        unit: Unit::Number,
        default: 0.05,
        range: (1e-6, 1.0),
        source: "Dukkipati et al. 2005, fig 5",
    },
    ParamSpec {
        name: "initial_rtt",
        doc: "round-trip time assumed before a packet has told one",
        unit: Unit::Duration,
        default: 0.1,
        range: (1e-6, 100.0),
        source: "own choice; set it to the scenario's round-trip time",
    },
    ParamSpec {
        name: "gain",
        doc: "weight of one packet in the average round-trip time",
        unit: Unit::Number,
        default: 0.02,
        range: (1e-6, 1.0),
        source: "Dukkipati et al. 2005, section II-C.4",
    },
    ParamSpec {
        name: "min_per_rtt",
        doc: "floor of the offered rate: this much per round-trip time",
        unit: Unit::Size,
        default: 10.0,
        range: (1.0, 1e6),
        source: "0.01 packet of 1000 B, as in a published ns-2 port",
    },
    ParamSpec {
        name: "rtt",
        doc: "round-trip time in the update: average over packets, or the largest seen",
        unit: Unit::Choice(&["mean", "max"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Dukkipati et al. 2005, section II; max: Zhang 2008, section VI.3.4",
    },
    ParamSpec {
        name: "loss_aware",
        doc: "count dropped bytes as queue",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "Dukkipati et al. 2005, section II-C.2",
    },
];

impl RcpParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[
            alpha,
            beta,
            interval,
            initial,
            initial_rtt,
            gain,
            min_per_rtt,
            rtt,
            loss_aware,
        ] = values
        else {
            panic!("one value per row of the table");
        };
        Self {
            alpha,
            beta,
            interval: seconds(interval),
            initial,
            initial_rtt: seconds(initial_rtt),
            gain,
            min_per_rtt: Bytes::new(min_per_rtt as u64),
            rtt: if rtt == 0.0 {
                RttEstimate::Mean
            } else {
                RttEstimate::Max
            },
            loss_aware: loss_aware != 0.0,
        }
    }
}
