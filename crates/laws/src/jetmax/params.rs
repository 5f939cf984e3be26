//! The parameter table of JetMax.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, SWITCH_RANGE, Unit, choices, parameters, row};

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "control interval of routers; senders size packets by it",
    "Zhang 2008, section VI.6.1"
);
const EPS_P: ParamSpec = row!(
    eps_p,
    Unit::Number,
    0.05,
    (0.0, 1.0),
    "prices up to this magnitude count as zero",
    "Levelflow: measured prices are never exactly zero; near it, shares distinguish links better than prices"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        tau: f64 = Unit::Number, 0.6, (0.01, 1.99),
            "gain: fraction of the distance to the fair share per step; below 1 it is monotone",
            "Zhang 2008, eq 134 and theorem 15 (0 < tau < 2); value from theorem 17";
        /// Control interval of routers; senders size packets by it.
        interval: Duration = INTERVAL;
        initial_rate: f64 = Unit::Rate, 40e3, RATE_RANGE,
            "rate of a flow before its first approved proposal",
            "Levelflow: small, since joiners add it to a full link; the paper gives none";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, reached when other traffic fills the link; two of the smallest packets per interval if that is more",
            "Levelflow: keeps feedback coming; the paper gives none";
        min_packet: Bytes = Unit::Size, 48.0, (1.0, 65_535.0),
            "smallest sized packet, headers included",
            "Levelflow: an IP header and the JetMax header";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets a slow sender tries to send per interval by making them smaller; 0 keeps full size",
            "Levelflow: an estimate of N is off by up to one packet per flow (Zhang 2008, eq 145)";
        /// Prices up to this magnitude count as zero.
        eps_p: f64 = EPS_P;
        eps_s: f64 = Unit::Number, 0.05, (0.0, 1.0),
            "relative distance from the fair share up to which a rate counts as stationary",
            "Levelflow: the neighbourhood of Zhang 2008, eq 136, which has no value there";
        eps_a: f64 = Unit::Number, 0.0, (0.0, 1.0),
            "largest price at which a proposal counts as approved",
            "Zhang 2008, section VI.6.4, with equality accepted";
        settle: Settle = Settle::UNIT, 0.0, Settle::RANGE,
            "changes after which a sender skips the interval that mixes old and new packets",
            "Zhang 2008, section VI.6.5 and VI.7.5 (per-adjustment), VI.6.3 and VI.8 (per-switch)";
        ignore: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "skip the mixed interval; off for figure 33(b)",
            "Zhang 2008, section VI.6.3";
        propose: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "propose increases first; off for figures 33(b) and 34(b)",
            "Zhang 2008, section VI.6.4";
        confirm: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "accept a suggested bottleneck only after suggestions in two intervals",
            "Levelflow: intervals of routers are not aligned, so single suggestions can be false; not in the paper";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. A link may have its own.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "share of the capacity that a router aims to fill",
            "Zhang 2008, section VI.6.3, figures 33-36";
        /// Control interval of routers; senders size packets by it.
        interval: Duration = INTERVAL;
        /// Prices up to this magnitude count as zero.
        eps_p: f64 = EPS_P;
        clamp_n: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "count at least one flow in an interval with a responsive packet",
            "Levelflow: a safety net that the paper does not have";
        hysteresis: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "let the bottleneck report until another router is overloaded, or fuller and with a smaller share",
            "Levelflow: by eq 135 alone the fullest router reports, whatever its share; not in the paper";
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
    /// Changes after which a sender skips the interval that mixes old and new packets.
    pub enum Settle {
        /// After each change of rate, proposal or bottleneck.
        PerAdjustment = "per-adjustment",
        /// After a change of bottleneck only. Steps then start from the rate that the acknowledged packet proposed, if
        /// that rate was approved.
        PerSwitch = "per-switch",
    }
}
