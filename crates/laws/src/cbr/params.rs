//! CBR's parameter table.

use levelflow_units::Rate;

use crate::params::{RATES, SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct CbrParams {
        rate: Rate = Unit::Rate, 1e6, RATES,
            "sending rate, headers included",
            "own choice; set it";
        acks: bool = Unit::Switch, 0.0, SWITCH,
            "receivers acknowledge packets, so that round-trip times are known; the rate does not depend on them",
            "off as in UDP; on, it is a call or a probe that measures its delay";
    }
}
