//! H-TCP's own parameters.

use crate::params::{ParamSpec, SWITCH, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct HtcpParams {
        /// `Delta_L`: so long after congestion it grows as Reno does, s.
        delta_l: f64 = Unit::Duration, 1.0, (0.0, 100.0),
            "so long after congestion it grows as Reno does",
            "draft-leith-tcp-htcp-06";
        rtt_scaling: bool = Unit::Switch, 0.0, SWITCH,
            "scale growth by the round-trip time over 100 ms, within 0.1 and 2",
            "draft-leith-tcp-htcp-06, optional; Linux: on";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + HtcpParams::TABLE.len()] = table(HtcpParams::TABLE);
