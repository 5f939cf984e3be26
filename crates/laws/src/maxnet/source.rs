//! Dynamics of a sender: a fast response to the price, and slow convergence to the common demand curve (eq 6-10).

use levelflow_units::Duration;

use super::fixed::Fixed;
use super::header;
use super::{Arithmetic, Params};

/// State `xi` of eq 10, in one of two arithmetics.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// `xi` in double precision.
    Float(f64),
    /// `xi` in integer arithmetic.
    Fixed(Fixed),
}

impl Source {
    /// Creates the state with `xi` at its equilibrium, so that the rate is on the demand curve.
    pub(super) fn new(params: &Params, field: u32, tau: Duration) -> Self {
        match params.arithmetic {
            Arithmetic::Float => Self::Float(equilibrium(params, header::price(field), tau.as_secs_f64())),
            Arithmetic::Fixed => Self::Fixed(Fixed::new(&params.fixed, field, tau)),
        }
    }

    /// Updates `xi` by eq 10 for the echoed `field`, a time `dt` after the last update. Returns the rate, bit/s.
    ///
    /// The step of `xi` is proportional to the distance from its equilibrium at this price. Clipping `xi` at the
    /// equilibrium (section VI) is thus equivalent to clipping the factor at 1.
    pub(super) fn update(&mut self, params: &Params, field: u32, tau: Duration, dt: Duration) -> f64 {
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

/// Returns the equilibrium of `xi`, at which eq 6a gives the demand of eq 7: `alpha q/tau - q/T`.
fn equilibrium(params: &Params, q: f64, tau: f64) -> f64 {
    params.alpha * q / tau - q / params.t
}
