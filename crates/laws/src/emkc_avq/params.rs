//! EMKC-AVQ's parameter table: EMKC's, and two more for the virtual capacity.

use crate::emkc::EmkcParams;
use crate::emkc::params::TABLE as EMKC;
use crate::params::{ParamError, ParamSpec, Unit};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmkcAvqParams {
    /// Those of the sender and the interval.
    pub emkc: EmkcParams,
    /// Load to aim at, as a fraction of the capacity.
    pub gamma: f64,
    /// Gain of the virtual capacity, `tau` of eq 130.
    pub tau: f64,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        doc: "additive increase per step; the virtual capacity ends at gamma C - N alpha/beta",
        ..EMKC[0]
    },
    EMKC[1],
    EMKC[2],
    EMKC[3],
    EMKC[4],
    EMKC[5],
    EMKC[6],
    EMKC[7],
    ParamSpec {
        name: "gamma",
        doc: "load to aim at, as a fraction of the capacity",
        unit: Unit::Number,
        default: 1.0,
        range: (0.01, 1.0),
        source: "Zhang 2008, fig 24(e): two flows reach half of the capacity each",
    },
    ParamSpec {
        name: "tau",
        doc: "gain of the virtual capacity",
        unit: Unit::Number,
        default: 0.2,
        range: (0.0, 10.0),
        source: "Zhang 2008, section VI.3.3",
    },
];

const _: () = assert!(EMKC.len() + 2 == TABLE.len());

impl EmkcAvqParams {
    pub(super) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let (emkc, &[gamma, tau]) = values.split_at(EMKC.len()) else {
            panic!("one value per row of the table");
        };
        Ok(Self {
            emkc: EmkcParams::read(emkc)?,
            gamma,
            tau,
        })
    }
}
