//! EMKC's parameter table.

use levelflow_units::{Duration, Rate};

use crate::params::{ParamError, ParamSpec, RATES, Unit, seconds, starts_above_floor};

/// Which rate the sender takes as the one the router measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// The average over the very packets the router averaged (eq 124).
    Proper,
    /// The rate at which the acknowledged packet was sent (section V.4.3.1).
    Naive,
}

/// What the sender does when another router reports the largest price (section V.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// Switches when the prices differ by more than `delta`, then holds its rate for one round-trip time.
    Hold,
    /// Reacts to whatever has a larger sequence number than the last, as section V.4.1 is worded.
    None,
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmkcParams {
    /// Additive increase per step, `alpha` of eq 61.
    pub alpha: Rate,
    /// Multiplicative gain, `beta` of eq 61.
    pub beta: f64,
    /// Router averaging interval `Delta`.
    pub interval: Duration,
    /// Rate of the first packets.
    pub initial_rate: Rate,
    /// Floor of the sending rate.
    pub min_rate: Rate,
    /// Reference rate.
    pub reference: Reference,
    /// Bottleneck switching.
    pub switch: Switch,
    /// Price difference below which a switch is refused.
    pub delta: f64,
}

pub(crate) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "alpha",
        doc: "additive increase per step; each flow ends at C/N + alpha/beta",
        unit: Unit::Rate,
        default: 200e3,
        range: RATES,
        source: "Zhang 2008, section VI.3.3",
    },
    ParamSpec {
        name: "beta",
        doc: "gain; stable between 0 and 2, monotone up to 1",
        unit: Unit::Number,
        default: 0.5,
        range: (0.001, 1.999),
        source: "Zhang 2008, section VI.3.3 and theorem 9",
    },
    ParamSpec {
        name: "interval",
        doc: "router averaging interval",
        unit: Unit::Duration,
        default: 0.1,
        range: (100e-6, 100.0),
        source: "Zhang 2008, section VI.3.3",
    },
    ParamSpec {
        name: "initial_rate",
        doc: "sending rate before the first feedback",
        unit: Unit::Rate,
        default: 100e3,
        range: RATES,
        source: "Zhang 2008, section V.4.4",
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
        name: "sender",
        doc: "reference rate: averaged over the router's interval, or echoed from the acknowledged packet",
        unit: Unit::Choice(&["proper", "naive"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Zhang 2008, section V.4.3",
    },
    ParamSpec {
        name: "switch",
        doc: "a change of bottleneck: confirm and hold one round-trip time, or react to any router with a larger sequence number",
        unit: Unit::Choice(&["hold", "none"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Zhang 2008, section V.4.4",
    },
    ParamSpec {
        name: "delta",
        doc: "smallest price difference that switches the bottleneck",
        unit: Unit::Number,
        default: 0.01,
        range: (0.0, 1.0),
        source: "Zhang 2008, section V.4.4",
    },
];

impl EmkcParams {
    pub(crate) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let &[alpha, beta, interval, initial_rate, min_rate, sender, switch, delta] = values else {
            panic!("one value per row of the table");
        };
        starts_above_floor(initial_rate, min_rate)?;
        Ok(Self {
            alpha: Rate::clamped(alpha),
            beta,
            interval: seconds(interval),
            initial_rate: Rate::clamped(initial_rate),
            min_rate: Rate::clamped(min_rate),
            reference: if sender == 0.0 {
                Reference::Proper
            } else {
                Reference::Naive
            },
            switch: if switch == 0.0 { Switch::Hold } else { Switch::None },
            delta,
        })
    }
}
