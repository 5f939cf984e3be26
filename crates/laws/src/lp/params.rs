//! TCP-LP's own parameters.

use crate::params::{ParamSpec, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LpParams {
    /// Threshold between the smallest and the largest delay, `delta`.
    pub delta: f64,
    /// Length of the inference phase, round trips.
    pub inference: f64,
}

pub(super) const TABLE: [ParamSpec; ROWS + 2] = table([
    ParamSpec {
        name: "delta",
        doc: "delay taken for congestion, as a part of the way from the smallest to the largest",
        unit: Unit::Number,
        default: 0.15,
        range: (0.01, 0.99),
        source: "Kuzmanovic, Knightly 2003, section IV",
    },
    ParamSpec {
        name: "inference",
        doc: "time after an indication in which another one takes the window to 1, round trips",
        unit: Unit::Number,
        default: 3.0,
        range: (1.0, 100.0),
        source: "authors' code and Linux 2.6",
    },
]);

impl LpParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[delta, inference] = values else {
            panic!("one value per row of the table");
        };
        Self { delta, inference }
    }
}
