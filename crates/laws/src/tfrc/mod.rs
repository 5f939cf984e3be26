//! TFRC: TCP-friendly rate control. The TCP throughput equation determines the sending rate from the measured loss
//! event rate.
//!
//! Source: RFC 5348, in the sender-based variant of its section 7.

mod equation;
mod history;
mod limits;
mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::Params;
pub use sender::Sender;

use crate::{Law, LawInfo, NoSignals, Opening, Protocol, Signal, Transport};

/// TFRC; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tfrc;

impl Protocol for Tfrc {
    type Signalling = NoSignals;
    type Params = Params;
    type Sender = Sender;

    fn transport(params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            draws: params.dither > 0.0,
            ecn: params.ecn,
            measures_delivery: true,
            ..Transport::PLAIN
        }
    }
}

impl Law for Tfrc {
    const INFO: LawInfo = LawInfo::of_hosts(
        "tfrc",
        "TFRC: TCP-friendly rate control",
        "RFC 5348",
        Signal::Loss,
        false,
        &Params::TABLE,
    );
}
