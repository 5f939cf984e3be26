//! BBR version 3: a model of the path's bandwidth, round-trip time and of how much may be on its way, probed in a cycle of
//! four phases, with bounds that losses lower.
//!
//! Source: draft-ietf-ccwg-bbr, "BBR Congestion Control" (N. Cardwell, I. Swett, J. Beshay, editors), of 2026-08-03; names of
//! its sections and pseudocode are given where they are followed.

mod bounds;
mod cycle;
mod model;
mod params;
mod sender;
mod states;
#[cfg(test)]
mod tests;

pub use cycle::State;
pub use params::Bbr3Params;
pub use sender::{Bbr3Sender, Model};

use crate::{Law, LawInfo, NoHeader, NoRouter, Opening, Protocol, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbr3;

impl Protocol for Bbr3 {
    type Params = Bbr3Params;
    type Header = NoHeader;
    type Sender = Bbr3Sender;
    type Router = NoRouter<Bbr3Params, NoHeader>;
    type Receiver = ();

    fn transport(params: &Bbr3Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            draws: true,
            ack_every: 1 + u8::from(params.delayed_ack),
            min_timeout: params.min_timeout,
            tells_flights: true,
            measures_delivery: true,
            ..Transport::PLAIN
        }
    }
}

impl Law for Bbr3 {
    const INFO: LawInfo = LawInfo::of_hosts(
        "bbr3",
        "BBR version 3: probes for bandwidth and keeps losses below 2 %",
        "draft-ietf-ccwg-bbr",
        Signal::Delivery,
        false,
        &Bbr3Params::TABLE,
    );
}
