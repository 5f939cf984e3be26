//! CBR: constant bit rate without reaction to feedback, used as cross traffic for other laws.
//!
//! Source: the UDP/CBR traffic source of ns-2, which papers use for cross traffic.

mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::Params;
pub use sender::Sender;

use crate::{Law, LawInfo, NoSignals, Protocol, Signal, Transport};

/// CBR; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cbr;

impl Protocol for Cbr {
    type Signalling = NoSignals;
    type Params = Params;
    type Sender = Sender;

    fn transport(params: &Params) -> Transport {
        Transport {
            acknowledged: params.acks,
            constant: true,
            ..Transport::PLAIN
        }
    }
}

impl Law for Cbr {
    const INFO: LawInfo = LawInfo::of_hosts(
        "cbr",
        "CBR: constant bit rate, without reaction to feedback",
        "the UDP/CBR source of ns-2",
        Signal::Nothing,
        false,
        &Params::TABLE,
    );
}
