//! XCP: explicit control protocol. Each packet carries the round-trip time and the inter-packet time of its flow to
//! routers. The ACK returns the permitted change of the throughput of the flow.
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
pub use params::{Params, RouterParams, RttEstimate};
pub use router::Router;
pub use sender::Sender;

use levelflow_units::Duration;

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
    type Receiver = ();

    #[inline]
    fn reflect(_receiver: &mut (), _arrived: &Arrived, header: &Header) -> Header {
        header.reflected()
    }
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "xcp",
        number: 5,
        signal: Signal::Change,
        header: Header::LAYOUT,
        cost: "6 additions, 3 multiplications, 10 comparisons",
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: None,
            utilisation: None,
        },
        params: &RouterParams::TABLE,
    };
}

/// XCP law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xcp;

impl Protocol for Xcp {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            tracks_losses: true,
            min_timeout: Duration::from_secs(1),
            ..Transport::PLAIN
        }
    }
}

impl Law for Xcp {
    const INFO: LawInfo = LawInfo {
        name: "xcp",
        title: "XCP: explicit control protocol",
        source: "Katabi, Handley, Rohrs 2002, section 3; draft-falk-xcp-spec-03",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
