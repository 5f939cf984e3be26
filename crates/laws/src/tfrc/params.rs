//! TFRC's parameter table. The constants of RFC 5348 stand beside the code that uses them.

use crate::params::{SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct TfrcParams {
        ecn: bool = Unit::Switch, 0.0, SWITCH,
            "take marks for losses",
            "RFC 5348, section 5.1";
    }
}
