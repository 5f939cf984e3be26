//! The parameter table of s-PERC.

use levelflow_units::{Bytes, Duration};

use crate::paced::Sizing;
use crate::params::{ParamSpec, RATE_RANGE, Unit, parameters, row};

const TIMEOUT: ParamSpec = row!(
    timeout,
    Unit::Duration,
    0.1,
    (1e-6, 100.0),
    "initial time between two resets of MaxSat; routers double or halve it as the longest time between two updates of a flow changes; senders choose packet sizes from the initial time",
    "the authors' ns-2 scripts, wide area"
);

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        /// Initial time between two resets of MaxSat, the largest allocation of a satisfied flow. Routers then double
        /// or halve this time to follow the longest round, in which a flow updates all its hops. Senders use the
        /// initial time to choose packet sizes.
        timeout: Duration = TIMEOUT;
        initial_rate: f64 = Unit::Rate, 400e3, RATE_RANGE,
            "sending rate while a flow requests the first allocation of each hop, in packets of the smallest size",
            "Levelflow: each hop needs its own packet, and at this rate a packet is sent every few milliseconds; in the paper, one packet serves all hops";
        min_rate: f64 = Unit::Rate, 1e3, RATE_RANGE,
            "smallest rate, also before the first allocations; a lower value becomes two packets of the smallest size per timeout",
            "value of JetMax; the authors' ns-2 code has 100 kb/s";
        min_packet: Bytes = Unit::Size, 52.0, (1.0, 65_535.0),
            "smallest packet size of slow senders, headers included; a value below the size of the headers plus 1 B becomes this size",
            "an IP header and the header of s-PERC";
        packets_per_timeout: f64 = Unit::Number, 10.0, (0.0, 1e6),
            "packets per initial timeout that a slow sender sends; it reduces the packet size for this; 0 for packets of full size",
            "value of JetMax";
    } where {
        initial_rate: initial_rate >= min_rate, "must be at least min_rate";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.94, (0.01, 1.0),
            "fraction of the capacity that a router allocates to flows; the remaining capacity is for ACKs and headroom",
            "the authors' ns-2 scripts, wide area: 4 % for control packets, 2 % headroom";
        /// Initial time between two resets of MaxSat, the largest allocation of a satisfied flow. Routers then double
        /// or halve this time to follow the longest round, in which a flow updates all its hops. Senders use the
        /// initial time to choose packet sizes.
        timeout: Duration = TIMEOUT;
        window: Duration = Unit::Duration, 0.5, (1e-6, 100.0),
            "time over which a router measures the longest round; at least two timeouts",
            "the authors' ns-2 scripts, wide area; they have no lower bound";
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
