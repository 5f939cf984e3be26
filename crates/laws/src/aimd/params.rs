//! AIMD's parameter table.

use levelflow_units::Rate;

use crate::params::{RATE_RANGE, SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// `alpha` in eq 19 and 114: increase per round-trip time.
        alpha: Rate = Unit::Rate, 10e3, RATE_RANGE,
            "increase per round-trip time",
            "Zhang 2008, fig 17(a)";
        /// Fraction of the rate kept on loss: `beta` in eq 19, `1 - beta` in eq 114.
        keep: f64 = Unit::Number, 0.5, (0.0, 1.0),
            "fraction of the rate that is kept on loss",
            "Zhang 2008, fig 17(a); beta is the removed fraction there";
        initial_rate: Rate = Unit::Rate, 100e3, RATE_RANGE,
            "sending rate before the first feedback",
            "value of EMKC: Zhang 2008, section V.4.4";
        min_rate: Rate = Unit::Rate, 1e3, RATE_RANGE,
            "floor of the sending rate",
            "Levelflow: a sender needs packets to receive feedback";
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "treat marks as losses",
            "RFC 3168, section 5";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}
