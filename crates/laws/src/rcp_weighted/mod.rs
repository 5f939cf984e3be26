//! Weighted RCP: senders multiply the offered rate by a weight. Header and routers are from [`rcp`].
//!
//! Source: F. Kelly, G. Raina, T. Voice, "Stability and fairness of explicit congestion control with small buffers"
//! (2008), for the weights of flows.

mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::Params;
pub use sender::Sender;

use crate::{Law, LawInfo, Opening, Protocol, Transport, WireSignalling, rcp};

/// Weighted RCP law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RcpWeighted;

impl Protocol for RcpWeighted {
    type Signalling = rcp::Signals;
    type Params = Params;
    type Sender = Sender;

    fn transport(_params: &Params) -> Transport {
        Transport {
            opening: Opening::Handshake,
            ..Transport::PLAIN
        }
    }
}

impl Law for RcpWeighted {
    const INFO: LawInfo = LawInfo {
        name: "rcp_weighted",
        title: "Weighted RCP: a multiple of the rate that RCP's routers offer",
        source: "Kelly, Raina, Voice 2008; routers of Dukkipati et al. 2005",
        signal: rcp::Signals::INFO.signal,
        signalling: &rcp::Signals::INFO,
        scale_invariant: true,
        params: &Params::TABLE,
    };
}
