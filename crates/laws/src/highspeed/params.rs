//! Parameters of HighSpeed TCP, and increase and decrease as functions of the window.

use crate::params::{ParamSpec, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// `Low_Window`: largest window with the behaviour of Reno, packets.
        low_window: f64 = Unit::Number, 38.0, (2.0, 1e4),
            "largest window at which it behaves like Reno, packets",
            "RFC 3649, section 5";
        /// `High_Window`: window at which `high_p` and `high_decrease` apply, packets.
        high_window: f64 = Unit::Number, 83_000.0, (2e4, 1e8),
            "window to which high_p and high_decrease apply, packets",
            "RFC 3649, section 5";
        /// `Low_P`: loss rate at which the mean window is `Low_Window`.
        low_p: f64 = Unit::Number, 1e-3, (1e-4, 0.5),
            "loss rate at which the mean window is low_window",
            "RFC 3649, section 5";
        high_p: f64 = Unit::Number, 1e-7, (1e-12, 5e-5),
            "loss rate at which the mean window is high_window",
            "RFC 3649, section 5";
        /// `High_Decrease`: fraction by which a loss reduces the window at `High_Window`.
        high_decrease: f64 = Unit::Number, 0.1, (0.01, 0.5),
            "fraction of high_window removed at a loss",
            "RFC 3649, section 5";
    } also {
        /// Logarithm of `High_Window / Low_Window`.
        span: f64 = libm::log(high_window / low_window);
        /// `1/S` of section 5: exponent of the loss rate as a function of the window.
        exponent: f64 = libm::log(high_p / low_p) / span;
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);

/// Fraction of the window that Reno removes at a loss; used up to `Low_Window`.
const LOW_DECREASE: f64 = 0.5;

impl Params {
    /// Returns `a(w)`, the growth per round trip, in packets; at least 1.
    #[must_use]
    pub fn increase(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let p = self.low_p * libm::exp(self.exponent * libm::log(window / self.low_window));
        let b = self.decrease(window);
        (window * window * p * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// Returns `b(w)`, the fraction of the window removed at a loss; constant above `High_Window`.
    #[must_use]
    pub fn decrease(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return LOW_DECREASE;
        }
        let way = libm::log(window / self.low_window) / self.span;
        LOW_DECREASE + way.min(1.0) * (self.high_decrease - LOW_DECREASE)
    }
}
