//! Scalable TCP: a constant increase per acknowledged packet, and a small decrease per loss. Recovery from a loss takes
//! the same number of round trips at any rate.
//!
//! Source: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks" (2003).

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::LawInfo;
use crate::reno::{additive_increase, half};
use crate::tcp::{AckEvent, Congestion, Tcp, Variant, Window, info};

/// Scalable TCP; see the [module](self).
pub type Scalable = Tcp<ScalableState>;

/// Empty state: Scalable TCP needs only its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScalableState;

impl Variant for ScalableState {
    type Params = Params;
    const INFO: LawInfo = info(
        "scalable",
        "Scalable TCP: a fixed step per packet",
        "Kelly 2003, section 3",
        &params::TABLE,
    );

    #[inline]
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        let reno = window.size < params.low_window || (params.reno_floor && window.size * params.step < 1.0);
        if reno {
            additive_increase(ack.acked, window);
        } else {
            window.size += params.step * f64::from(ack.acked);
        }
    }

    fn reduce(&mut self, params: &Params, congestion: &Congestion) -> f64 {
        if congestion.window < params.low_window {
            half(congestion)
        } else {
            congestion.window * (1.0 - params.cut)
        }
    }
}
