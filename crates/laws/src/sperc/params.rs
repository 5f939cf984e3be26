//! The parameter table of s-PERC.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

const TIMEOUT: ParamSpec = row!(
    timeout,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "first time between two resets of MaxSat; it then doubles and halves with the longest round; senders size packets by it",
    "the authors' ns-2 scripts, wide area"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// First time between two resets of MaxSat; it then doubles and halves with the longest round; senders size
        /// packets by it.
        timeout: Duration = TIMEOUT;
        initial_rate: f64 = Unit::Rate, 400e3, RATE_RANGE,
            "rate of the smallest packets that request the first allocation of each hop",
            "Levelflow: one hop per packet, a few milliseconds each; one packet of the authors serves all hops";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, also before the first allocations; two of the smallest packets per timeout if that is more",
            "as JetMax; the authors' ns-2 code has 100 kb/s";
        min_packet: Bytes = Unit::Size, 52.0, (1.0, 65_535.0),
            "smallest sized packet, headers included",
            "room for an IP header and the header of s-PERC";
        packets_per_timeout: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets a slow sender tries to send in the first timeout by making them smaller; 0 keeps full size",
            "as JetMax";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. A link may have its own.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.94, (0.01, 1.0),
            "share of the capacity that a router allocates; the rest is for ACKs and headroom",
            "the authors' ns-2 scripts, wide area: 4 % for control packets, 2 % headroom";
        /// First time between two resets of MaxSat; it then doubles and halves with the longest round; senders size
        /// packets by it.
        timeout: Duration = TIMEOUT;
        window: Duration = Unit::Duration, 0.5, (1e-6, 100.0),
            "time over which a router looks for the longest round, or two timeouts if that is longer",
            "the authors' ns-2 scripts, wide area; they have no lower end";
    }
}

impl Params {
    #[inline]
    pub(super) const fn sizing(&self) -> Sizing {
        Sizing {
            interval: self.timeout,
            packets: self.packets_per_timeout,
            smallest: self.min_packet,
        }
    }

    /// Returns the lowest rate of a sender, bit/s.
    #[must_use]
    pub fn floor(&self) -> f64 {
        self.sizing().floor(self.min_rate)
    }
}
