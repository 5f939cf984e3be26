//! The parameter table of JetMax.

use levelflow_units::{Bytes, Duration};

use crate::params::{ParamError, ParamSpec, RATES, Unit, starts_above_floor};

/// Parameters of JetMax. A link may have its own: routers read `gamma`, `interval`, `eps_p` and `clamp_n`.
#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// Share of the capacity that a router aims to fill.
    pub gamma: f64,
    /// Gain: the part of the way to the fair share that one step makes.
    pub tau: f64,
    /// Control interval of routers, by which senders size their packets.
    pub interval: Duration,
    /// Rate before the first approved proposal, bit/s.
    pub initial_rate: f64,
    /// Smallest rate, bit/s.
    pub min_rate: f64,
    /// Smallest sized packet.
    pub min_packet: Bytes,
    /// Packets that a sender tries to send per interval; 0 keeps packets at full size.
    pub packets_per_interval: f64,
    /// Prices up to this magnitude count as zero.
    pub eps_p: f64,
    /// Relative distance from the fair share up to which a rate counts as stationary.
    pub eps_s: f64,
    /// Largest price at which a proposal counts as approved.
    pub eps_a: f64,
    /// When the mixed interval is skipped.
    pub settle: Settle,
    /// Whether the mixed interval is skipped at all.
    pub ignore: bool,
    /// Whether increases are proposed first.
    pub propose: bool,
    /// Whether a router counts at least one flow in an interval with a responsive packet.
    pub clamp_n: bool,
    /// Whether a suggested bottleneck must be seen in two intervals.
    pub confirm: bool,
}

impl Params {
    /// The rate below which a sender does not fall, bit/s: `min_rate`, or two of the smallest sized packets in an
    /// interval. A packet brings back what the interval before it showed, so a sender needs one in each.
    #[must_use]
    pub fn floor(&self) -> f64 {
        if self.packets_per_interval == 0.0 {
            return self.min_rate;
        }
        self.min_rate
            .max(2.0 * self.min_packet.as_bits_f64() / self.interval.as_secs_f64())
    }
}

/// After what a sender skips the interval that mixes old and new packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// After each change of rate, proposal or bottleneck.
    PerAdjustment,
    /// After a change of bottleneck only; steps then start from the rate that the answered
    /// packet proposed, if it was approved.
    PerSwitch,
}

const OFF_ON: (f64, f64) = (0.0, 1.0);

