//! AIMD's parameter table.

use levelflow_units::Rate;

use crate::params::{ParamError, ParamSpec, RATES, Unit, starts_above_floor};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AimdParams {
    /// Increase per round-trip time, `alpha` of eq 19 and 114.
    pub alpha: Rate,
    /// Fraction of the rate kept on loss: `beta` of eq 19, `1 - beta` of eq 114.
    pub keep: f64,
    /// Rate of the first packets.
    pub initial_rate: Rate,
    /// Floor of the sending rate.
    pub min_rate: Rate,
    /// Whether a mark counts as a loss.
    pub ecn: bool,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "alpha",
        doc: "increase per round-trip time",
        unit: Unit::Rate,
        default: 10e3,
        range: RATES,
        source: "Zhang 2008, fig 17(a)",
    },
    ParamSpec {
        name: "keep",
        doc: "fraction of the rate that is kept on loss",
        unit: Unit::Number,
        default: 0.5,
        range: (0.0, 1.0),
        source: "Zhang 2008, fig 17(a), where beta is the fraction removed",
    },
    ParamSpec {
        name: "initial_rate",
        doc: "sending rate before the first feedback",
        unit: Unit::Rate,
        default: 100e3,
        range: RATES,
        source: "as EMKC: Zhang 2008, section V.4.4",
    },
    ParamSpec {
        name: "min_rate",
        doc: "floor of the sending rate",
        unit: Unit::Rate,
        default: 1e3,
        range: RATES,
        source: "own choice: a silent sender gets no feedback",
    },
    ParamSpec {
        name: "ecn",
        doc: "take marks for losses",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "RFC 3168, section 5",
    },
];

impl AimdParams {
    pub(super) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let &[alpha, keep, initial_rate, min_rate, ecn] = values else {
            panic!("one value per row of the table");
        };
        starts_above_floor(initial_rate, min_rate)?;
        Ok(Self {
            alpha: Rate::clamped(alpha),
            keep,
            initial_rate: Rate::clamped(initial_rate),
            min_rate: Rate::clamped(min_rate),
            ecn: ecn != 0.0,
        })
    }
}
