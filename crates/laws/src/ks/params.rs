//! Parameter table of the controllers of Kunniyur and Srikant.

use levelflow_units::Duration;

use crate::params::{Unit, choices, parameters};

choices! {
    /// Quantity controlled by the sender.
    pub enum Control {
        /// A window (eq 12-13).
        Window = "window",
        /// A rate (eq 9-10).
        Rate = "rate",
    }
}

choices! {
    /// Utility `U` of the rate `x`.
    pub enum Utility {
        /// `log x`.
        Log = "log",
        /// `-1/x^nu`.
        Power = "power",
    }
}

choices! {
    /// Signals that lower the window or rate.
    pub enum Signals {
        /// Losses (section III).
        Losses = "loss",
        /// Marks (section V-C). All losses are assumed to be random, and are ignored.
        Marks = "mark",
        /// Losses and marks (section V-A).
        Both = "both",
    }
}

impl Signals {
    pub(super) const fn losses(self) -> bool {
        matches!(self, Self::Losses | Self::Both)
    }

    pub(super) const fn marks(self) -> bool {
        matches!(self, Self::Marks | Self::Both)
    }
}

parameters! {
    /// Validated parameters.
    pub struct Params {
        control: Control = Control::UNIT, 0.0, Control::RANGE,
            "controlled quantity: a window (eq 12-13) or a rate (eq 9-10)",
            "Kunniyur and Srikant 2003, sections II and III";
        utility: Utility = Utility::UNIT, 1.0, Utility::RANGE,
            "utility of a rate x: log x, or the power -1/x^nu",
            "Kunniyur and Srikant 2003, section II; -1/x is the utility of TCP, section III-A";
        nu: f64 = Unit::Number, 1.0, (0.01, 10.0),
            "exponent of the power utility",
            "Kunniyur and Srikant 2003, section III-A";
        signal: Signals = Signals::UNIT, 0.0, Signals::RANGE,
            "signals that lower the window or rate; with `mark`, all losses are assumed to be random",
            "Kunniyur and Srikant 2003, sections III, V-C and V-A";
        /// `kappa`: gain.
        kappa: f64 = Unit::Number, 1.0, (1e-6, 1e3),
            "gain",
            "Kunniyur and Srikant 2003, section III-A";
        /// `w/beta_r`: weight of the utility.
        weight: f64 = Unit::Number, 1.0, (1e-9, 1e9),
            "weight of the utility, w/beta_r",
            "Kunniyur and Srikant 2003, section VI-A";
        /// `beta`: price of a lost or marked packet.
        beta: f64 = Unit::Number, 0.5, (1e-6, 1e6),
            "price of a lost or marked packet",
            "Kunniyur and Srikant 2003, section VI-A";
        time_unit: Duration = Unit::Duration, 0.02, (1e-6, 100.0),
            "time unit of the equations; rates are in packets per time unit",
            "Kunniyur and Srikant 2003, section VI-A";
        /// Delay `d` of eq 12-13 in time units; 0 selects the measured round-trip time.
        delay: f64 = Unit::Number, 0.0, (0.0, 1e6),
            "d of eq 12-13 in time units; 0 selects the measured round-trip time, 1 gives eq 20-21",
            "Kunniyur and Srikant 2003, section III";
        floor: f64 = Unit::Number, 0.1, (0.001, 1.0),
            "smallest window, packets; smallest rate, packets per time unit",
            "Levelflow; the paper has no bound";
    }
}
