//! HighSpeed TCP: Reno with increases and decreases that depend on the congestion window. Below 38 packets, it behaves
//! like Reno.
//!
//! Source: RFC 3649 (S. Floyd, 2003), section 5.

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::LawInfo;
use crate::tcp::{AckEvent, Congestion, Tcp, Variant, Window, info};

/// HighSpeed TCP; see the [module](self).
pub type HighSpeed = Tcp<HighSpeedState>;

/// Empty state: HighSpeed TCP needs only its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HighSpeedState;

impl Variant for HighSpeedState {
    type Params = Params;
    const INFO: LawInfo = info(
        "highspeed",
        "HighSpeed TCP: growth and reduction depend on the window",
        "RFC 3649, section 5",
        &params::TABLE,
    );

    #[inline]
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        window.size += params.increase(window.size) * f64::from(ack.acked) / window.size;
    }

    fn reduce(&mut self, params: &Params, congestion: &Congestion) -> f64 {
        congestion.window * (1.0 - params.decrease(congestion.window))
    }
}
