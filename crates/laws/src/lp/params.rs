//! TCP-LP's own parameters.

use crate::params::{ParamSpec, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct LpParams {
        /// Threshold between the smallest and the largest delay, `delta`.
        delta: f64 = Unit::Number, 0.15, (0.01, 0.99),
            "delay taken for congestion, as a part of the way from the smallest to the largest",
            "Kuzmanovic, Knightly 2003, section IV";
        inference: f64 = Unit::Number, 3.0, (1.0, 100.0),
            "time after an indication in which another one takes the window to 1, round trips",
            "authors' code and Linux 2.6";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + LpParams::TABLE.len()] = table(LpParams::TABLE);
