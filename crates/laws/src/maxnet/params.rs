//! MaxNet's parameter table.

use levelflow_units::Duration;

use super::fixed::Constants;
use crate::params::{SWITCH, Unit, choices, parameters};

choices! {
    /// How a sender computes eq 10.
    pub enum Arithmetic {
        /// In double precision.
        Float = "float",
        /// In integers, with a table for the exponential, as a kernel has to (section VI).
        Fixed = "fixed",
    }
}

parameters! {
    /// Validated parameters.
    pub struct MaxNetParams {
        /// `x_max`, bit/s.
        x_max: f64 = Unit::Rate, 1e15, (1e6, 1e15),
            "demand at price zero: the largest rate",
            SOURCE;
        /// `T` of eq 7, seconds.
        t: f64 = Unit::Duration, 0.4, (0.001, 0.5),
            "price that divides the demand by e",
            SOURCE;
        /// `alpha`, loop gain.
        alpha: f64 = Unit::Number, 0.66, (0.001, core::f64::consts::FRAC_PI_2),
            "loop gain",
            SOURCE;
        /// `eta`; `eta/tau` is the zero of the lead-lag compensator.
        eta: f64 = Unit::Number, 0.06, (0.0, 1.0),
            "speed at which a flow comes to the common demand curve",
            SOURCE;
        /// `dt_min`, least time between two updates of a sender.
        dt_min: Duration = Unit::Duration, 1e-6, (0.0, 1.0),
            "least time between two updates of a sender",
            SOURCE;
        /// `dt_p`, time between two updates of a price.
        dt_p: Duration = Unit::Duration, 0.001, (1e-6, 1.0),
            "time between two updates of a price",
            SOURCE;
        /// `T_0`, seconds.
        t0: f64 = Unit::Duration, 0.13, (0.001, 1e6),
            "a queue counts as the load that builds it in this time",
            SOURCE;
        /// `mu`, target utilisation.
        mu: f64 = Unit::Number, 0.9, (0.01, 1.0),
            "target utilisation",
            "Andrew et al., section VII-A";
        max_start: bool = Unit::Switch, 1.0, SWITCH,
            "open flows at the spare capacity of the path instead of at its price",
            "Andrew et al., section IV-B";
        load_window: Duration = Unit::Duration, 0.01, (1e-6, 10.0),
            "time over which a router measures its load for MaxStart",
            "own choice; the paper does not say";
        paced: bool = Unit::Switch, 0.0, SWITCH,
            "space packets by the rate, besides limiting them by the window",
            "Andrew et al., section VII-A: window based";
        arithmetic: Arithmetic = Arithmetic::UNIT, 0.0, Arithmetic::RANGE,
            "how a sender computes: in double precision, or in integers with a table for the exponential",
            SOURCE;
    } also {
        pub(super) fixed: Constants = Constants::new(x_max, t, alpha, eta);
    }
}

const SOURCE: &str = "Andrew et al., section VI";

impl MaxNetParams {
    /// `D(q)` of eq 7, bit/s.
    pub(super) fn demand(&self, price: f64) -> f64 {
        self.x_max * libm::exp(-price / self.t)
    }

    /// `D^-1(x)` of eq 8, seconds; 0 from `x_max` on.
    pub(super) fn price_of(&self, rate: f64) -> f64 {
        (self.t * libm::log(self.x_max / rate)).max(0.0)
    }
}
