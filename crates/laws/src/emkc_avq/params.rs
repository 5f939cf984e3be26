//! Parameter table of EMKC-AVQ: that of EMKC, plus two parameters of the virtual capacity.

use crate::emkc;
use crate::params::{ParamError, ParamSpec, Parameters, Unit, joined, parameters, position};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Params {
    /// EMKC's parameters: those of the sender, and the control interval.
    pub emkc: emkc::Params,
    /// Parameters of the virtual capacity.
    pub adaptive: VirtualCapacity,
}

parameters! {
    /// Parameters of the virtual capacity.
    pub struct VirtualCapacity {
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "target load as a fraction of the capacity",
            "Zhang 2008, fig 24(e): two flows reach half of the capacity each";
        /// Gain, `tau` of eq 130.
        tau: f64 = Unit::Number, 0.2, (0.0, 10.0),
            "gain of the virtual capacity",
            "Zhang 2008, section VI.3.3";
    }
}

const SHARED: usize = emkc::Params::TABLE.len();

pub(super) const TABLE: [ParamSpec; SHARED + VirtualCapacity::TABLE.len()] = {
    let mut rows: [ParamSpec; SHARED + VirtualCapacity::TABLE.len()] =
        joined(&emkc::Params::TABLE, &VirtualCapacity::TABLE);
    rows[position(&emkc::Params::TABLE, "alpha")].doc =
        "additive increase per step; the virtual capacity converges to gamma C - N alpha/beta";
    rows
};

impl Parameters for Params {
    fn read(values: &[f64]) -> Result<Self, ParamError> {
        let (emkc, adaptive) = values.split_at(SHARED);
        Ok(Self {
            emkc: emkc::Params::read(emkc)?,
            adaptive: VirtualCapacity::read(adaptive)?,
        })
    }
}
