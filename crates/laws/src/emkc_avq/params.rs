//! Parameter tables of EMKC-AVQ. Senders have the parameters of EMKC. Routers have the interval of EMKC and two
//! parameters of the virtual capacity.

use levelflow_units::Duration;

use crate::emkc::params::INTERVAL;
use crate::emkc::{self, Params};
use crate::params::{ParamSpec, Unit, parameters, position};

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        /// Router averaging interval `Delta`.
        interval: Duration = INTERVAL;
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "target load as a fraction of the capacity",
            "Zhang 2008, fig 24(e): two flows reach half of the capacity each";
        /// `tau` of eq 130: gain of the virtual capacity.
        tau: f64 = Unit::Number, 0.2, (0.0, 10.0),
            "gain of the virtual capacity",
            "Zhang 2008, section VI.3.3";
    }
}

/// Parameter table of senders.
pub(super) const TABLE: [ParamSpec; Params::TABLE.len()] = {
    let mut rows = emkc::Params::TABLE;
    rows[position(&rows, "alpha")].doc =
        "additive increase per step; the virtual capacity converges to gamma C - N alpha/beta";
    rows
};
