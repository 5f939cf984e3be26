//! The parameter table of JetMax.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{RATES, SWITCH, Unit, choices, parameters};

parameters! {
    /// Parameters of JetMax. A link may have its own: routers read `gamma`, `interval`, `eps_p` and `clamp_n`.
    pub struct Params {
        gamma: f64 = Unit::Number, 1.0, (0.01, 1.0),
            "share of the capacity that a router aims to fill",
            "Zhang 2008, section VI.6.3, figures 33-36";
        tau: f64 = Unit::Number, 0.6, (0.01, 1.99),
            "gain: the part of the way to the fair share that one step makes; below 1 it is monotone",
            "Zhang 2008, eq 134 and theorem 15 (0 < tau < 2); value from theorem 17";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "control interval of routers; senders size packets by it",
            "Zhang 2008, section VI.6.1";
        initial_rate: f64 = Unit::Rate, 40e3, RATES,
            "rate of a flow before its first approved proposal",
            "Levelflow: small, since joiners add it to a full link; the paper gives none";
        min_rate: f64 = Unit::Rate, 1e3, RATES,
            "smallest rate, reached when other traffic fills the link; two of the smallest packets per interval if that is more",
            "Levelflow: keeps feedback coming; the paper gives none";
        min_packet: Bytes = Unit::Size, 48.0, (1.0, 65_535.0),
            "smallest sized packet, headers included",
            "Levelflow: an IP header and the JetMax header";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets a slow sender tries to send per interval by making them smaller; 0 keeps full size",
            "Levelflow: an estimate of N is off by up to one packet per flow (Zhang 2008, eq 145)";
        eps_p: f64 = Unit::Number, 0.05, (0.0, 1.0),
            "prices up to this magnitude count as zero",
            "Levelflow: measured prices are never exactly zero; near it, shares tell links apart better than prices";
        eps_s: f64 = Unit::Number, 0.05, (0.0, 1.0),
            "relative distance from the fair share up to which a rate counts as stationary",
            "Levelflow: the neighbourhood of Zhang 2008, eq 136, which has no value there";
        eps_a: f64 = Unit::Number, 0.0, (0.0, 1.0),
            "largest price at which a proposal counts as approved",
            "Zhang 2008, section VI.6.4, with equality accepted";
        settle: Settle = Settle::UNIT, 0.0, Settle::RANGE,
            "after what a sender skips the interval that mixes old and new packets",
            "Zhang 2008, section VI.6.5 and VI.7.5 (per-adjustment), VI.6.3 and VI.8 (per-switch)";
        ignore: bool = Unit::Switch, 1.0, SWITCH,
            "whether the mixed interval is skipped at all; off for figure 33(b)",
            "Zhang 2008, section VI.6.3";
        propose: bool = Unit::Switch, 1.0, SWITCH,
            "whether increases are proposed first; off for figures 33(b) and 34(b)",
            "Zhang 2008, section VI.6.4";
        clamp_n: bool = Unit::Switch, 0.0, SWITCH,
            "whether a router counts at least one flow in an interval with a responsive packet",
            "Levelflow: a safety net that the paper does not have";
        confirm: bool = Unit::Switch, 0.0, SWITCH,
            "whether a suggested bottleneck must be seen in two intervals before a sender accepts it",
            "Levelflow: intervals of routers are not aligned, so single suggestions can be false; the paper does not ask";
        hysteresis: bool = Unit::Switch, 0.0, SWITCH,
            "whether the bottleneck keeps reporting until another router is overloaded, or fuller and of a smaller share",
            "Levelflow: by eq 135 alone the fullest router reports, whatever its share; the paper does not ask";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
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

    /// The rate below which a sender does not fall, bit/s.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.sizing().floor(self.min_rate)
    }
}

choices! {
    /// After what a sender skips the interval that mixes old and new packets.
    pub enum Settle {
        /// After each change of rate, proposal or bottleneck.
        PerAdjustment = "per-adjustment",
        /// After a change of bottleneck only; steps then start from the rate that the acknowledged
        /// packet proposed, if it was approved.
        PerSwitch = "per-switch",
    }
}
