//! Classic Kelly control: packets add up the prices of routers, and senders keep rate times price constant.
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
pub use params::Params;
pub use router::Router;
pub use sender::Sender;

use crate::{Header as _, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kelly;

impl Protocol for Kelly {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for Kelly {
    const INFO: LawInfo = LawInfo {
        name: "kelly",
        title: "Classic Kelly control",
        source: "Zhang 2008, eq 1-2, section V.1, eq 53-54",
        signal: Signal::Price,
        cost: "2 additions, 1 comparison",
        number: 7,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: None,
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
