//! Profiles: sets of default values for hosts.

use levelflow_laws::ParamSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encapsulation::Encapsulation;

/// Set of defaults for the hosts of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Linux: TCP laws have an initial window of 10 packets, pacing, HyStart and delayed ACKs. Hosts process each
    /// packet for a random time, and clocks have errors of up to 100 parts in a million. Packets have the headers of
    /// Ethernet, IPv4, UDP, the shim and the law.
    #[default]
    Linux,
    /// Settings of the papers' ns-2 runs: TCP laws have an initial window of 2 packets, no pacing, and an ACK for each
    /// packet. Hosts and clocks are ideal, and packets have no headers. Timers are those of Linux.
    Paper,
}

impl Profile {
    pub(crate) fn is_linux(&self) -> bool {
        *self == Self::Linux
    }

    /// Returns the default encapsulation.
    pub(crate) fn encapsulation(self) -> Encapsulation {
        match self {
            Self::Linux => Encapsulation::Ipv4,
            Self::Paper => Encapsulation::None,
        }
    }

    /// Returns the default of a law's parameter, in base units.
    #[must_use]
    pub fn default_of(self, row: &ParamSpec) -> f64 {
        match self {
            Self::Linux => row.linux.unwrap_or(row.default),
            Self::Paper => row.default,
        }
    }
}
