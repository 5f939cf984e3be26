//! Level: max-min fair rates on networks, without state per flow at routers and without loss (Levelflow).
//!
//! A router fills its link with the flows like a vessel with water: each flow takes what the other links of its path
//! leave it, or else the level of this one. Headers carry the two lowest levels of a path, so that a router knows
//! what the *others* allow. Senders follow the lowest level, and propose an increase before they make it.

mod header;
#[cfg(test)]
mod interleavings;
mod offload;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::Params;
pub use router::{Census, Router, fill, smoothed};
pub use sender::Sender;

use crate::law::{Arrived, Counting, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The Level law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level;

impl Protocol for Level {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }

    #[inline]
    fn reflect(_params: &Params, _receiver: &mut (), _arrived: &Arrived, header: &Header) -> Header {
        header.reflected()
    }
}

impl Law for Level {
    const INFO: LawInfo = LawInfo {
        name: "level",
        title: "Level: max-min fairness on networks, without loss",
        source: "Levelflow, crates/laws/src/level/README.md",
        signal: Signal::Rate,
        cost: "9 additions, 4 multiplications, 1 division, 10 comparisons",
        number: 8,
        header: <Header as crate::Header>::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
