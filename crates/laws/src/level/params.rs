//! The parameter table of Level.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "control interval of routers; senders use it to choose packet sizes",
    "value of JetMax, Zhang 2008, section VI.6.1"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// Control interval of routers; senders use it to choose packet sizes.
        interval: Duration = INTERVAL;
        initial_rate: f64 = Unit::Rate, 40e3, RATE_RANGE,
            "rate of a flow before its first approved proposal",
            "value of JetMax";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, used when other traffic fills the link; a lower value becomes two packets of the smallest size per interval",
            "value of JetMax";
        min_packet: Bytes = Unit::Size, 52.0, (1.0, 65_535.0),
            "smallest packet size of slow senders, headers included; a value below the size of the headers plus 1 B becomes this size",
            "an IP header and the header of Level";
        packets_per_interval: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets per interval that a slow sender sends; it reduces the packet size for this; 0 for packets of full size",
            "value of JetMax";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.95, (0.01, 1.0),
            "target load of a link as a fraction of its capacity; the remaining capacity is headroom for new flows",
            "Levelflow";
        floor: f64 = Unit::Number, 0.0, (0.0, 1.0),
            "fraction of the capacity that other traffic cannot take from the flows; 0: other traffic has precedence",
            "Levelflow";
        /// Control interval of routers; senders use it to choose packet sizes.
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
