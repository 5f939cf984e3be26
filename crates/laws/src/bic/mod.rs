//! BIC: the congestion window approaches the window of the last loss by binary search.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks"
//! (INFOCOM 2004).

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use crate::LawInfo;
use crate::reno::{additive_increase, half};
use crate::tcp::{AckEvent, Congestion, Tcp, Variant, Window, info};

/// BIC; see the [module](self).
pub type Bic = Tcp<BicState>;

/// State of the binary search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BicState {
    /// Window at the last loss, packets; infinite before the first loss.
    max: f64,
    /// Search for a window above `max`; `None` for windows below `max`.
    probe: Option<Probe>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Probe {
    step: f64,
    until: f64,
}

impl BicState {
    /// Returns the growth per round trip, packets.
    fn step(&mut self, params: &Params, window: f64) -> f64 {
        if window < self.max {
            return ((self.max - window) / params.search).clamp(params.s_min, params.s_max);
        }
        let probe = self.probe.get_or_insert(Probe {
            step: 1.0,
            until: window + 1.0,
        });
        if window >= probe.until {
            probe.step *= 2.0;
            probe.until = window + probe.step;
        }
        probe.step = probe.step.min(params.s_max);
        probe.step
    }
}

impl Default for BicState {
    fn default() -> Self {
        Self {
            max: f64::INFINITY,
            probe: None,
        }
    }
}

impl Variant for BicState {
    type Params = Params;
    const INFO: LawInfo = info(
        "bic",
        "BIC: binary search for the window of the last loss",
        "Xu, Harfoush, Rhee 2004, section III",
        &params::TABLE,
    );

    #[inline]
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        if window.size < params.low_window {
            additive_increase(ack.acked, window);
        } else {
            let step = self.step(params, window.size);
            window.size += step * f64::from(ack.acked) / window.size;
        }
    }

    fn reduce(&mut self, params: &Params, congestion: &Congestion) -> f64 {
        let window = congestion.window;
        self.probe = None;
        let shrinks = self.max.is_finite() && window <= self.max - 1.0;
        self.max = if params.fast_convergence && shrinks {
            window * (1.0 - params.cut / 2.0)
        } else {
            window
        };
        if window < params.low_window {
            half(congestion)
        } else {
            window * (1.0 - params.cut)
        }
    }
}
