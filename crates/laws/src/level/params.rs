//! The parameter table of Level.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "control interval of routers; senders size packets by it",
    "that of JetMax, Zhang 2008, section VI.6.1"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// Control interval of routers; senders size packets by it.
        interval: Duration = INTERVAL;
        initial_rate: f64 = Unit::Rate, 40e3, RATE_RANGE,
            "rate of a flow before its first approved proposal",
            "as JetMax";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, reached when other traffic fills the link; two of the smallest packets per interval if that is more",
            "as JetMax";
        min_packet: Bytes = Unit::Size, 52.0, (1.0, 65_535.0),
            "smallest sized packet, headers included",
            "room for an IP header and the header of Level";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets a slow sender tries to send per interval by making them smaller; 0 keeps full size",
            "as JetMax";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. A link may have its own.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.95, (0.01, 1.0),
            "share of the capacity that a router aims to fill; the rest is headroom for flows that begin unannounced",
            "Levelflow";
        /// Control interval of routers; senders size packets by it.
        interval: Duration = INTERVAL;
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
