//! TFRC's parameter table. The constants of RFC 5348 stand beside the code that uses them.

use crate::params::{SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct TfrcParams {
        ecn: bool = Unit::Switch, 0.0, SWITCH,
            "take marks for losses",
            "RFC 5348, section 5.1";
        dither: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "part by which gaps between packets vary at random, so that equal flows do not fall into step",
            "overhead_ of ns-2's TFRC: 0 unless set, 0.5 in its test \"randomized\"; RFC 5348 has none";
    }
}
