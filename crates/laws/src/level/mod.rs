//! Level: max-min fair rates on networks, without per-flow state at routers and without packet loss (Levelflow).
//!
//! Routers compute max-min fairness by water-filling: a router computes the level at which its flows fill the link. The
//! rate of a flow is the lower of this level and its limit at the *other* links of its path. Headers carry the two
//! lowest levels of a path. From these levels, each router computes the limit at the other links. Senders follow the
//! lowest level, and propose an increase before they increase their rate.

mod header;
#[cfg(test)]
mod interleavings;
mod offload;
mod params;
#[cfg(test)]
mod requests;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::{Header, Receiver};
pub use params::{Params, RouterParams};
pub use router::{Census, Router, fill, smoothed};
pub use sender::Sender;

use crate::law::{
    Arrived, Counting, Law, LawInfo, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport,
    WireSignalling,
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
    fn reflect(receiver: &mut Receiver, _arrived: &Arrived, header: &Header) -> Header {
        header.reflected(receiver)
    }
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "level",
        number: 8,
        signal: Signal::Rate,
        header: <Header as crate::Header>::LAYOUT,
        cost: "10 additions, 4 multiplications, 1 division, 13 comparisons",
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        params: &RouterParams::TABLE,
    };
}

/// The Level law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level;

impl Protocol for Level {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for Level {
    const INFO: LawInfo = LawInfo {
        name: "level",
        title: "Level: max-min fairness on networks, without loss",
        source: "Levelflow, crates/laws/src/level/README.md",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
