//! CUBIC's own parameters.

use crate::params::{ParamSpec, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicParams {
    /// `C`, packets per s^3.
    pub c: f64,
    /// What a loss leaves of the window, `beta_cubic`.
    pub beta: f64,
    /// Whether a flow whose maximum shrinks aims lower still.
    pub fast_convergence: bool,
}

pub(super) const TABLE: [ParamSpec; ROWS + 3] = table([
    ParamSpec {
        name: "c",
        doc: "growth, packets per s^3",
        unit: Unit::Number,
        default: 0.4,
        range: (1e-4, 1e3),
        source: "RFC 9438, section 5.1",
    },
    ParamSpec {
        name: "beta",
        doc: "what a loss leaves of the window",
        unit: Unit::Number,
        default: 0.7,
        range: (0.1, 0.99),
        source: "RFC 9438, section 4.6; Linux until 2.6.24: 0.8",
    },
    ParamSpec {
        name: "fast_convergence",
        doc: "a flow whose maximum shrinks aims lower still",
        unit: Unit::Switch,
        default: 1.0,
        range: (0.0, 1.0),
        source: "RFC 9438, section 4.7",
    },
]);

impl CubicParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[c, beta, fast_convergence] = values else {
            panic!("one value per row of the table");
        };
        Self {
            c,
            beta,
            fast_convergence: fast_convergence != 0.0,
        }
    }

    /// `alpha_cubic`: the growth per round trip that gives Reno's mean window with CUBIC's reduction (section 4.3).
    pub(super) fn reno_alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}
