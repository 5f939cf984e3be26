//! Parameter table of BBRv3.

use levelflow_units::Duration;

use crate::params::{DELAYED_ACK, MIN_TIMEOUT, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct Params {
        initial_window: f64 = Unit::Number, 10.0, (1.0, 1e6),
            "initial window, packets",
            "RFC 6928";
        startup_gain: f64 = Unit::Number, 2.77, (1.1, 10.0),
            "pacing gain until the pipe is full",
            "4 ln 2: draft-ietf-ccwg-bbr, StartupPacingGain";
        window_gain: f64 = Unit::Number, 2.0, (1.0, 100.0),
            "window in bandwidth-delay products; 1/8 larger in the phase ProbeBW_UP",
            "draft-ietf-ccwg-bbr, DefaultCwndGain";
        loss_threshold: f64 = Unit::Number, 0.02, (0.0, 0.5),
            "largest loss rate per round trip in a probe for bandwidth",
            "draft-ietf-ccwg-bbr, LossThresh";
        beta: f64 = Unit::Number, 0.7, (0.1, 1.0),
            "smallest factor on a bound after losses in a round trip",
            "draft-ietf-ccwg-bbr, Beta";
        headroom: f64 = Unit::Number, 0.15, (0.0, 0.9),
            "fraction of the long-term bound that is left to other flows",
            "draft-ietf-ccwg-bbr, Headroom";
        rtt_window: Duration = Unit::Duration, 10.0, (0.1, 1e4),
            "age at which a newer round-trip time replaces the smallest round-trip time",
            "draft-ietf-ccwg-bbr, MinRTTFilterLen";
        probe_rtt_interval: Duration = Unit::Duration, 5.0, (0.1, 1e4),
            "time without a smaller round-trip time after which ProbeRTT measures the round-trip time",
            "draft-ietf-ccwg-bbr, ProbeRTTInterval";
        probe_wait: Duration = Unit::Duration, 2.0, (0.1, 1e4),
            "shortest time between two scheduled probes for bandwidth; a random time up to 1 s is added",
            "draft-ietf-ccwg-bbr, PickProbeWait";
        /// Floor of the variance term of the retransmission timeout (RTO).
        min_timeout: Duration = MIN_TIMEOUT;
        /// True if receivers acknowledge every second packet.
        delayed_ack: bool = DELAYED_ACK;
    }
}
