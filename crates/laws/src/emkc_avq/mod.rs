//! EMKC-AVQ: EMKC whose routers adapt a virtual capacity until the load meets the target, so that none is lost.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! 2008), section VI.3.3, eq 129-130; the sender is that of [`emkc`](crate::emkc).

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::EmkcAvqHeader;
pub use params::{EmkcAvqParams, VirtualCapacity};
pub use router::EmkcAvqRouter;
pub use sender::EmkcAvqSender;

use crate::{Header, Law, LawInfo, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmkcAvq;

impl Protocol for EmkcAvq {
    type Params = EmkcAvqParams;
    type Header = EmkcAvqHeader;
    type Sender = EmkcAvqSender;
    type Router = EmkcAvqRouter;
    type Receiver = ();

    fn transport(_params: &EmkcAvqParams) -> Transport {
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
        header: EmkcAvqHeader::LAYOUT,
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        scale_invariant: true,
        params: &params::TABLE,
    };
}
