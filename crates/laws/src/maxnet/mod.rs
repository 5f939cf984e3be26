//! MaxNet: the price of a router is the integral of its relative excess load. Packets return the largest price of the
//! path. All senders compute their rate from this price by the same demand curve.
//!
//! Source: L. Andrew, K. Jacobsson, S. Low, M. Suchara, R. Witt, B. Wydrowski, "MaxNet: Theory and implementation"
//! (report, California Institute of Technology), sections II-VI.

mod fixed;
mod header;
mod offload;
mod params;
mod receiver;
mod router;
mod sender;
mod source;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Arithmetic, Params, RouterParams};
pub use receiver::Receiver;
pub use router::Router;
pub use sender::Sender;

use crate::{
    Arrived, Counting, Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Signalling, SignallingInfo,
    Transport, WireSignalling,
};

/// Signalling of the law: header, router and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals;

impl Signalling for Signals {
    type Params = RouterParams;
    type Header = Header;
    type Router = Router;
    type Receiver = Receiver;

    #[inline]
    fn reflect(receiver: &mut Receiver, arrived: &Arrived, header: &Header) -> Header {
        receiver.echo(arrived, header)
    }
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "maxnet",
        number: 4,
        signal: Signal::Price,
        header: Header::LAYOUT,
        cost: "1 addition, 1 comparison",
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("dt_p"),
            utilisation: Some("mu"),
        },
        params: &RouterParams::TABLE,
    };
}

/// MaxNet law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxNet;

impl Protocol for MaxNet {
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

impl Law for MaxNet {
    const INFO: LawInfo = LawInfo {
        name: "maxnet",
        title: "MaxNet: demand at the largest price of the path",
        source: "Andrew, Jacobsson, Low, Suchara, Witt, Wydrowski, MaxNet: Theory and implementation, sections II-VI",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
