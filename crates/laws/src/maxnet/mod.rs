//! MaxNet: routers integrate their relative excess load into a price, packets bring back the largest of the path, and
//! senders read their rate off a common demand curve.
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

pub use header::MaxNetHeader;
pub use params::{Arithmetic, MaxNetParams};
pub use receiver::MaxNetReceiver;
pub use router::MaxNetRouter;
pub use sender::MaxNetSender;

use crate::{Arrived, Counting, Header, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxNet;

impl Protocol for MaxNet {
    type Params = MaxNetParams;
    type Header = MaxNetHeader;
    type Sender = MaxNetSender;
    type Router = MaxNetRouter;
    type Receiver = MaxNetReceiver;

    fn transport(_params: &MaxNetParams) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            ..Transport::PLAIN
        }
    }

    #[inline]
    fn reflect(
        _params: &MaxNetParams,
        receiver: &mut MaxNetReceiver,
        arrived: &Arrived,
        header: &MaxNetHeader,
    ) -> MaxNetHeader {
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
        header: MaxNetHeader::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("dt_p"),
            utilisation: Some("mu"),
        },
        scale_invariant: true,
        params: &MaxNetParams::TABLE,
    };
}
