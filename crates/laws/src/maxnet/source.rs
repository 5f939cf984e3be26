//! Dynamics of a sender (eq 6-10): a fast response to price changes, and slow convergence to the common demand curve.

use levelflow_units::Duration;

use super::fixed::Fixed;
use super::header;
use super::{Arithmetic, Params};

/// State `xi` of eq 10, in floating-point or integer arithmetic.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// `xi` in double precision.
    Float(f64),
    /// `xi` in integer arithmetic.
    Fixed(Fixed),
}

impl Source {
    /// Creates the state with `xi` at its equilibrium. The rate is then on the demand curve.
    pub(super) fn new(params: &Params, field: u32, tau: Duration) -> Self {
        match params.arithmetic {
            Arithmetic::Float => Self::Float(equilibrium(params, header::price(field), tau.as_secs_f64())),
            Arithmetic::Fixed => Self::Fixed(Fixed::new(&params.fixed, field, tau)),
        }
    }

    /// Updates `xi` by eq 10. `field` is the echoed field, and `dt` is the time since the last update. Returns the
    /// rate, bit/s.
    ///
    /// A step of `xi` is the gain times the distance to its equilibrium at this price. With a gain of at most 1, `xi`
    /// therefore never passes the equilibrium (section VI).
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

/// Returns `alpha q/tau - q/T`, the equilibrium of `xi`. At this value, the rate of eq 6a is the demand of eq 7.
fn equilibrium(params: &Params, q: f64, tau: f64) -> f64 {
    params.alpha * q / tau - q / params.t
}
