//! HighSpeed TCP's own parameters, and its functions of the window.

use crate::params::{ParamSpec, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HighSpeedParams {
    /// `Low_Window`: up to here it is Reno, packets.
    pub low_window: f64,
    /// `High_Window`, packets.
    pub high_window: f64,
    /// `Low_P`: loss rate at which the window is `Low_Window`.
    pub low_p: f64,
    /// `High_Decrease`: part of `High_Window` that a loss takes.
    pub high_decrease: f64,
    /// Logarithm of `High_Window / Low_Window`.
    span: f64,
    /// Exponent of the loss rate as a function of the window, `1/S` of section 5.
    exponent: f64,
}

pub(super) const TABLE: [ParamSpec; ROWS + 5] = table([
    ParamSpec {
        name: "low_window",
        doc: "up to this window it is Reno, packets",
        unit: Unit::Number,
        default: 38.0,
        range: (2.0, 1e4),
        source: "RFC 3649, section 5",
    },
    ParamSpec {
        name: "high_window",
        doc: "window at which high_p and high_decrease hold, packets",
        unit: Unit::Number,
        default: 83_000.0,
        range: (2e4, 1e8),
        source: "RFC 3649, section 5",
    },
    ParamSpec {
        name: "low_p",
        doc: "loss rate that gives low_window",
        unit: Unit::Number,
        default: 1e-3,
        range: (1e-4, 0.5),
        source: "RFC 3649, section 5",
    },
    ParamSpec {
        name: "high_p",
        doc: "loss rate that gives high_window",
        unit: Unit::Number,
        default: 1e-7,
        range: (1e-12, 5e-5),
        source: "RFC 3649, section 5",
    },
    ParamSpec {
        name: "high_decrease",
        doc: "part of high_window that a loss takes",
        unit: Unit::Number,
        default: 0.1,
        range: (0.01, 0.5),
        source: "RFC 3649, section 5",
    },
]);

/// Reno's decrease, at `Low_Window`.
const LOW_DECREASE: f64 = 0.5;

impl HighSpeedParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[low_window, high_window, low_p, high_p, high_decrease] = values else {
            panic!("one value per row of the table");
        };
        let span = libm::log(high_window / low_window);
        Self {
            low_window,
            high_window,
            low_p,
            high_decrease,
            span,
            exponent: libm::log(high_p / low_p) / span,
        }
    }

    /// `a(w)`: growth per round trip, packets; at least 1.
    #[must_use]
    pub fn increase(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return 1.0;
        }
        let p = self.low_p * libm::exp(self.exponent * libm::log(window / self.low_window));
        let b = self.decrease(window);
        (window * window * p * 2.0 * b / (2.0 - b)).max(1.0)
    }

    /// `b(w)`: part of the window that a loss takes; no less above `High_Window`.
    #[must_use]
    pub fn decrease(&self, window: f64) -> f64 {
        if window <= self.low_window {
            return LOW_DECREASE;
        }
        let way = libm::log(window / self.low_window) / self.span;
        LOW_DECREASE + way.min(1.0) * (self.high_decrease - LOW_DECREASE)
    }
}
