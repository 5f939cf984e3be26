//! Parameter tables of Slots.

use levelflow_units::Duration;

use crate::params::{Unit, parameters};

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        gamma: f64 = Unit::Number, 0.98, (0.01, 1.0),
            "load of the slots as a fraction of the capacity that other traffic leaves",
            "Levelflow";
        share: f64 = Unit::Number, 0.5, (0.001, 1.0),
            "largest grant as a fraction of the free part of the horizon",
            "Levelflow; the rule is that of Choudhury and Hahne 1998 for shared buffers";
        least: f64 = Unit::Number, 0.2, (0.001, 1.0),
            "smallest limit on a grant as a fraction of the horizon",
            "Levelflow";
        /// Horizon before the first packet with a round-trip time.
        initial_rtt: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "horizon before the first packet with a round-trip time; later, the mean round-trip time",
            "Levelflow; set it to the round-trip time of the scenario";
        floor: f64 = Unit::Number, 0.6, (0.001, 1.0),
            "smallest rate of the slots as a fraction of the capacity, if other traffic leaves less",
            "Levelflow; slots take this rate from other traffic";
        /// Control interval of routers.
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "control interval: time between two measurements of other traffic and of round-trip times",
            "value of JetMax, Zhang 2008, section VI.6.1";
    }
}
