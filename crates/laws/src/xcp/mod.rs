//! XCP: explicit control protocol. Each packet carries its flow's round-trip time and inter-packet time to routers. It
//! returns the permitted change of the flow's throughput.
//!
//! Source: D. Katabi, M. Handley, C. Rohrs, "Congestion control for high bandwidth-delay product networks" (SIGCOMM
//! 2002), sections 3.1-3.5, in the form of A. Falk, Y. Pryadkin, D. Katabi, draft-falk-xcp-spec-03 (2007).

mod header;
mod offload;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, RttEstimate};
pub use router::Router;
pub use sender::Sender;

use levelflow_units::Duration;

use crate::{Arrived, Counting, Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xcp;

impl Protocol for Xcp {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            min_timeout: Duration::from_secs(1),
            ..Transport::PLAIN
        }
    }

    #[inline]
    fn reflect(_params: &Params, _receiver: &mut (), _arrived: &Arrived, header: &Header) -> Header {
        header.reflected()
    }
}

impl Law for Xcp {
    const INFO: LawInfo = LawInfo {
        name: "xcp",
        title: "XCP: explicit control protocol",
        source: "Katabi, Handley, Rohrs 2002, section 3; draft-falk-xcp-spec-03",
        signal: Signal::Change,
        cost: "6 additions, 3 multiplications, 10 comparisons",
        number: 5,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: None,
            utilisation: None,
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
