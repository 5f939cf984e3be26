//! The parameter table of Kunniyur and Srikant's controllers.

use levelflow_units::Duration;

use crate::params::{ParamSpec, Unit, seconds};

/// What is controlled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// A window, eq 12-13.
    Window,
    /// A rate, eq 9-10.
    Rate,
}

/// The utility function `U`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Utility {
    /// `log x`.
    Log,
    /// `-1/x^nu`.
    Power {
        /// The exponent.
        nu: f64,
    },
}

/// What lowers the window or rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signals {
    /// Losses, section III.
    Losses,
    /// Marks; every loss is taken for a random one, section V-C.
    Marks,
    /// Losses and marks, section V-A.
    Both,
}

impl Signals {
    pub(super) const fn losses(self) -> bool {
        matches!(self, Self::Losses | Self::Both)
    }

    pub(super) const fn marks(self) -> bool {
        matches!(self, Self::Marks | Self::Both)
    }
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KsParams {
    /// What is controlled.
    pub control: Control,
    /// The utility function.
    pub utility: Utility,
    /// What lowers the window or rate.
    pub signals: Signals,
    /// Gain `kappa`.
    pub kappa: f64,
    /// Weight `w/beta_r` of the utility.
    pub weight: f64,
    /// Price `beta` of a lost or marked packet.
    pub beta: f64,
    /// The unit in which eq 9-13 measure time, and rates in packets per unit.
    pub time_unit: Duration,
    /// Delay `d` of eq 12-13 in time units; 0 stands for the measured one.
    pub delay: f64,
    /// Smallest window, packets; smallest rate, packets per time unit.
    pub floor: f64,
}

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "control",
        doc: "what is controlled: a window (eq 12-13) or a rate (eq 9-10)",
        unit: Unit::Choice(&["window", "rate"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Kunniyur and Srikant 2003, sections II and III",
    },
    ParamSpec {
        name: "utility",
        doc: "utility of a rate x: log x, or the power -1/x^nu",
        unit: Unit::Choice(&["log", "power"]),
        default: 1.0,
        range: (0.0, 1.0),
        source: "Kunniyur and Srikant 2003, section II; -1/x is TCP's, section III-A",
    },
    ParamSpec {
        name: "nu",
        doc: "exponent of the power",
        unit: Unit::Number,
        default: 1.0,
        range: (0.01, 10.0),
        source: "Kunniyur and Srikant 2003, section III-A",
    },
    ParamSpec {
        name: "signal",
        doc: "what lowers the window or rate; with marks alone, every loss is taken for a random one",
        unit: Unit::Choice(&["loss", "mark", "both"]),
        default: 0.0,
        range: (0.0, 2.0),
        source: "Kunniyur and Srikant 2003, sections III, V-C and V-A",
    },
    ParamSpec {
        name: "kappa",
        doc: "gain",
        unit: Unit::Number,
        default: 1.0,
        range: (1e-6, 1e3),
        source: "Kunniyur and Srikant 2003, section III-A",
    },
    ParamSpec {
        name: "weight",
        doc: "weight of the utility, w/beta_r",
        unit: Unit::Number,
        default: 1.0,
        range: (1e-9, 1e9),
        source: "Kunniyur and Srikant 2003, section VI-A",
    },
    ParamSpec {
        name: "beta",
        doc: "price of a lost or marked packet",
        unit: Unit::Number,
        default: 0.5,
        range: (1e-6, 1e6),
        source: "Kunniyur and Srikant 2003, section VI-A",
    },
    ParamSpec {
        name: "time_unit",
        doc: "unit of time of the equations; rates are in packets per unit",
        unit: Unit::Duration,
        default: 0.02,
        range: (1e-6, 100.0),
        source: "Kunniyur and Srikant 2003, section VI-A",
    },
    ParamSpec {
        name: "delay",
        doc: "d of eq 12-13 in time units; 0 takes the measured round-trip time, 1 gives eq 20-21",
        unit: Unit::Number,
        default: 0.0,
        range: (0.0, 1e6),
        source: "Kunniyur and Srikant 2003, section III",
    },
    ParamSpec {
        name: "floor",
        doc: "smallest window, packets; smallest rate, packets per time unit",
        unit: Unit::Number,
        default: 0.1,
        range: (0.001, 1.0),
        source: "own choice; the paper names no bound",
    },
];

impl KsParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[
            control,
            utility,
            nu,
            signal,
            kappa,
            weight,
            beta,
            time_unit,
            delay,
            floor,
        ] = values
        else {
            panic!("one value per row of the table");
        };
        Self {
            control: [Control::Window, Control::Rate][control as usize],
            utility: [Utility::Log, Utility::Power { nu }][utility as usize],
            signals: [Signals::Losses, Signals::Marks, Signals::Both][signal as usize],
            kappa,
            weight,
            beta,
            time_unit: seconds(time_unit),
            delay,
            floor,
        }
    }
}
