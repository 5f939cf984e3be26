//! EMKC-AVQ: EMKC without packet loss. Routers adapt a virtual capacity until the load equals the target.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! 2008), section VI.3.3, eq 129-130. The sender uses the sender of [`emkc`](crate::emkc).

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use crate::emkc::Params;
pub use header::Header;
pub use params::RouterParams;
pub use router::Router;
pub use sender::Sender;

use crate::{
    Header as _, Law, LawInfo, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport, WireSignalling,
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
        name: "emkc_avq",
        number: 6,
        signal: Signal::Price,
        header: Header::LAYOUT,
        cost: "1 addition, 2 comparisons",
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        params: &RouterParams::TABLE,
    };
}

/// EMKC-AVQ law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmkcAvq;

impl Protocol for EmkcAvq {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for EmkcAvq {
    const INFO: LawInfo = LawInfo {
        name: "emkc_avq",
        title: "EMKC-AVQ: EMKC with an adaptive virtual capacity",
        source: "Zhang 2008, section VI.3.3, eq 129-130",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &params::TABLE,
    };
}
