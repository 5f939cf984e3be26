//! Parameters of Scalable TCP.

use crate::params::{ParamSpec, SWITCH_RANGE, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// `a`: growth per acknowledged packet, packets.
        step: f64 = Unit::Number, 0.01, (1e-4, 1.0),
            "growth per acknowledged packet, packets",
            "Kelly 2003, section 3; Zhang 2008, fig 7a: 0.05";
        /// `b`: fraction of the window removed at a loss.
        cut: f64 = Unit::Number, 0.125, (0.01, 0.9),
            "fraction of the window removed at a loss",
            "Kelly 2003, section 3";
        low_window: f64 = Unit::Number, 16.0, (1.0, 1e6),
            "window below which it behaves like Reno, packets",
            "Kelly 2003, section 3.1; Linux: 1";
        reno_floor: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "grow at least as fast as Reno",
            "Linux 2.6; not in Kelly 2003";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);
