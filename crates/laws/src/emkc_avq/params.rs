//! EMKC-AVQ's parameter table: EMKC's, and two more for the virtual capacity.

use crate::emkc::EmkcParams;
use crate::params::{ParamError, ParamSpec, Parameters, Unit, joined, parameters, position};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmkcAvqParams {
    /// Those of the sender and the interval.
    pub emkc: EmkcParams,
    /// Those of the virtual capacity.
    pub adaptive: VirtualCapacity,
}

parameters! {
    /// Parameters of the virtual capacity.
    pub struct VirtualCapacity {
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "load to aim at, as a fraction of the capacity",
            "Zhang 2008, fig 24(e): two flows reach half of the capacity each";
        /// Gain, `tau` of eq 130.
        tau: f64 = Unit::Number, 0.2, (0.0, 10.0),
            "gain of the virtual capacity",
            "Zhang 2008, section VI.3.3";
    }
}

const SHARED: usize = EmkcParams::TABLE.len();

pub(super) const TABLE: [ParamSpec; SHARED + VirtualCapacity::TABLE.len()] = {
    let mut rows: [ParamSpec; SHARED + VirtualCapacity::TABLE.len()] =
        joined(&EmkcParams::TABLE, &VirtualCapacity::TABLE);
    rows[position(&EmkcParams::TABLE, "alpha")].doc =
        "additive increase per step; the virtual capacity ends at gamma C - N alpha/beta";
    rows
};

impl Parameters for EmkcAvqParams {
    fn read(values: &[f64]) -> Result<Self, ParamError> {
        let (emkc, adaptive) = values.split_at(SHARED);
        Ok(Self {
            emkc: EmkcParams::read(emkc)?,
            adaptive: VirtualCapacity::read(adaptive)?,
        })
    }
}
