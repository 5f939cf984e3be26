//! What hosts do unless a scenario says otherwise.

use levelflow_laws::ParamSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of defaults for the hosts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux: TCP laws begin with 10 packets, pace, and have HyStart and delayed ACKs; hosts take a random time for each packet,
    /// and clocks are off by up to 100 parts in a million.
    #[default]
    Linux,
    /// The ns-2 runs of the papers: TCP laws begin with 2 packets and send in bursts, each packet has an ACK, and hosts and
    /// clocks are ideal. Timers are those of Linux in both.
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
