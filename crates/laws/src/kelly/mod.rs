//! Classic Kelly control: packets sum the prices of routers. In equilibrium, rate times price is equal for all flows.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! 2008), eq 1-2 and section V.1, eq 53-54, after F. Kelly, A. Maulloo and D. Tan, "Rate control for communication
//! networks: shadow prices, proportional fairness and stability" (1998).

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
        name: "kelly",
        number: 7,
        signal: Signal::Price,
        header: Header::LAYOUT,
        cost: "2 additions, 1 comparison",
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: None,
        },
        params: &RouterParams::TABLE,
    };
}

/// Kelly control; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kelly;

impl Protocol for Kelly {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for Kelly {
    const INFO: LawInfo = LawInfo {
        name: "kelly",
        title: "Classic Kelly control",
        source: "Zhang 2008, eq 1-2, section V.1, eq 53-54",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
