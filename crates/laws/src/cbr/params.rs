//! CBR's parameter table.

use levelflow_units::Rate;

use crate::params::{ParamSpec, RATES, Unit};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CbrParams {
    /// The rate, headers included.
    pub rate: Rate,
}

pub(super) const TABLE: &[ParamSpec] = &[ParamSpec {
    name: "rate",
    doc: "sending rate, headers included",
    unit: Unit::Rate,
    default: 1e6,
    range: RATES,
    source: "own choice; set it",
}];

impl CbrParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[rate] = values else {
            panic!("one value per row of the table");
        };
        Self {
            rate: Rate::clamped(rate),
        }
    }
}
