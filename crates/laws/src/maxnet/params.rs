//! MaxNet's parameter table.

use levelflow_units::Duration;

use super::fixed::Constants;
use crate::params::{ParamSpec, SWITCH_RANGE, Unit, choices, parameters, row};

choices! {
    /// Arithmetic with which a sender computes eq 10.
    pub enum Arithmetic {
        /// Double precision.
        Float = "float",
        /// Integers, with a table for the exponential, as in a kernel (section VI).
        Fixed = "fixed",
    }
}

const X_MAX: ParamSpec = row!(
    x_max,
    Unit::Rate,
    1e15,
    (1e6, 1e15),
    "demand at price zero: the largest rate",
    SOURCE
);
const T: ParamSpec = row!(
    t,
    Unit::Duration,
    0.4,
    (0.001, 0.5),
    "price increase that divides the demand by e",
    SOURCE
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// `x_max`: demand at price zero, bit/s.
        x_max: f64 = X_MAX;
        /// Price scale `T`, seconds: a price increase of `T` divides the demand by e (eq 7).
        t: f64 = T;
        /// `alpha`: loop gain.
        alpha: f64 = Unit::Number, 0.66, (0.001, core::f64::consts::FRAC_PI_2),
            "loop gain",
            SOURCE;
        /// Convergence speed `eta`. The zero of the lead-lag compensator is `eta/tau`.
        eta: f64 = Unit::Number, 0.06, (0.0, 1.0),
            "speed at which a flow converges to the common demand curve",
            SOURCE;
        /// `dt_min`: shortest time between two updates of a sender.
        dt_min: Duration = Unit::Duration, 1e-6, (0.0, 1.0),
            "shortest time between two updates of a sender",
            SOURCE;
        max_start: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "start flows at the spare capacity of the path instead of the demand at its price",
            "Andrew et al., section IV-B";
        paced: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "pace packets at the rate, in addition to the window",
            "Andrew et al., section VII-A: window based";
        arithmetic: Arithmetic = Arithmetic::UNIT, 0.0, Arithmetic::RANGE,
            "arithmetic of a sender: double precision, or integers with a table for the exponential function",
            SOURCE;
    } also {
        pub(super) fixed: Constants = Constants::new(x_max, t, alpha, eta);
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        /// `x_max`: demand at price zero, bit/s.
        x_max: f64 = X_MAX;
        /// Price scale `T`, seconds: a price increase of `T` divides the demand by e (eq 7).
        t: f64 = T;
        /// `dt_p`: time between two updates of a price.
        dt_p: Duration = Unit::Duration, 0.001, (1e-6, 1.0),
            "time between two updates of a price",
            SOURCE;
        /// `T_0`: time constant of queues, seconds.
        t0: f64 = Unit::Duration, 0.13, (0.001, 1e6),
            "time constant: the load equivalent of a queue is the queue divided by this time",
            SOURCE;
        /// `mu`: target utilisation.
        mu: f64 = Unit::Number, 0.9, (0.01, 1.0),
            "target utilisation",
            "Andrew et al., section VII-A";
        load_window: Duration = Unit::Duration, 0.01, (1e-6, 10.0),
            "time over which a router measures its load for MaxStart",
            "Levelflow; the paper has no value";
    }
}

const SOURCE: &str = "Andrew et al., section VI";

impl Params {
    /// Returns `D(q)` of eq 7, the demand at the price `q`, in bit/s.
    pub(super) fn demand(&self, price: f64) -> f64 {
        self.x_max * libm::exp(-price / self.t)
    }
}

impl RouterParams {
    /// Returns `D^-1(x)` of eq 8, the price at which the demand is `rate`, in seconds; 0 for `x_max` and above.
    pub(super) fn price_of(&self, rate: f64) -> f64 {
        (self.t * libm::log(self.x_max / rate)).max(0.0)
    }
}
