//! EMKC: exponential max-min Kelly control. The price of a router is its loss rate, which is negative below full load.
//! The rates of `N` senders over one link of capacity `C` converge to `C/N + alpha/beta`. `alpha` and `beta` are
//! parameters of the senders.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! 2008), chapter V, eq 61-62, 85, 121-125.

mod header;
mod offload;
pub(crate) mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, Reference, RouterParams, Switch};
pub use router::Router;
pub use sender::Sender;

use crate::{
    Counting, Header as _, Law, LawInfo, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport,
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
        name: "emkc",
        number: 2,
        signal: Signal::Price,
        header: Header::LAYOUT,
        cost: "1 addition, 1 comparison",
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("interval"),
            utilisation: None,
        },
        params: &RouterParams::TABLE,
    };
}

/// EMKC law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emkc;

impl Protocol for Emkc {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for Emkc {
    const INFO: LawInfo = LawInfo {
        name: "emkc",
        title: "EMKC: exponential max-min Kelly control",
        source: "Zhang 2008, chapter V, eq 61-62, 85, 121-125",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
