//! Parameters that all laws of the family have.

use levelflow_units::Duration;

use crate::params::{
    DELAYED_ACK, MIN_TIMEOUT, ParamError, ParamSpec, Parameters, SWITCH, Unit, choices, joined, parameters, position,
};

/// A window that no flow reaches.
const UNLIMITED: f64 = 1e9;

/// Validated parameters of a law of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcpParams<P> {
    /// What all have.
    pub common: Common,
    /// What this one adds.
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
        /// After more than an RTO the window is at most the first one, and slow start follows (RFC 5681, section 4.1).
        Restart = "restart",
        /// The window is halved once for each RTO, down to the first one (`tcp_cwnd_restart` of Linux; RFC 2861).
        Halve = "halve",
        /// The window is kept, and paced over a round trip (RFC 9002, section 7.7).
        Pace = "pace",
        /// The window is kept, and all of it may leave at once.
        Keep = "keep",
    }
}

parameters! {
    /// Validated parameters that all laws of the family have.
    pub struct Common {
        initial_window: f64 = Unit::Number, 2.0 => 10.0, (1.0, 1e6),
            "first window, packets",
            "Dukkipati et al. 2005, and RFC 5681, section 3.1 (2 to 4); Linux, and RFC 6928: 10";
        initial_ssthresh: f64 = Unit::Number, UNLIMITED, (2.0, UNLIMITED),
            "window at which the first slow start ends, packets; the default stands for none",
            "RFC 5681, section 3.1 (arbitrarily high)";
        slow_start: bool = Unit::Switch, 1.0, SWITCH,
            "double a window below the threshold in each round trip",
            "RFC 5681, section 3.1";
        window_limit: f64 = Unit::Number, UNLIMITED, (1.0, UNLIMITED),
            "largest window, packets; the default stands for none",
            "RFC 9293, section 3.8 (the receiver's window)";
        /// Receivers acknowledge every second packet.
        delayed_ack: bool = DELAYED_ACK;
        ecn: bool = Unit::Switch, 0.0, SWITCH,
            "queues may mark packets instead of dropping them",
            "RFC 3168";
        /// Floor of the variance term of the RTO.
        min_timeout: Duration = MIN_TIMEOUT;
        timeout_floor: Duration = Unit::Duration, 0.0, (0.0, 60.0),
            "least RTO as a whole; the default stands for none",
            "RFC 6298, section 2.4 (1 s); ns-2 (minrto_, 200 ms)";
        paced: bool = Unit::Switch, 0.0 => 1.0, SWITCH,
            "packets leave evenly, a window per smoothed round-trip time, times a gain",
            "Aggarwal, Savage, Anderson 2000; Linux with the queue fq";
        pacing_gain: f64 = Unit::Number, 1.0 => 1.2, (1.0, 10.0),
            "pacing rate over window per smoothed round-trip time",
            "Aggarwal, Savage, Anderson 2000; Linux (tcp_pacing_ca_ratio)";
        pacing_start: f64 = Unit::Number, 1.0 => 2.0, (1.0, 10.0),
            "the same below half of the slow-start threshold",
            "Aggarwal, Savage, Anderson 2000; Linux (tcp_pacing_ss_ratio)";
        after_idle: AfterIdle = AfterIdle::UNIT, 0.0 => AfterIdle::Halve as u8 as f64, AfterIdle::RANGE,
            "window after an idle time: restart at the first one after an RTO, halve once per RTO, pace the old one, or keep it",
            "RFC 5681, section 4.1, and ns-2; Linux halves (tcp_slow_start_after_idle), QUIC paces (RFC 9002, section 7.7)";
    }
}

parameters! {
    /// Validated parameters of a law that can do without selective ACKs, and has no others.
    pub struct SackParams {
        sack: bool = Unit::Switch, 1.0, SWITCH,
            "receivers acknowledge selectively; without, losses show in duplicate ACKs",
            "RFC 2018; off as in the ns-2 runs of Dukkipati et al. 2005";
    }
}

/// Number of shared rows; a law's own follow them.
pub const ROWS: usize = Common::TABLE.len();

/// Place of the row `ecn`, for laws that cannot do without.
pub const ECN: usize = position(&Common::TABLE, "ecn");

/// Place of the row `paced`, for laws that are.
pub const PACED: usize = position(&Common::TABLE, "paced");

/// Place of the row `pacing_gain`; `pacing_start` follows it.
pub const PACING_GAIN: usize = position(&Common::TABLE, "pacing_gain");

/// Place of the row `after_idle`, for laws whose source has another rule.
pub const AFTER_IDLE: usize = position(&Common::TABLE, "after_idle");

/// The shared rows, then a law's own.
#[must_use]
pub const fn table<const OWN: usize, const ALL: usize>(own: [ParamSpec; OWN]) -> [ParamSpec; ALL] {
    joined(&Common::TABLE, &own)
}
