//! TFRC: TCP-friendly rate control. The rate that the TCP throughput equation gives for the measured rate of loss events.
//!
//! Source: RFC 5348, in the sender-based form of its section 7.

mod equation;
mod history;
mod limits;
mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::TfrcParams;
pub use sender::TfrcSender;

use crate::{Law, LawInfo, NoHeader, NoRouter, Opening, Protocol, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tfrc;

impl Protocol for Tfrc {
    type Params = TfrcParams;
    type Header = NoHeader;
    type Sender = TfrcSender;
    type Router = NoRouter<TfrcParams, NoHeader>;
    type Receiver = ();

    fn transport(params: &TfrcParams) -> Transport {
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
        &TfrcParams::TABLE,
    );
}