/// The table, in the order of [`Params::from_values`].
pub(super) const SPEC: &[ParamSpec] = &[
    ParamSpec {
        name: "gamma",
        doc: "share of the capacity that a router aims to fill",
        unit: Unit::Number,
        default: 1.0,
        range: (0.01, 1.0),
        source: "Zhang 2008, section VI.6.3, figures 33-36",
    },
    ParamSpec {
        name: "tau",
        doc: "gain: the part of the way to the fair share that one step makes; below 1 it is monotone",
        unit: Unit::Number,
        default: 0.6,
        range: (0.01, 1.99),
        source: "Zhang 2008, eq 134 and theorem 15 (0 < tau < 2); value from theorem 17",
    },
    ParamSpec {
        name: "interval",
        doc: "control interval of routers; senders size packets by it",
        unit: Unit::Duration,
        default: 0.1,
        range: (1e-6, 100.0),
        source: "Zhang 2008, section VI.6.1",
    },
    ParamSpec {
        name: "initial_rate",
        doc: "rate of a flow before its first approved proposal",
        unit: Unit::Rate,
        default: 40e3,
        range: RATES,
        source: "Levelflow: small, since joiners add it to a full link; the paper gives none",
    },
    ParamSpec {
        name: "min_rate",
        doc: "smallest rate, reached when other traffic fills the link; two of the smallest packets per interval if that is more",
        unit: Unit::Rate,
        default: 1e3,
        range: RATES,
        source: "Levelflow: keeps feedback coming; the paper gives none",
    },
    ParamSpec {
        name: "min_packet",
        doc: "smallest sized packet, headers included",
        unit: Unit::Size,
        default: 48.0,
        range: (1.0, 65_535.0),
        source: "Levelflow: an IP header and the JetMax header",
    },
    ParamSpec {
        name: "packets_per_interval",
        doc: "packets a slow sender tries to send per interval by making them smaller; 0 keeps full size",
        unit: Unit::Number,
        default: 10.0,
        range: (0.0, 1e6),
        source: "Levelflow: an estimate of N is off by up to one packet per flow (Zhang 2008, eq 145)",
    },
    ParamSpec {
        name: "eps_p",
        doc: "prices up to this magnitude count as zero",
        unit: Unit::Number,
        default: 0.05,
        range: (0.0, 1.0),
        source: "Levelflow: measured prices are never exactly zero; near it, shares tell links apart better than prices",
    },
    ParamSpec {
        name: "eps_s",
        doc: "relative distance from the fair share up to which a rate counts as stationary",
        unit: Unit::Number,
        default: 0.05,
        range: (0.0, 1.0),
        source: "Levelflow: the neighbourhood of Zhang 2008, eq 136, which has no value there",
    },
    ParamSpec {
        name: "eps_a",
        doc: "largest price at which a proposal counts as approved",
        unit: Unit::Number,
        default: 0.0,
        range: (0.0, 1.0),
        source: "Zhang 2008, section VI.6.4, with equality accepted",
    },
    ParamSpec {
        name: "settle",
        doc: "after what a sender skips the interval that mixes old and new packets",
        unit: Unit::Choice(&["per-adjustment", "per-switch"]),
        default: 0.0,
        range: OFF_ON,
        source: "Zhang 2008, section VI.6.5 and VI.7.5 (per-adjustment), VI.6.3 and VI.8 (per-switch)",
    },
    ParamSpec {
        name: "ignore",
        doc: "whether the mixed interval is skipped at all; off for figure 33(b)",
        unit: Unit::Switch,
        default: 1.0,
        range: OFF_ON,
        source: "Zhang 2008, section VI.6.3",
    },
    ParamSpec {
        name: "propose",
        doc: "whether increases are proposed first; off for figures 33(b) and 34(b)",
        unit: Unit::Switch,
        default: 1.0,
        range: OFF_ON,
        source: "Zhang 2008, section VI.6.4",
    },
    ParamSpec {
        name: "clamp_n",
        doc: "whether a router counts at least one flow in an interval with a responsive packet",
        unit: Unit::Switch,
        default: 0.0,
        range: OFF_ON,
        source: "Levelflow: a safety net that the paper does not have",
    },
    ParamSpec {
        name: "confirm",
        doc: "whether a suggested bottleneck must be seen in two intervals before a sender accepts it",
        unit: Unit::Switch,
        default: 0.0,
        range: OFF_ON,
        source: "Levelflow: intervals of routers are not aligned, so single suggestions can be false; the paper does not ask",
    },
];

impl Params {
    /// Builds parameters from values in the order of the table.
    ///
    /// # Errors
    /// When `initial_rate` is below `min_rate`.
    pub(super) fn from_values(values: &[f64]) -> Result<Self, ParamError> {
        let &[
            gamma,
            tau,
            interval,
            initial_rate,
            min_rate,
            min_packet,
            packets_per_interval,
            eps_p,
            eps_s,
            eps_a,
            settle,
            ignore,
            propose,
            clamp_n,
            confirm,
        ] = values
        else {
            panic!("{} values for {} parameters", values.len(), SPEC.len())
        };
        starts_above_floor(initial_rate, min_rate)?;
        Ok(Self {
            gamma,
            tau,
            interval: Duration::from_secs_f64(interval).expect("checked against the table"),
            initial_rate,
            min_rate,
            min_packet: Bytes::new(min_packet as u64),
            packets_per_interval,
            eps_p,
            eps_s,
            eps_a,
            settle: if settle == 0.0 {
                Settle::PerAdjustment
            } else {
                Settle::PerSwitch
            },
            ignore: ignore != 0.0,
            propose: propose != 0.0,
            clamp_n: clamp_n != 0.0,
            confirm: confirm != 0.0,
        })
    }
}
