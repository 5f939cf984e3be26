//! EMKC-AVQ: EMKC with routers that adapt a virtual capacity until the load meets the target, so that no packet is
//! lost.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! 2008), section VI.3.3, eq 129-130; the sender is that of [`emkc`](crate::emkc).

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, VirtualCapacity};
pub use router::Router;
pub use sender::Sender;

use crate::{Header as _, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmkcAvq;

impl Protocol for EmkcAvq {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for EmkcAvq {
    const INFO: LawInfo = LawInfo {
        name: "emkc_avq",
        title: "EMKC-AVQ: EMKC with an adaptive virtual capacity",
        source: "Zhang 2008, section VI.3.3, eq 129-130",
        signal: Signal::Price,
        cost: "1 addition, 2 comparisons",
        number: 6,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        scale_invariant: true,
        params: &params::TABLE,
    };
}
