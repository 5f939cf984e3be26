//! Parameter table of BBR.

use levelflow_units::Duration;

use crate::params::{DELAYED_ACK, MIN_TIMEOUT, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        initial_window: f64 = Unit::Number, 10.0, (1.0, 1e6),
            "initial window, packets",
            "RFC 6928";
        startup_gain: f64 = Unit::Number, 2.77, (1.1, 10.0),
            "pacing gain until the pipe is full; the inverse of this gain then drains the queue",
            "4 ln 2: draft-ietf-ccwg-bbr";
        window_gain: f64 = Unit::Number, 2.0, (1.0, 100.0),
            "window in bandwidth-delay products",
            "Cardwell et al. 2016";
        rtt_window: Duration = Unit::Duration, 10.0, (0.1, 1e4),
            "age at which the smallest round-trip time is measured again",
            "Cardwell et al. 2016";
        /// Floor of the variance term of the retransmission timeout (RTO).
        min_timeout: Duration = MIN_TIMEOUT;
        /// True if receivers acknowledge every second packet.
        delayed_ack: bool = DELAYED_ACK;
    }
}
