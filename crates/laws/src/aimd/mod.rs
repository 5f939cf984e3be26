//! AIMD on rates: an additive increase per round-trip time, and a multiplicative decrease on loss.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! Texas A&M University, 2008), eq 19 and 114.

mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::Params;
pub use sender::Sender;

use crate::{Law, LawInfo, NoSignals, Protocol, Signal, Transport};

/// AIMD; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aimd;

impl Protocol for Aimd {
    type Signalling = NoSignals;
    type Params = Params;
    type Sender = Sender;

    fn transport(params: &Params) -> Transport {
        Transport {
            tracks_losses: true,
            ecn: params.ecn,
            ..Transport::PLAIN
        }
    }
}

impl Law for Aimd {
    const INFO: LawInfo = LawInfo::of_hosts(
        "aimd",
        "AIMD on rates: a fixed increase per round-trip time, a fraction kept on loss",
        "Zhang 2008, eq 19, 114",
        Signal::Loss,
        false,
        &Params::TABLE,
    );
}
