//! CBR: constant bit rate. It listens to nothing; cross traffic for the other laws.
//!
//! Source: the UDP/CBR source of ns-2 and of the papers that use it as cross traffic.

mod params;
mod sender;
#[cfg(test)]
mod tests;

pub use params::CbrParams;
pub use sender::CbrSender;

use crate::{Law, LawInfo, NoHeader, NoRouter, Protocol, Signal, Transport};

/// The law; see the [module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cbr;

impl Protocol for Cbr {
    type Params = CbrParams;
    type Header = NoHeader;
    type Sender = CbrSender;
    type Router = NoRouter<CbrParams, NoHeader>;
    type Receiver = ();

    fn transport(params: &CbrParams) -> Transport {
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
        "CBR: constant bit rate, which listens to nothing",
        "the UDP/CBR source of ns-2",
        Signal::Nothing,
        false,
        &CbrParams::TABLE,
    );
}
