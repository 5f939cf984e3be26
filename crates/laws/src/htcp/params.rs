//! H-TCP's own parameters.

use crate::params::{ParamSpec, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HtcpParams {
    /// `Delta_L`: so long after congestion it grows as Reno does, s.
    pub delta_l: f64,
    /// Whether growth is scaled by the round-trip time.
    pub rtt_scaling: bool,
}

pub(super) const TABLE: [ParamSpec; ROWS + 2] = table([
    ParamSpec {
        name: "delta_l",
        doc: "so long after congestion it grows as Reno does",
        unit: Unit::Duration,
        default: 1.0,
        range: (0.0, 100.0),
        source: "draft-leith-tcp-htcp-06",
    },
    ParamSpec {
        name: "rtt_scaling",
        doc: "scale growth by the round-trip time over 100 ms, within 0.1 and 2",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "draft-leith-tcp-htcp-06, optional; Linux: on",
    },
]);

impl HtcpParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[delta_l, rtt_scaling] = values else {
            panic!("one value per row of the table");
        };
        Self {
            delta_l,
            rtt_scaling: rtt_scaling != 0.0,
        }
    }
}
