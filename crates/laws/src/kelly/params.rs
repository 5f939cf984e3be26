//! Kelly control's parameter table.

use levelflow_units::{Duration, Rate};

use crate::params::{ParamError, ParamSpec, RATES, Unit, seconds, starts_above_floor};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KellyParams {
    /// Gain, `kappa` of eq 1.
    pub kappa: f64,
    /// What a flow is willing to pay, `omega` of eq 1.
    pub omega: Rate,
    /// Time over which a router averages its load, and between two steps of a sender.
    pub interval: Duration,
    /// Rate of the first packets.
    pub initial_rate: Rate,
    /// Floor of the sending rate.
    pub min_rate: Rate,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "kappa",
        doc: "gain; on one link stable below 2, 1, 0.618, 0.445 for round-trip times of 0, 1, 2, 3 intervals",
        unit: Unit::Number,
        default: 0.5,
        range: (0.001, 10.0),
        source: "Zhang 2008, fig 15 and eq 3",
    },
    ParamSpec {
        name: "omega",
        doc: "what a flow is willing to pay: its rate times the price of its path",
        unit: Unit::Rate,
        default: 20e3,
        range: RATES,
        source: "Zhang 2008, fig 15",
    },
    ParamSpec {
        name: "interval",
        doc: "time over which a router averages its load, and between two steps of a sender",
        unit: Unit::Duration,
        default: 0.04,
        range: (100e-6, 100.0),
        source: "own choice: between 35 and 46 ms, Zhang 2008, fig 15, agrees with eq 3",
    },
    ParamSpec {
        name: "initial_rate",
        doc: "sending rate before the first feedback",
        unit: Unit::Rate,
        default: 1e6,
        range: RATES,
        source: "own choice: a packet in each interval",
    },
    ParamSpec {
        name: "min_rate",
        doc: "floor of the sending rate",
        unit: Unit::Rate,
        default: 100e3,
        range: RATES,
        source: "own choice: a silent sender gets no feedback, and eq 1 makes rates negative",
    },
];

impl KellyParams {
    pub(super) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let &[kappa, omega, interval, initial_rate, min_rate] = values else {
            panic!("one value per row of the table");
        };
        starts_above_floor(initial_rate, min_rate)?;
        Ok(Self {
            kappa,
            omega: Rate::clamped(omega),
            interval: seconds(interval),
            initial_rate: Rate::clamped(initial_rate),
            min_rate: Rate::clamped(min_rate),
        })
    }
}
