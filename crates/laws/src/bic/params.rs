//! BIC's own parameters.

use crate::params::{ParamSpec, SWITCH, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct BicParams {
        low_window: f64 = Unit::Number, 14.0, (1.0, 1e6),
            "below this window it is Reno, packets",
            "Xu, Harfoush, Rhee 2004, section III";
        /// Largest growth per round trip, `S_max`, packets.
        s_max: f64 = Unit::Number, 32.0, (1.0, 1e4),
            "largest growth per round trip, packets",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 16";
        /// Smallest, `S_min`.
        s_min: f64 = Unit::Number, 0.01, (1e-4, 1e3),
            "smallest growth per round trip, packets",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2";
        search: f64 = Unit::Number, 2.0, (1.0, 100.0),
            "a round trip covers one part in so many of the way to the last maximum",
            "Xu, Harfoush, Rhee 2004, section III (binary search); Linux: 4";
        /// Part of the window that a loss takes, `beta`.
        cut: f64 = Unit::Number, 0.125, (0.01, 0.9),
            "part of the window that a loss takes",
            "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2";
        fast_convergence: bool = Unit::Switch, 1.0, SWITCH,
            "a flow whose maximum shrinks aims lower still",
            "Xu, Harfoush, Rhee 2004, section III";
    } where {
        s_min: s_min <= s_max, "s_min is above s_max; it must be at most s_max";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + BicParams::TABLE.len()] = table(BicParams::TABLE);
