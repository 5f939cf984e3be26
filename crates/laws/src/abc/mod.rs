//! ABC: accelerate-brake control. Routers signal one bit per packet. The sender reacts to the ACK with two packets
//! (accelerate) or with no packet (brake).
//!
//! Source: P. Goyal, A. Agarwal, R. Netravali, M. Alizadeh, H. Balakrishnan, "ABC: a simple explicit congestion
//! controller for wireless networks" (NSDI 2020), sections 3 and 4.

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, RouterParams};
pub use router::Router;
pub use sender::Sender;

use crate::{
    Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport,
    WireSignalling,
};

/// Signalling of the law: header, router and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals;

impl Signalling for Signals {
    type Params = RouterParams;
    type Header = Header;
    type Router = Router;
    type Receiver = ();
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "abc",
        number: 10,
        signal: Signal::Change,
        header: Header::LAYOUT,
        cost: "9 additions, 3 multiplications, 2 divisions, 5 comparisons",
        routers: RouterInfo {
            kernel: None,
            interval: None,
            utilisation: Some("eta"),
        },
        params: &RouterParams::TABLE,
    };
}

/// ABC law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abc;

impl Protocol for Abc {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
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
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
