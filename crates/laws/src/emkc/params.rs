//! EMKC's parameter table.

use levelflow_units::{Duration, Rate};

use crate::params::{ParamSpec, RATE_RANGE, Unit, choices, parameters, row};

choices! {
    /// Sender's estimate of the rate that the router has averaged.
    pub enum Reference {
        /// Average rate of exactly the packets that the router has averaged (eq 124).
        Proper = "proper",
        /// Rate at which the acknowledged packet was sent (section V.4.3.1).
        Naive = "naive",
    }
}

choices! {
    /// Sender's response when another router reports the largest price (section V.4.4).
    pub enum Switch {
        /// Switches to the other router if the prices differ by more than `delta`, then holds the rate for one
        /// round-trip time.
        Hold = "hold",
        /// Reacts to any feedback with a larger sequence number than the last, as section V.4.1 specifies.
        None = "none",
    }
}

/// Row of `interval`, also of [`emkc_avq`](crate::emkc_avq).
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
        /// Additive increase per step, `alpha` of eq 61.
        alpha: Rate = Unit::Rate, 200e3, RATE_RANGE,
            "additive increase per step; each flow converges to C/N + alpha/beta",
            "Zhang 2008, section VI.3.3";
        /// Multiplicative gain, `beta` of eq 61.
        beta: f64 = Unit::Number, 0.5, (0.001, 1.999),
            "gain; stable between 0 and 2, monotone up to 1",
            "Zhang 2008, section VI.3.3 and theorem 9";
        initial_rate: Rate = Unit::Rate, 100e3, RATE_RANGE,
            "sending rate before the first feedback",
            "Zhang 2008, section V.4.4";
        min_rate: Rate = Unit::Rate, 1e3, RATE_RANGE,
            "floor of the sending rate",
            "own choice: an idle sender receives no feedback";
        sender: Reference = Reference::UNIT, 0.0, Reference::RANGE,
            "reference rate: averaged over the router's interval, or echoed from the acknowledged packet",
            "Zhang 2008, section V.4.3";
        switch: Switch = Switch::UNIT, 0.0, Switch::RANGE,
            "a change of bottleneck: confirm and hold one round-trip time, or react to any router with a larger sequence number",
            "Zhang 2008, section V.4.4";
        delta: f64 = Unit::Number, 0.01, (0.0, 1.0),
            "smallest price difference that switches the bottleneck",
            "Zhang 2008, section V.4.4";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. A link may have its own.
    pub struct RouterParams {
        /// Router averaging interval `Delta`.
        interval: Duration = INTERVAL;
    }
}
