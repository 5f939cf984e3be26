//! Controllers of Kunniyur and Srikant. Each sender maximises its utility minus a price for each lost or marked packet.
//! The utility is a logarithm or a negative power of the rate.
//!
//! Source: S. S. Kunniyur, R. Srikant, "End-to-end congestion control schemes: utility functions, random losses and ECN
//! marks", IEEE/ACM Transactions on Networking 11(5), 2003, eq 9-13, 20-21, 40-41.

mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::{Control, Params, Signals, Utility};
pub use sender::Sender;

use crate::{Law, LawInfo, NoSignals, Opening, Protocol, Transport};

/// Kunniyur-Srikant law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ks;

impl Protocol for Ks {
    type Signalling = NoSignals;
    type Params = Params;
    type Sender = Sender;

    fn transport(params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            ecn: params.signal.marks(),
            ..Transport::PLAIN
        }
    }
}

impl Law for Ks {
    const INFO: LawInfo = LawInfo::of_hosts(
        "ks",
        "Kunniyur-Srikant: additive increase by utility, decrease per lost or marked packet",
        "Kunniyur and Srikant 2003, eq 9-13, 20-21, 40-41",
        crate::Signal::Loss,
        true,
        &Params::TABLE,
    );
}
