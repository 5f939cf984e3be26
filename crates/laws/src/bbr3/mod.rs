//! BBR version 3: a model of bandwidth, round-trip time and packets in flight. The sender probes for bandwidth in a
//! cycle of four phases. Losses lower the bounds on bandwidth and packets in flight.
//!
//! Source: draft-ietf-ccwg-bbr, "BBR Congestion Control" (N. Cardwell, I. Swett, J. Beshay, editors), of 2026-08-03.
//! Comments refer to sections and pseudocode of this draft.

mod bounds;
mod cycle;
mod model;
mod params;
mod sender;
mod states;
#[cfg(test)]
mod tests;

pub use cycle::State;
pub use params::Params;
pub use sender::{Model, Sender};

use crate::{Law, LawInfo, NoSignals, Opening, Protocol, Signal, Transport};

/// BBR version 3; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbr3;

impl Protocol for Bbr3 {
    type Signalling = NoSignals;
    type Params = Params;
    type Sender = Sender;

    fn transport(params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            draws: true,
            ack_every: 1 + u8::from(params.delayed_ack),
            min_timeout: params.min_timeout,
            needs_rate_samples: true,
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
        &Params::TABLE,
    );
}
