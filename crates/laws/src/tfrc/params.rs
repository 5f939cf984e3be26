//! Parameter table of TFRC. Constants of RFC 5348 are in the files that use them.

use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "treat marks as losses",
            "RFC 5348, section 5.1";
        dither: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "relative random variation of inter-packet times, against synchronisation of equal flows",
            "overhead_ of TFRC in ns-2: default 0, and 0.5 in the test \"randomized\"; not in RFC 5348";
    }
}
