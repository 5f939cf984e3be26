//! EMKC's parameter table.

use levelflow_units::{Duration, Rate};

use crate::params::{ParamSpec, RATE_RANGE, Unit, choices, parameters, row};

choices! {
    /// Reference rate of a step: the rate of the packets from which the router computed its price.
    pub enum Reference {
        /// Average rate of exactly these packets, measured by the sender (eq 124).
        Proper = "proper",
        /// Approximation: rate at which the acknowledged packet was sent (section V.4.3.1).
        Naive = "naive",
    }
}

choices! {
    /// Response of a sender when another router reports the largest price (section V.4.4).
    pub enum Switch {
        /// Switches to the other router if the prices differ by more than `delta`. Then the rate is constant for one
        /// round-trip time.
        Hold = "hold",
        /// Reacts to feedback of any router if the sequence number in the feedback exceeds the last sequence number
        /// (section V.4.1).
        None = "none",
    }
}

/// Row of `interval`. [`emkc_avq`](crate::emkc_avq) uses it, too.
pub(crate) const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (100e-6, 100.0),
    "router averaging interval",
    "Zhang 2008, section VI.3.3"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// `alpha` of eq 61: additive increase per step.
        alpha: Rate = Unit::Rate, 200e3, RATE_RANGE,
            "additive increase per step; each flow converges to C/N + alpha/beta",
            "Zhang 2008, section VI.3.3";
        /// `beta` of eq 61: multiplicative gain.
        beta: f64 = Unit::Number, 0.5, (0.001, 1.999),
            "gain; rates are stable between 0 and 2, and converge monotonically up to 1",
            "Zhang 2008, section VI.3.3 and theorem 9";
        initial_rate: Rate = Unit::Rate, 100e3, RATE_RANGE,
            "sending rate before the first feedback",
            "Zhang 2008, section V.4.4";
        min_rate: Rate = Unit::Rate, 1e3, RATE_RANGE,
            "floor of the sending rate",
            "Levelflow: a sender needs packets to receive feedback";
        sender: Reference = Reference::UNIT, 0.0, Reference::RANGE,
            "reference rate of a step: average over the router's interval, or rate of the acknowledged packet",
            "Zhang 2008, section V.4.3";
        switch: Switch = Switch::UNIT, 0.0, Switch::RANGE,
            "change of bottleneck: switch if prices differ by `delta`, and keep the rate for one round-trip time; or react to any router with a larger sequence number",
            "Zhang 2008, section V.4.4";
        delta: f64 = Unit::Number, 0.01, (0.0, 1.0),
            "smallest difference of prices at which a sender switches its bottleneck",
            "Zhang 2008, section V.4.4";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        /// Router averaging interval `Delta`.
        interval: Duration = INTERVAL;
    }
}
