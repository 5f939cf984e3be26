//! XCP's parameter table.

use levelflow_units::Duration;

use crate::header::LONGEST_TIME;
use crate::params::{Unit, choices, parameters};

choices! {
    /// Round-trip time in the control equations of a router.
    pub enum RttEstimate {
        /// `d`: mean round-trip time over flows. The weight of a packet is its inter-packet time, so all flows have the
        /// same weight.
        Mean = "mean",
        /// `D_max`: largest round-trip time in a control interval.
        Max = "max",
    }
}

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        rtt_gain: f64 = Unit::Number, 0.125, (0.001, 1.0),
            "weight of one sample in the smoothed round-trip time",
            "code of draft-falk-xcp-spec in ns-2 2.35; 0.4 in the code of 2002";
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        alpha: f64 = Unit::Number, 0.4, (0.0, 1.0),
            "gain on spare bandwidth",
            "Katabi et al. 2002, section 3.5";
        beta: f64 = Unit::Number, 0.226, (0.0, 10.0),
            "gain on the persistent queue; the stability condition is beta = alpha^2 sqrt 2",
            "Katabi et al. 2002, section 3.5";
        gamma: f64 = Unit::Number, 0.1, (0.0, 1.0),
            "fraction of the traffic that is redistributed among flows in equilibrium",
            "Katabi et al. 2002, section 3.5";
        rtt: RttEstimate = RttEstimate::UNIT, 0.0, RttEstimate::RANGE,
            "round-trip time in the control equations: mean over flows, or largest value in a control interval",
            "Katabi et al. 2002, section 3.5; max: Zhang 2008, section VI.3.4";
        initial_interval: Duration = Unit::Duration, 0.05, (1e-6, LONGEST_TIME as f64),
            "control interval of a router before the first packet with a round-trip time",
            "the authors' code in ns-2";
        shortest_interval: Duration = Unit::Duration, 0.001, (1e-6, LONGEST_TIME as f64),
            "shortest control interval",
            "code of draft-falk-xcp-spec in ns-2 2.35; the draft advises 5 to 10 ms";
        longest_interval: f64 = Unit::Duration, 1.0, (1e-6, LONGEST_TIME as f64),
            "longest control interval, and limit on round-trip times and inter-packet times in headers; 100 s for no limit",
            "draft-falk-xcp-spec-03, section 4.2.4, and its code in ns-2 2.35; the paper has no limit";
    } where {
        initial_interval: initial_interval.as_secs_f64() <= longest_interval, "must not exceed longest_interval";
        shortest_interval: shortest_interval <= initial_interval, "must not exceed initial_interval";
    }
}
