//! Parameters that all laws of the family have.

use levelflow_units::Duration;

use crate::params::{ParamError, ParamSpec, Parameters, SWITCH, Unit, joined, parameters, position};

/// Longest time that a receiver delays an ACK while it waits for a second packet. RFC 5681, section 4.2, allows
/// 500 ms; systems use 40 to 200 ms.
pub(super) const ACK_DELAY: Duration = Duration::from_ms(100);

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

parameters! {
    /// Validated parameters that all laws of the family have.
    pub struct Common {
        initial_window: f64 = Unit::Number, 2.0, (1.0, 1e6),
            "first window, packets",
            "RFC 5681, section 3.1 (2 to 4), and Dukkipati et al. 2005 (2); RFC 6928 allows 10";
        initial_ssthresh: f64 = Unit::Number, UNLIMITED, (2.0, UNLIMITED),
            "window at which the first slow start ends, packets; the default stands for none",
            "RFC 5681, section 3.1 (arbitrarily high)";
        slow_start: bool = Unit::Switch, 1.0, SWITCH,
            "double a window below the threshold in each round trip",
            "RFC 5681, section 3.1";
        window_limit: f64 = Unit::Number, UNLIMITED, (1.0, UNLIMITED),
            "largest window, packets; the default stands for none",
            "RFC 9293, section 3.8 (the receiver's window)";
        delayed_ack: bool = Unit::Switch, 0.0, SWITCH,
            "receivers acknowledge every second packet, or after 100 ms",
            "RFC 5681, section 4.2; off as in the ns-2 runs of the papers";
        ecn: bool = Unit::Switch, 0.0, SWITCH,
            "queues may mark packets instead of dropping them",
            "RFC 3168";
        min_timeout: Duration = Unit::Duration, 0.2, (0.001, 60.0),
            "shortest retransmission timeout (RTO), after which everything in flight counts as lost",
            "Linux and ns-2; RFC 6298, section 2.4, has 1 s";
        paced: bool = Unit::Switch, 0.0, SWITCH,
            "packets leave evenly, a window per smoothed round-trip time",
            "Aggarwal, Savage, Anderson 2000";
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

/// The shared rows, then a law's own.
#[must_use]
pub const fn table<const OWN: usize, const ALL: usize>(own: [ParamSpec; OWN]) -> [ParamSpec; ALL] {
    joined(&Common::TABLE, &own)
}
