//! s-PERC: max-min fair rates. Routers keep a few sums over their flows, and senders store the last report of each
//! router.
//!
//! Source: L. Jose, S. Ibanez, M. Alizadeh, N. McKeown, "A distributed algorithm to calculate max-min fair rates
//! without per-flow state", SIGMETRICS 2019. In the paper, a control packet carries the state of a flow at each hop. In
//! this implementation, the sender stores the state, and a packet carries the state of one hop.

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::{Header, Label};
pub use params::{Params, RouterParams};
pub use router::{Router, Sums};
pub use sender::{MAX_HOPS, Sender};

use crate::law::{
    Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport, WireSignalling,
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
        name: "sperc",
        number: 9,
        signal: Signal::Rate,
        header: <Header as crate::Header>::LAYOUT,
        cost: "8 additions, 1 division, 7 comparisons per update; 2 comparisons for other packets",
        routers: RouterInfo {
            kernel: None,
            interval: Some("timeout"),
            utilisation: Some("gamma"),
        },
        params: &RouterParams::TABLE,
    };
}

/// s-PERC law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sperc;

impl Protocol for Sperc {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            ..Transport::PLAIN
        }
    }
}

impl Law for Sperc {
    const INFO: LawInfo = LawInfo {
        name: "sperc",
        title: "s-PERC: stateless proactive explicit rate control",
        source: "Jose, Ibanez, Alizadeh, McKeown 2019",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
