//! BBR version 1: paces at the delivery rate it has measured, and keeps a small multiple of the bandwidth-delay product
//! on the way. Losses and marks do not matter to it.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: congestion-based congestion control"
//! (ACM Queue 14(5), 2016), and draft-cardwell-iccrg-bbr-congestion-control-00.

mod limited;
mod model;
mod params;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use limited::Limited;
pub use params::BbrParams;
pub use sender::BbrSender;

use crate::{Law, LawInfo, NoHeader, NoRouter, Opening, Protocol, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbr;

impl Protocol for Bbr {
    type Params = BbrParams;
    type Header = NoHeader;
    type Sender = BbrSender;
    type Router = NoRouter<BbrParams, NoHeader>;
    type Receiver = ();

    fn transport(params: &BbrParams) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            draws: true,
            ack_every: 1 + u8::from(params.delayed_ack),
            min_timeout: params.min_timeout,
            measures_delivery: true,
            ..Transport::PLAIN
        }
    }
}

impl Law for Bbr {
    const INFO: LawInfo = LawInfo::of_hosts(
        "bbr",
        "BBR version 1: paces at the measured delivery rate",
        "Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00",
        Signal::Delivery,
        false,
        &BbrParams::TABLE,
    );
}
