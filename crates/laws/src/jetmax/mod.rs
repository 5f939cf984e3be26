//! JetMax: max-min fair rates in a number of steps that does not depend on capacity or delay (Zhang 2008, chapter VI).
//!
//! Routers estimate their number of responsive flows, and feed back a price and a fair share. A sender follows the
//! router with the largest price. Each step of its rate is a fixed fraction of the distance to the fair share of this
//! router. A sender proposes an increase to the routers before it increases its rate. `README.md` has the model and the
//! deviations from the paper.

mod header;
mod offload;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, RouterParams, Settle};
pub use router::{Router, fair_share, price};
pub use sender::{Sender, step};

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
    type Receiver = ();

    #[inline]
    fn reflect(_receiver: &mut (), _arrived: &Arrived, header: &Header) -> Header {
        header.reflected()
    }
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "jetmax",
        number: 1,
        signal: Signal::Price,
        header: <Header as crate::Header>::LAYOUT,
        cost: "3 additions, 3 comparisons",
        routers: RouterInfo {
            kernel: Some(Counting::PerProcessor),
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        params: &RouterParams::TABLE,
    };
}

/// The JetMax law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JetMax;

impl Protocol for JetMax {
    type Signalling = Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport::PLAIN
    }
}

impl Law for JetMax {
    const INFO: LawInfo = LawInfo {
        name: "jetmax",
        title: "JetMax: fair rates in a fixed number of steps",
        source: "Zhang 2008, chapter VI, eq 133-136, 149-150",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
