//! MaxNet: routers integrate their relative excess load into a price, packets return the largest price of the path, and
//! senders derive their rate from a common demand curve.
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
pub use params::{Arithmetic, Params};
pub use receiver::Receiver;
pub use router::Router;
pub use sender::Sender;

use crate::{Arrived, Counting, Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxNet;

impl Protocol for MaxNet {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = Receiver;

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            ..Transport::PLAIN
        }
    }

    #[inline]
    fn reflect(_params: &Params, receiver: &mut Receiver, arrived: &Arrived, header: &Header) -> Header {
        receiver.echo(arrived, header)
    }
}

impl Law for MaxNet {
    const INFO: LawInfo = LawInfo {
        name: "maxnet",
        title: "MaxNet: demand at the largest price of the path",
        source: "Andrew, Jacobsson, Low, Suchara, Witt, Wydrowski, MaxNet: Theory and implementation, sections II-VI",
        signal: Signal::Price,
        cost: "1 addition, 1 comparison",
        number: 4,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("dt_p"),
            utilisation: Some("mu"),
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
