//! TFRC's parameter table. The constants of RFC 5348 stand beside the code that uses them.

use crate::params::{ParamSpec, Unit};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TfrcParams {
    /// Whether a mark counts as a loss.
    pub ecn: bool,
}

pub(super) const TABLE: &[ParamSpec] = &[ParamSpec {
    name: "ecn",
    doc: "take marks for losses",
    unit: Unit::Switch,
    default: 0.0,
    range: (0.0, 1.0),
    source: "RFC 5348, section 5.1",
}];

impl TfrcParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[ecn] = values else {
            panic!("one value per row of the table");
        };
        Self { ecn: ecn != 0.0 }
    }
}
