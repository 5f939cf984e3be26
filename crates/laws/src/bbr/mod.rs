//! BBR version 1: paces at the measured delivery rate, and limits the packets in flight to a small multiple of the
//! bandwidth-delay product. Losses and marks do not change the model of the path.
//!
//! Source: N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh, V. Jacobson, "BBR: congestion-based congestion
//! control" (ACM Queue 14(5), 2016), and draft-cardwell-iccrg-bbr-congestion-control-00.

mod app_limited;
mod model;
mod params;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use app_limited::Limited;
pub use params::Params;
pub use sender::Sender;

use crate::{Law, LawInfo, NoSignals, Opening, Protocol, Signal, Transport};

/// BBR version 1; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bbr;

impl Protocol for Bbr {
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
        &Params::TABLE,
    );
}
