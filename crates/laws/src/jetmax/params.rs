//! The parameter table of JetMax.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, SWITCH_RANGE, Unit, choices, parameters, row};

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "control interval of routers; senders use it to choose packet sizes",
    "Zhang 2008, section VI.6.1"
);
const EPS_P: ParamSpec = row!(
    eps_p,
    Unit::Number,
    0.05,
    (0.0, 1.0),
    "prices up to this magnitude count as zero",
    "Levelflow: measured prices are never exactly zero; near zero, shares distinguish links better than prices"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        tau: f64 = Unit::Number, 0.6, (0.01, 1.99),
            "gain: each step is this fraction of the distance to the fair share; below 1, rates converge monotonically",
            "Zhang 2008, eq 134 and theorem 15 (0 < tau < 2); value from theorem 17";
        /// Control interval of routers; senders use it to choose packet sizes.
        interval: Duration = INTERVAL;
        initial_rate: f64 = Unit::Rate, 40e3, RATE_RANGE,
            "rate of a flow before its first approved proposal",
            "Levelflow: small, because a new flow adds this rate to a full link; the paper has no value";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, used when other traffic fills the link; a lower value becomes two packets of the smallest size per interval",
            "Levelflow: flows need packets to receive feedback; the paper has no value";
        min_packet: Bytes = Unit::Size, 48.0, (1.0, 65_535.0),
            "smallest packet size of slow senders, headers included; a value below the size of the headers plus 1 B becomes this size",
            "Levelflow: an IP header and the JetMax header";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets per interval that a slow sender sends; it reduces the packet size for this; 0 for packets of full size",
            "Levelflow: an estimate of N is off by up to one packet per flow (Zhang 2008, eq 145)";
        /// Prices up to this magnitude count as zero.
        eps_p: f64 = EPS_P;
        eps_s: f64 = Unit::Number, 0.05, (0.0, 1.0),
            "largest relative distance from the fair share at which a rate counts as stationary",
            "Levelflow: the neighbourhood of Zhang 2008, eq 136, for which the paper has no value";
        eps_a: f64 = Unit::Number, 0.0, (0.0, 1.0),
            "largest price that approves a proposal",
            "Zhang 2008, section VI.6.4, with equality accepted";
        settle: Settle = Settle::UNIT, 0.0, Settle::RANGE,
            "changes after which a sender ignores the interval that contains packets from before and after the change",
            "Zhang 2008, section VI.6.5 and VI.7.5 (per-adjustment), VI.6.3 and VI.8 (per-switch)";
        ignore: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "ignore the interval with packets from before and after a change; off for figure 33(b)",
            "Zhang 2008, section VI.6.3";
        propose: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "propose an increase to routers before increasing the rate; off for figures 33(b) and 34(b)",
            "Zhang 2008, section VI.6.4";
        confirm: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "switch to another bottleneck only after it was suggested in two intervals",
            "Levelflow: a single suggestion can be false, because intervals of routers are not aligned; not in the paper";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "target load of a link as a fraction of its capacity",
            "Zhang 2008, section VI.6.3, figures 33-36";
        /// Control interval of routers; senders use it to choose packet sizes.
        interval: Duration = INTERVAL;
        /// Prices up to this magnitude count as zero.
        eps_p: f64 = EPS_P;
        clamp_n: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "count at least one flow in an interval with a responsive packet",
            "Levelflow: a safety net that the paper does not have";
        hysteresis: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "report the current bottleneck until another router is overloaded, or has a larger price and a smaller share",
            "Levelflow: in eq 135, the router with the largest price reports, even if its share is larger; not in the paper";
    }
}

impl Params {
    #[inline]
    pub(super) const fn sizing(&self) -> Sizing {
        Sizing {
            interval: self.interval,
            packets: self.packets_per_interval,
            smallest: self.min_packet,
        }
    }

    /// Returns the lowest rate of a sender, bit/s.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.sizing().floor(self.min_rate)
    }
}

choices! {
    /// Changes after which a sender ignores one interval: the interval in which some packets were sent before the
    /// change, and some after it.
    pub enum Settle {
        /// After each change of rate, proposal or bottleneck.
        PerAdjustment = "per-adjustment",
        /// After a change of bottleneck. Each step starts from the rate that the acknowledged packet proposed, if this
        /// rate was approved.
        PerSwitch = "per-switch",
    }
}
