//! RCP: rate control protocol. Each router offers one rate to all its flows. Senders adopt the smallest offer of the
//! path.
//!
//! Source: N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, "Processor sharing flows in the Internet" (2005),
//! section II, eq 1-2.

mod header;
mod offload;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{RouterParams, RttEstimate};
pub use router::Router;
pub use sender::Sender;

use crate::{
    Counting, Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport,
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
        name: "rcp",
        number: 3,
        signal: Signal::Rate,
        header: Header::LAYOUT,
        cost: "2 additions, 2 multiplications, 1 comparison",
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: Some("interval"),
            utilisation: None,
        },
        params: &RouterParams::TABLE,
    };
}

/// RCP law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rcp;

impl Protocol for Rcp {
    type Signalling = Signals;
    type Params = ();
    type Sender = Sender;

    fn transport(_params: &()) -> Transport {
        Transport {
            opening: Opening::Handshake,
            ..Transport::PLAIN
        }
    }
}

impl Law for Rcp {
    const INFO: LawInfo = LawInfo {
        name: "rcp",
        title: "RCP: rate control protocol",
        source: "Dukkipati, Kobayashi, Zhang-Shen, McKeown 2005, section II, eq 1-2",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &[],
    };
}
