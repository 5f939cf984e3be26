//! Parameters that all TCP laws have.

use levelflow_units::Duration;

use crate::params::{
    DELAYED_ACK, MIN_TIMEOUT, ParamError, ParamSpec, Parameters, SWITCH_RANGE, Unit, choices, joined, parameters,
    position,
};

/// Window that is larger than any flow reaches, packets.
const UNLIMITED_WINDOW: f64 = 1e9;

/// Validated parameters of a TCP law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpParams<P> {
    /// Parameters that all TCP laws have.
    pub common: Common,
    /// Parameters of this law.
    pub own: P,
}

impl<P: Parameters> Parameters for TcpParams<P> {
    fn read(values: &[f64]) -> Result<Self, ParamError> {
        let (shared, own) = values.split_at(ROWS);
        Ok(Self {
            common: Common::read(shared)?,
            own: P::read(own)?,
        })
    }
}

choices! {
    /// Rule for the window after an idle time.
    pub enum AfterIdle {
        /// Limits the window to the initial window after an idle time above the retransmission timeout (RTO). Slow
        /// start follows (RFC 5681, section 4.1).
        Restart = "restart",
        /// Halves the window once per RTO of idle time. The initial window is the floor (`tcp_cwnd_restart` of Linux;
        /// RFC 2861).
        Halve = "halve",
        /// Keeps the window, and paces its packets over a round trip (RFC 9002, section 7.7).
        Pace = "pace",
        /// Keeps the window. Its packets may be sent in one burst.
        Keep = "keep",
    }
}

parameters! {
    /// Validated parameters that all TCP laws have.
    pub struct Common {
        initial_window: f64 = Unit::Number, 2.0 => 10.0, (1.0, 1e6),
            "initial window, packets",
            "2: Dukkipati et al. 2005, and RFC 5681, section 3.1 (2 to 4); 10: Linux, and RFC 6928";
        initial_ssthresh: f64 = Unit::Number, UNLIMITED_WINDOW, (2.0, UNLIMITED_WINDOW),
            "initial slow-start threshold, packets; the default is no threshold",
            "RFC 5681, section 3.1 (arbitrarily high)";
        slow_start: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "slow start: double the window in each round trip while it is below the threshold",
            "RFC 5681, section 3.1";
        window_limit: f64 = Unit::Number, UNLIMITED_WINDOW, (1.0, UNLIMITED_WINDOW),
            "largest window, packets; the default is no limit",
            "RFC 9293, section 3.8 (the receiver's window)";
        /// True if receivers acknowledge every second packet.
        delayed_ack: bool = DELAYED_ACK;
        ecn: bool = Unit::Switch, 0.0, SWITCH_RANGE,
            "queues may mark packets instead of dropping them",
            "RFC 3168";
        /// Floor of the variance term of the retransmission timeout (RTO).
        min_timeout: Duration = MIN_TIMEOUT;
        timeout_floor: Duration = Unit::Duration, 0.0, (0.0, 60.0),
            "floor of the retransmission timeout (RTO); the default is no floor",
            "RFC 6298, section 2.4 (1 s); ns-2 (minrto_, 200 ms)";
        paced: bool = Unit::Switch, 0.0 => 1.0, SWITCH_RANGE,
            "pace packets; the pacing rate is a gain times the window per smoothed round-trip time",
            "Aggarwal, Savage, Anderson 2000; Linux with the queue fq";
        pacing_gain: f64 = Unit::Number, 1.0 => 1.2, (1.0, 10.0),
            "pacing gain: pacing rate divided by the window per smoothed round-trip time",
            "Aggarwal, Savage, Anderson 2000; Linux (tcp_pacing_ca_ratio)";
        pacing_start: f64 = Unit::Number, 1.0 => 2.0, (1.0, 10.0),
            "pacing gain below half of the slow-start threshold",
            "Aggarwal, Savage, Anderson 2000; Linux (tcp_pacing_ss_ratio)";
        after_idle: AfterIdle = AfterIdle::UNIT, 0.0 => AfterIdle::Halve as u8 as f64, AfterIdle::RANGE,
            "reaction to an idle time: restart at the initial window after an RTO; halve the window once per RTO; keep the window and pace; keep the window",
            "RFC 5681, section 4.1, and ns-2; Linux halves (tcp_slow_start_after_idle), QUIC paces (RFC 9002, section 7.7)";
    }
}

parameters! {
    /// Validated parameters of a law whose only parameter is optional SACK.
    pub struct SackParams {
        sack: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "selective ACKs; if off, losses are detected by duplicate ACKs",
            "RFC 2018; off in the ns-2 runs of Dukkipati et al. 2005";
    }
}

/// Number of rows that all TCP laws have. The other rows of a law follow.
pub const ROWS: usize = Common::TABLE.len();

/// Index of the row `ecn`, for laws that require ECN.
pub const ECN: usize = position(&Common::TABLE, "ecn");

/// Index of the row `paced`, for laws with pacing by default.
pub const PACED: usize = position(&Common::TABLE, "paced");

/// Index of the row `pacing_gain`. The next row is `pacing_start`.
pub const PACING_GAIN: usize = position(&Common::TABLE, "pacing_gain");

/// Index of the row `after_idle`, for laws whose source has another rule.
pub const AFTER_IDLE: usize = position(&Common::TABLE, "after_idle");

/// Returns the rows that all TCP laws have, then the rows `own` of a law.
#[must_use]
pub const fn table<const OWN: usize, const ALL: usize>(own: [ParamSpec; OWN]) -> [ParamSpec; ALL] {
    joined(&Common::TABLE, &own)
}
