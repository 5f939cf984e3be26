//! EMKC: exponential max-min Kelly control. Routers return a signed loss rate as price. Senders converge to the rate
//! `C/N + alpha/beta`.
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
pub use params::{Params, Reference, Switch};
pub use router::Router;
pub use sender::Sender;

use crate::{Counting, Header as _, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emkc;

impl Protocol for Emkc {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for Emkc {
    const INFO: LawInfo = LawInfo {
        name: "emkc",
        title: "EMKC: exponential max-min Kelly control",
        source: "Zhang 2008, chapter V, eq 61-62, 85, 121-125",
        signal: Signal::Price,
        cost: "1 addition, 1 comparison",
        number: 2,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("interval"),
            utilisation: None,
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
