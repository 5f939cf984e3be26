//! H-TCP's own parameters.

use crate::params::{ParamSpec, SWITCH_RANGE, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// `Delta_L`: time after congestion with Reno's growth, s.
        delta_l: f64 = Unit::Duration, 1.0, (0.0, 100.0),
            "time after congestion with Reno's growth",
            "draft-leith-tcp-htcp-06";
        rtt_scaling: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "scale growth by the round-trip time over 100 ms, within 0.1 and 2",
            "draft-leith-tcp-htcp-06, optional; Linux: on";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
