//! CBR's parameter table.

use levelflow_units::Rate;

use crate::params::{RATE_RANGE, SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        rate: Rate = Unit::Rate, 1e6, RATE_RANGE,
            "sending rate, headers included",
            "Levelflow; set it in each scenario";
        acks: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "acknowledge packets, to measure round-trip times; the rate does not depend on them",
            "off, like UDP; on for a call or a probe that measures delays";
    }
}
