//! Parameters of H-TCP.

use crate::params::{ParamSpec, SWITCH_RANGE, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// `Delta_L`: time after a congestion event in which the window grows like that of Reno, s.
        delta_l: f64 = Unit::Duration, 1.0, (0.0, 100.0),
            "time after congestion in which the window grows like that of Reno",
            "draft-leith-tcp-htcp-06";
        rtt_scaling: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "multiply the growth by the round-trip time divided by 100 ms, limited to 0.1 to 2",
            "draft-leith-tcp-htcp-06, optional; Linux: on";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
