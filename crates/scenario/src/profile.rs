//! Profiles: defaults of hosts.

use levelflow_laws::ParamSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of defaults for the hosts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux: TCP laws have an initial window of 10 packets, pacing, HyStart and delayed ACKs. Hosts take a random time for each
    /// packet, and clocks are off by up to 100 parts in a million.
    #[default]
    Linux,
    /// The ns-2 runs of the papers: TCP laws have an initial window of 2 packets, bursts, and an ACK for each packet. Hosts and
    /// clocks are ideal. Timers are those of Linux.
    Paper,
}

impl Profile {
    pub(crate) fn is_linux(&self) -> bool {
        *self == Self::Linux
    }

    /// Default of a parameter of a law, in base units.
    #[must_use]
    pub fn default_of(self, row: &ParamSpec) -> f64 {
        match self {
            Self::Linux => row.linux.unwrap_or(row.default),
            Self::Paper => row.default,
        }
    }
}
