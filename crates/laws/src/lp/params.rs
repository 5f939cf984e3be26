//! Parameters of TCP-LP.

use crate::params::{ParamSpec, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// Delay threshold `delta`, as a fraction of the range from the smallest to the largest delay.
        delta: f64 = Unit::Number, 0.15, (0.01, 0.99),
            "delay that indicates congestion, as a fraction of the range from the smallest to the largest delay",
            "Kuzmanovic, Knightly 2003, section IV";
        inference: f64 = Unit::Number, 3.0, (1.0, 100.0),
            "time after an indication in which another indication reduces the window to 1, round trips",
            "authors' code and Linux 2.6";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
