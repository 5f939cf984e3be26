//! Kelly control's parameter table.

use levelflow_units::{Duration, Rate};

use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.04,
    (100e-6, 100.0),
    "averaging time of routers, and time between two steps of a sender",
    "Levelflow: Zhang 2008, fig 15, agrees with eq 3 for values between 35 and 46 ms"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// `kappa` of eq 1: gain.
        kappa: f64 = Unit::Number, 0.5, (0.001, 10.0),
            "gain; on one link with a round-trip time of 0, 1, 2, 3 intervals, rates are stable below 2, 1, 0.618, 0.445",
            "Zhang 2008, fig 15 and eq 3";
        /// `omega` of eq 1: payment of a flow.
        omega: Rate = Unit::Rate, 20e3, RATE_RANGE,
            "payment of a flow in equilibrium: its rate times the price of its path",
            "Zhang 2008, fig 15";
        /// Averaging time of routers, and time between two steps of a sender.
        interval: Duration = INTERVAL;
        initial_rate: Rate = Unit::Rate, 1e6, RATE_RANGE,
            "sending rate before the first feedback",
            "Levelflow: at least a packet in each interval";
        min_rate: Rate = Unit::Rate, 100e3, RATE_RANGE,
            "floor of the sending rate",
            "Levelflow: a sender needs packets to receive feedback, and rates of eq 1 may be negative";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        /// Averaging time of routers, and time between two steps of a sender.
        interval: Duration = INTERVAL;
    }
}
