//! Parameters of BIC.

use crate::params::{ParamSpec, SWITCH_RANGE, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        low_window: f64 = Unit::Number, 14.0, (1.0, 1e6),
            "window below which BIC behaves like Reno, packets",
            "Xu, Harfoush, Rhee 2004, section III";
        /// `S_max`: largest growth per round trip, packets.
        s_max: f64 = Unit::Number, 32.0, (1.0, 1e4),
            "largest growth per round trip, packets",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 16";
        /// `S_min`: smallest growth per round trip, packets.
        s_min: f64 = Unit::Number, 0.01, (1e-4, 1e3),
            "smallest growth per round trip, packets",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2";
        search: f64 = Unit::Number, 2.0, (1.0, 100.0),
            "divisor: the growth per round trip is the distance to the last maximum divided by this number",
            "Xu, Harfoush, Rhee 2004, section III (binary search); Linux: 4";
        /// `beta`: fraction of the window removed at a loss.
        cut: f64 = Unit::Number, 0.125, (0.01, 0.9),
            "fraction of the window removed at a loss",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2";
        fast_convergence: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "fast convergence: lower the maximum further if it shrinks",
            "Xu, Harfoush, Rhee 2004, section III";
    } where {
        s_min: s_min <= s_max, "s_min is above s_max; it must be at most s_max";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
