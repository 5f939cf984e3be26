//! Parameters that all laws of the family have.

use levelflow_units::Duration;

use crate::params::{ParamSpec, Unit, seconds};

/// Longest time that a receiver which waits for a second packet keeps an answer back. RFC 5681, section 4.2, allows
/// 500 ms; systems use 40 to 200 ms.
pub(super) const ANSWER_DELAY: Duration = Duration::from_ms(100);

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

/// Validated parameters that all laws of the family have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Common {
    /// First window, packets.
    pub initial_window: f64,
    /// First threshold, packets.
    pub initial_ssthresh: f64,
    /// Whether a window below the threshold doubles per round trip; otherwise it grows as above it.
    pub slow_start: bool,
    /// Largest window, packets.
    pub window_limit: f64,
    /// Whether receivers answer every second packet.
    pub delayed_ack: bool,
    /// Whether queues may mark packets instead of dropping them.
    pub ecn: bool,
    /// Shortest time to wait for an answer.
    pub min_timeout: Duration,
    /// Whether packets leave evenly, a window per round-trip time.
    pub paced: bool,
}

/// Number of shared rows; a law's own follow them.
pub const ROWS: usize = SHARED.len();

/// Place of the row `ecn`, for laws that cannot do without.
pub const ECN: usize = 5;

const SHARED: [ParamSpec; 8] = [
    ParamSpec {
        name: "initial_window",
        doc: "first window, packets",
        unit: Unit::Number,
        default: 2.0,
        range: (1.0, 1e6),
        source: "RFC 5681, section 3.1 (2 to 4), and Dukkipati et al. 2005 (2); RFC 6928 allows 10",
    },
    ParamSpec {
        name: "initial_ssthresh",
        doc: "window at which the first slow start ends, packets; the default stands for none",
        unit: Unit::Number,
        default: UNLIMITED,
        range: (2.0, UNLIMITED),
        source: "RFC 5681, section 3.1 (arbitrarily high)",
    },
    ParamSpec {
        name: "slow_start",
        doc: "double a window below the threshold in each round trip",
        unit: Unit::Switch,
        default: 1.0,
        range: (0.0, 1.0),
        source: "RFC 5681, section 3.1",
    },
    ParamSpec {
        name: "window_limit",
        doc: "largest window, packets; the default stands for none",
        unit: Unit::Number,
        default: UNLIMITED,
        range: (1.0, UNLIMITED),
        source: "RFC 9293, section 3.8 (the receiver's window)",
    },
    ParamSpec {
        name: "delayed_ack",
        doc: "receivers answer every second packet, or after 100 ms",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "RFC 5681, section 4.2; off as in the ns-2 runs of the papers",
    },
    ParamSpec {
        name: "ecn",
        doc: "queues may mark packets instead of dropping them",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "RFC 3168",
    },
    ParamSpec {
        name: "min_timeout",
        doc: "shortest time to wait for an answer before everything on its way counts as lost",
        unit: Unit::Duration,
        default: 0.2,
        range: (0.001, 60.0),
        source: "Linux and ns-2; RFC 6298, section 2.4, has 1 s",
    },
    ParamSpec {
        name: "paced",
        doc: "packets leave evenly, a window per smoothed round-trip time",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "Aggarwal, Savage, Anderson 2000",
    },
];

/// The shared rows, then a law's own: `const TABLE: [ParamSpec; ROWS + 1] = table([...])`.
///
/// # Panics
/// When the length is another.
#[must_use]
pub const fn table<const OWN: usize, const ALL: usize>(own: [ParamSpec; OWN]) -> [ParamSpec; ALL] {
    assert!(ALL == ROWS + OWN);
    let mut rows = [SHARED[0]; ALL];
    let mut i = 1;
    while i < ALL {
        rows[i] = if i < ROWS { SHARED[i] } else { own[i - ROWS] };
        i += 1;
    }
    rows
}

impl Common {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[
            initial_window,
            initial_ssthresh,
            slow_start,
            window_limit,
            delayed_ack,
            ecn,
            min_timeout,
            paced,
        ] = values
        else {
            panic!("one value per shared row");
        };
        Self {
            initial_window,
            initial_ssthresh,
            slow_start: slow_start != 0.0,
            window_limit,
            delayed_ack: delayed_ack != 0.0,
            ecn: ecn != 0.0,
            min_timeout: seconds(min_timeout),
            paced: paced != 0.0,
        }
    }
}
