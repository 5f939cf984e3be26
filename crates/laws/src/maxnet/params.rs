//! MaxNet's parameter table.

use levelflow_units::Duration;

use super::fixed::Constants;
use crate::params::{ParamSpec, Unit, seconds};

/// How a sender computes eq 10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// In double precision.
    Float,
    /// In integers, with a table for the exponential, as a kernel has to (section VI).
    Fixed,
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaxNetParams {
    /// `x_max`, bit/s.
    pub x_max: f64,
    /// `T` of eq 7, seconds.
    pub t: f64,
    /// `alpha`, loop gain.
    pub alpha: f64,
    /// `eta`; `eta/tau` is the zero of the lead-lag compensator.
    pub eta: f64,
    /// `dt_min`, least time between two updates of a sender.
    pub dt_min: Duration,
    /// `dt_p`, time between two updates of a price.
    pub dt_p: Duration,
    /// `T_0`, seconds.
    pub t0: f64,
    /// `mu`, target utilisation.
    pub mu: f64,
    /// Whether flows open with MaxStart.
    pub max_start: bool,
    /// Time over which a router measures its load for MaxStart.
    pub load_window: Duration,
    /// Whether packets are spaced by the rate, besides being limited by the window.
    pub paced: bool,
    /// How a sender computes eq 10.
    pub arithmetic: Arithmetic,
    pub(super) fixed: Constants,
}

const SOURCE: &str = "Andrew et al., section VI";

pub(super) const TABLE: &[ParamSpec] = &[
    ParamSpec {
        name: "x_max",
        doc: "demand at price zero: the largest rate",
        unit: Unit::Rate,
        default: 1e15,
        range: (1e6, 1e15),
        source: SOURCE,
    },
    ParamSpec {
        name: "t",
        doc: "price that divides the demand by e",
        unit: Unit::Duration,
        default: 0.4,
        range: (0.001, 0.5),
        source: SOURCE,
    },
    ParamSpec {
        name: "alpha",
        doc: "loop gain",
        unit: Unit::Number,
        default: 0.66,
        range: (0.001, core::f64::consts::FRAC_PI_2),
        source: SOURCE,
    },
    ParamSpec {
        name: "eta",
        doc: "speed at which a flow comes to the common demand curve",
        unit: Unit::Number,
        default: 0.06,
        range: (0.0, 1.0),
        source: SOURCE,
    },
    ParamSpec {
        name: "dt_min",
        doc: "least time between two updates of a sender",
        unit: Unit::Duration,
        default: 1e-6,
        range: (0.0, 1.0),
        source: SOURCE,
    },
    ParamSpec {
        name: "dt_p",
        doc: "time between two updates of a price",
        unit: Unit::Duration,
        default: 0.001,
        range: (1e-6, 1.0),
        source: SOURCE,
    },
    ParamSpec {
        name: "t0",
        doc: "a queue counts as the load that builds it in this time",
        unit: Unit::Duration,
        default: 0.13,
        range: (0.001, 1e6),
        source: SOURCE,
    },
    ParamSpec {
        name: "mu",
        doc: "target utilisation",
        unit: Unit::Number,
        default: 0.9,
        range: (0.01, 1.0),
        source: "Andrew et al., section VII-A",
    },
    ParamSpec {
        name: "max_start",
        doc: "open flows at the spare capacity of the path instead of at its price",
        unit: Unit::Switch,
        default: 1.0,
        range: (0.0, 1.0),
        source: "Andrew et al., section IV-B",
    },
    ParamSpec {
        name: "load_window",
        doc: "time over which a router measures its load for MaxStart",
        unit: Unit::Duration,
        default: 0.01,
        range: (1e-6, 10.0),
        source: "own choice; the paper does not say",
    },
    ParamSpec {
        name: "paced",
        doc: "space packets by the rate, besides limiting them by the window",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "Andrew et al., section VII-A: window based",
    },
    ParamSpec {
        name: "arithmetic",
        doc: "how a sender computes: in double precision, or in integers with a table for the exponential",
        unit: Unit::Choice(&["float", "fixed"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: SOURCE,
    },
];

impl MaxNetParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[
            x_max,
            t,
            alpha,
            eta,
            dt_min,
            dt_p,
            t0,
            mu,
            max_start,
            load_window,
            paced,
            arithmetic,
        ] = values
        else {
            panic!("one value per row of the table");
        };
        Self {
            x_max,
            t,
            alpha,
            eta,
            dt_min: seconds(dt_min),
            dt_p: seconds(dt_p),
            t0,
            mu,
            max_start: max_start != 0.0,
            load_window: seconds(load_window),
            paced: paced != 0.0,
            arithmetic: if arithmetic == 0.0 {
                Arithmetic::Float
            } else {
                Arithmetic::Fixed
            },
            fixed: Constants::new(x_max, t, alpha, eta),
        }
    }

    /// `D(q)` of eq 7, bit/s.
    pub(super) fn demand(&self, price: f64) -> f64 {
        self.x_max * libm::exp(-price / self.t)
    }

    /// `D^-1(x)` of eq 8, seconds; 0 from `x_max` on.
    pub(super) fn price_of(&self, rate: f64) -> f64 {
        (self.t * libm::log(self.x_max / rate)).max(0.0)
    }
}
