//! Classic Kelly control: routers add up their prices, senders spend a constant sum on them.
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

pub use header::KellyHeader;
pub use params::KellyParams;
pub use router::KellyRouter;
pub use sender::KellySender;

use crate::{Header, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kelly;

impl Protocol for Kelly {
    type Params = KellyParams;
    type Header = KellyHeader;
    type Sender = KellySender;
    type Router = KellyRouter;
    type Receiver = ();

    fn transport(_params: &KellyParams) -> Transport {
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
        header: KellyHeader::LAYOUT,
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: None,
        },
        scale_invariant: true,
        params: &KellyParams::TABLE,
    };
}
