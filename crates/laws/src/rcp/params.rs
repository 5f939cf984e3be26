//! RCP's parameter table.

use levelflow_units::{Bytes, Duration};

use crate::header::LONGEST_TIME;
use crate::params::{SWITCH_RANGE, Unit, choices, parameters};

choices! {
    /// Round-trip time used in a router's rate update.
    pub enum RttEstimate {
        /// `d_0`: moving average over packets.
        Mean = "mean",
        /// Largest round-trip time `D_max` in a window of length `D_max`.
        Max = "max",
        /// Average per interval, weighted by bytes, from later code of the authors. It rises quickly and falls slowly.
        Interval = "interval",
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values. Senders have no parameters.
    pub struct RouterParams {
        /// `alpha` of eq 2: gain on spare capacity.
        alpha: f64 = Unit::Number, 0.1, (0.0, 10.0),
            "gain on spare capacity",
            "Dukkipati et al. 2005, section III";
        /// `beta` of eq 2: gain on the queue.
        beta: f64 = Unit::Number, 1.0, (0.0, 10.0),
            "gain on the queue",
            "Dukkipati et al. 2005, section III";
        /// Limit on the control interval `T`. `T` is the smaller of this limit and the round-trip time.
        interval: Duration = Unit::Duration, 0.01, (1e-6, 100.0),
            "longest time between two updates of the offered rate",
            "Dukkipati et al. 2005, section III";
        initial: f64 = Unit::Number, 0.05, (1e-6, 1.0),
            "first offered rate as a fraction of the capacity",
            "Dukkipati et al. 2005, fig 5";
        initial_rtt: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "round-trip time assumed before the first packet with a round-trip time",
            "Levelflow; set it to the round-trip time of the scenario";
        gain: f64 = Unit::Number, 0.02, (1e-6, 1.0),
            "weight of one packet in the average round-trip time",
            "Dukkipati et al. 2005, section II-C.4";
        longest_rtt: f64 = Unit::Duration, 10.0, (1e-6, LONGEST_TIME as f64),
            "limit on round-trip times in headers; 100 s for no limit",
            "Levelflow: a wrong round-trip time in a header would slow all flows down";
        min_per_rtt: Bytes = Unit::Size, 10.0, (1.0, 1e6),
            "floor of the offered rate, as a size per round-trip time",
            "0.01 packets of 1000 B, as in a published ns-2 port";
        rtt: RttEstimate = RttEstimate::UNIT, 0.0, RttEstimate::RANGE,
            "round-trip time in the update: average over packets, largest value, or average per interval",
            "Dukkipati et al. 2005, section II; max: Zhang 2008, section VI.3.4; interval: the authors' ns-2 code";
        loss_aware: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "count dropped bytes as queue",
            "Dukkipati et al. 2005, section II-C.2";
    }
}
