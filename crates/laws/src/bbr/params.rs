//! BBR's parameter table.

use levelflow_units::Duration;

use crate::params::{ParamSpec, Unit, seconds};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BbrParams {
    /// First window, packets.
    pub initial_window: f64,
    /// Pacing gain until the pipe is full; its inverse drains the queue that this leaves.
    pub startup_gain: f64,
    /// Window in bandwidth-delay products.
    pub window_gain: f64,
    /// A smallest round-trip time that is older than this is measured anew.
    pub rtt_window: Duration,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "initial_window",
        doc: "first window, packets",
        unit: Unit::Number,
        default: 10.0,
        range: (1.0, 1e6),
        source: "RFC 6928",
    },
    ParamSpec {
        name: "startup_gain",
        doc: "pacing gain until the pipe is full; its inverse then drains the queue",
        unit: Unit::Number,
        default: 2.77,
        range: (1.1, 10.0),
        source: "4 ln 2: draft-ietf-ccwg-bbr",
    },
    ParamSpec {
        name: "window_gain",
        doc: "window in bandwidth-delay products",
        unit: Unit::Number,
        default: 2.0,
        range: (1.0, 100.0),
        source: "Cardwell et al. 2016",
    },
    ParamSpec {
        name: "rtt_window",
        doc: "age at which the smallest round-trip time is measured anew",
        unit: Unit::Duration,
        default: 10.0,
        range: (0.1, 1e4),
        source: "Cardwell et al. 2016",
    },
];

impl BbrParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[initial_window, startup_gain, window_gain, rtt_window] = values else {
            panic!("one value per row of the table");
        };
        Self {
            initial_window,
            startup_gain,
            window_gain,
            rtt_window: seconds(rtt_window),
        }
    }
}
