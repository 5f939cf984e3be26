//! The dynamics of a sender: a fast response to the price, and a slow approach to the common demand curve (eq 6-10).

use levelflow_units::Duration;

use super::fixed::Fixed;
use super::header;
use super::{Arithmetic, MaxNetParams};

/// `xi` of eq 10, in one of two arithmetics.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// Double precision.
    Float(f64),
    /// Integers.
    Fixed(Fixed),
}

impl Source {
    /// On the demand curve.
    pub(super) fn new(params: &MaxNetParams, field: u32, tau: Duration) -> Self {
        match params.arithmetic {
            Arithmetic::Float => Self::Float(equilibrium(params, header::price(field), tau.as_secs_f64())),
            Arithmetic::Fixed => Self::Fixed(Fixed::new(&params.fixed, field, tau)),
        }
    }

    /// Eq 10 for the echoed `field`, `dt` after the last update; gives the rate, bit/s.
    ///
    /// The step is proportional to the distance from the equilibrium of `xi` at this price, so that clipping it there
    /// (section VI) is clipping the factor at 1.
    pub(super) fn update(&mut self, params: &MaxNetParams, field: u32, tau: Duration, dt: Duration) -> f64 {
        let xi = match self {
            Self::Float(xi) => xi,
            Self::Fixed(fixed) => return fixed.update(&params.fixed, field, tau, dt),
        };
        let (q, tau) = (header::price(field), tau.as_secs_f64());
        let gain = params.alpha * params.eta * params.t * dt.as_secs_f64() / (tau * tau);
        let goal = equilibrium(params, q, tau);
        *xi = if gain < 1.0 { *xi + gain * (goal - *xi) } else { goal };
        params.x_max * libm::exp((*xi - params.alpha * q / tau).min(0.0))
    }
}

/// `xi` at which eq 6a gives the demand of eq 7: `alpha q/tau - q/T`.
fn equilibrium(params: &MaxNetParams, q: f64, tau: f64) -> f64 {
    params.alpha * q / tau - q / params.t
}
