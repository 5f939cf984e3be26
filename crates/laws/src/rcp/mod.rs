//! RCP: rate control protocol. Each router offers one rate to all its flows. Senders adopt the smallest offer of the
//! path.
//!
//! Source: N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, "Processor sharing flows in the Internet" (2005),
//! section II, eq 1-2.

mod header;
mod offload;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::{Params, RttEstimate};
pub use router::Router;
pub use sender::Sender;

use crate::{Counting, Header as _, Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rcp;

impl Protocol for Rcp {
    type Params = Params;
    type Header = Header;
    type Sender = Sender;
    type Router = Router;
    type Receiver = ();

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            ..Transport::PLAIN
        }
    }
}

impl Law for Rcp {
    const INFO: LawInfo = LawInfo {
        name: "rcp",
        title: "RCP: rate control protocol",
        source: "Dukkipati, Kobayashi, Zhang-Shen, McKeown 2005, section II, eq 1-2",
        signal: Signal::Rate,
        cost: "2 additions, 2 multiplications, 1 comparison",
        number: 3,
        header: Header::LAYOUT,
        routers: RouterInfo {
            kernel: Some(Counting::Locked),
            interval: Some("interval"),
            utilisation: None,
        },
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
