//! RCP's parameter table.

use levelflow_units::{Bytes, Duration};

use crate::header::LONGEST_TIME;
use crate::params::{SWITCH_RANGE, Unit, choices, parameters};

choices! {
    /// Round-trip time used in a router's rate update.
    pub enum RttEstimate {
        /// `d_0`, the moving average over packets.
        Mean = "mean",
        /// `D_max`, the largest round-trip time in the last control interval of eq 1.
        Max = "max",
        /// Later average of the authors, per interval and weighted by bytes. It rises quickly and falls slowly.
        Interval = "interval",
    }
}

parameters! {
    /// Validated parameters of routers. A link may have its own. Senders have no parameters.
    pub struct RouterParams {
        /// Gain on spare capacity, `alpha` of eq 2.
        alpha: f64 = Unit::Number, 0.1, (0.0, 10.0),
            "gain on spare capacity",
            "Dukkipati et al. 2005, section III";
        /// Gain on the queue, `beta` of eq 2.
        beta: f64 = Unit::Number, 1.0, (0.0, 10.0),
            "gain on the queue",
            "Dukkipati et al. 2005, section III";
        /// Limit on the control interval `T`, which is otherwise the round-trip time.
        interval: Duration = Unit::Duration, 0.01, (1e-6, 100.0),
            "longest time between two updates of the offered rate",
            "Dukkipati et al. 2005, section III";
        initial: f64 = Unit::Number, 0.05, (1e-6, 1.0),
            "first offered rate as a fraction of the capacity",
            "Dukkipati et al. 2005, fig 5";
        initial_rtt: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "round-trip time assumed before a packet carries one",
            "own choice; set it to the scenario's round-trip time";
        gain: f64 = Unit::Number, 0.02, (1e-6, 1.0),
            "weight of one packet in the average round-trip time",
            "Dukkipati et al. 2005, section II-C.4";
        longest_rtt: f64 = Unit::Duration, 10.0, (1e-6, LONGEST_TIME as f64),
            "longer round-trip times count as this; 100 s for no limit",
            "own choice: a packet may carry a false round-trip time, which slows every flow down";
        min_per_rtt: Bytes = Unit::Size, 10.0, (1.0, 1e6),
            "floor of the offered rate: this much per round-trip time",
            "0.01 packet of 1000 B, as in a published ns-2 port";
        rtt: RttEstimate = RttEstimate::UNIT, 0.0, RttEstimate::RANGE,
            "round-trip time in the update: average over packets, the largest, or an average per interval",
            "Dukkipati et al. 2005, section II; max: Zhang 2008, section VI.3.4; interval: the authors' ns-2 code";
        loss_aware: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "count dropped bytes as queue",
            "Dukkipati et al. 2005, section II-C.2";
    }
}
