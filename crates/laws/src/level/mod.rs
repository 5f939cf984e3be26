//! Level: max-min fair rates on networks, without per-flow state at routers and without packet loss (Levelflow).
//!
//! A router computes the level to which its flows fill the link, as water fills a vessel. Each flow takes this level,
//! or its limit at the *other* links of its path if that is lower. Headers carry the two lowest levels of a path, so
//! that each router can compute the limit of the other links. Senders follow the lowest level, and propose an increase
//! before they make it.

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
