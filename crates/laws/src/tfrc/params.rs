//! TFRC's parameter table. Constants of RFC 5348 are defined next to the code that uses them.

use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "treat marks as losses",
            "RFC 5348, section 5.1";
        dither: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "relative random variation of gaps between packets, so that equal flows do not synchronise",
            "overhead_ of ns-2's TFRC: 0 unless set, 0.5 in its test \"randomized\"; RFC 5348 has none";
    }
}
