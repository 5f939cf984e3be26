//! CBR's parameter table.

use levelflow_units::Rate;

use crate::params::{RATES, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct CbrParams {
        rate: Rate = Unit::Rate, 1e6, RATES,
            "sending rate, headers included",
            "own choice; set it";
    }
}
