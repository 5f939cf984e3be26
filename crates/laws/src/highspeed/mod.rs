//! HighSpeed TCP: Reno whose growth and reduction depend on the window, above 38 packets.
//!
//! Source: RFC 3649 (S. Floyd, 2003), section 5.

mod params;
#[cfg(test)]
mod tests;

pub use params::HighSpeedParams;

use crate::LawInfo;
use crate::tcp::{Ack, Congestion, Tcp, Variant, Window, info};

/// The law; see the [module](self).
pub type HighSpeed = Tcp<HighSpeedState>;

/// HighSpeed TCP remembers nothing but its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HighSpeedState;

impl Variant for HighSpeedState {
    type Params = HighSpeedParams;
    const INFO: LawInfo = info(
        "highspeed",
        "HighSpeed TCP: growth and reduction depend on the window",
        "RFC 3649, section 5",
        &params::TABLE,
    );

    #[inline]
    fn avoid(&mut self, params: &HighSpeedParams, ack: &Ack, window: &mut Window) {
        window.size += params.increase(window.size) * f64::from(ack.acked) / window.size;
    }

    fn reduce(&mut self, params: &HighSpeedParams, congestion: &Congestion) -> f64 {
        congestion.window * (1.0 - params.decrease(congestion.window))
    }
}
