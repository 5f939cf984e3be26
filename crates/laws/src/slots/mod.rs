//! Slots: transfers in reserved time slots, for short completion times (Levelflow).
//!
//! A sender requests a slot for its data. Each router of the path reserves the next free time of its link, and limits
//! the amount of data. The sender waits for the longest of these times, and then sends at the rate of the slot. Slots
//! of flows with equal round-trip times do not overlap, so that queues stay short.

mod header;
mod params;
mod router;
mod sender;
#[cfg(test)]
mod tests;

pub use header::Header;
pub use params::RouterParams;
pub use router::Router;
pub use sender::Sender;

use crate::law::{
    Law, LawInfo, Opening, Protocol, RouterInfo, Signal, Signalling, SignallingInfo, Transport, WireSignalling,
};

/// Signalling of the law: header, router and receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signals;

impl Signalling for Signals {
    type Params = RouterParams;
    type Header = Header;
    type Router = Router;
    type Receiver = ();
}

impl WireSignalling for Signals {
    const INFO: SignallingInfo = SignallingInfo {
        name: "slots",
        number: 11,
        signal: Signal::Rate,
        header: <Header as crate::Header>::LAYOUT,
        cost: "2 additions, 2 comparisons; 16 operations per request",
        routers: RouterInfo {
            kernel: None,
            interval: Some("interval"),
            utilisation: Some("gamma"),
        },
        params: &RouterParams::TABLE,
    };
}

/// Slots law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slots;

impl Protocol for Slots {
    type Signalling = Signals;
    type Params = ();
    type Sender = Sender;

    fn transport(_params: &()) -> Transport {
        Transport {
            opening: Opening::Handshake,
            ..Transport::PLAIN
        }
    }
}

impl Law for Slots {
    const INFO: LawInfo = LawInfo {
        name: "slots",
        title: "Slots: transfers in reserved time slots, for short completion times",
        source: "Levelflow, crates/laws/src/slots/README.md",
        signal: Signals::INFO.signal,
        signalling: &Signals::INFO,
        scale_invariant: true,
        params: &[],
    };
}
