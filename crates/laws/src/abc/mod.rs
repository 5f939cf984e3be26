//! ABC: accelerate-brake control. A router says with one bit per packet whether the sender may put two packets on the
//! way for the one that arrived, or none.
//!
//! Source: P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, "ABC: a simple explicit congestion
//! controller for wireless networks" (NSDI 2020), sections 3 and 4.

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::AbcHeader;
pub use params::AbcParams;
pub use router::AbcRouter;
pub use sender::AbcSender;

use crate::{Header, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abc;

impl Protocol for Abc {
    type Params = AbcParams;
    type Header = AbcHeader;
    type Sender = AbcSender;
    type Router = AbcRouter;
    type Receiver = ();

    fn transport(_params: &AbcParams) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            ..Transport::PLAIN
        }
    }
}

impl Law for Abc {
    const INFO: LawInfo = LawInfo {
        name: "abc",
        title: "ABC: accelerate-brake control, one bit per packet",
        source: "Goyal, Agarwal, Netravali, Alizadeh, Balakrishnan 2020, sections 3 and 4",
        signal: Signal::Change,
        cost: "9 additions, 3 multiplications, 2 divisions, 5 comparisons",
        number: 10,
        header: AbcHeader::LAYOUT,
        routers: RouterInfo {
            kernel: None,
            interval: None,
            utilisation: Some("eta"),
        },
        scale_invariant: true,
        params: &AbcParams::TABLE,
    };
}
