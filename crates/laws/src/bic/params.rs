//! BIC's own parameters.

use crate::params::{ParamError, ParamSpec, Problem, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BicParams {
    /// Below this window it is Reno, packets.
    pub low_window: f64,
    /// Largest growth per round trip, `S_max`, packets.
    pub s_max: f64,
    /// Smallest, `S_min`.
    pub s_min: f64,
    /// A round trip covers one part in so many of the way to the last maximum.
    pub search: f64,
    /// Part of the window that a loss takes, `beta`.
    pub cut: f64,
    /// Whether a flow whose maximum shrinks aims lower still.
    pub fast_convergence: bool,
}

pub(super) const TABLE: [ParamSpec; ROWS + 6] = table([
    ParamSpec {
        name: "low_window",
        doc: "below this window it is Reno, packets",
        unit: Unit::Number,
        default: 14.0,
        range: (1.0, 1e6),
        source: "Xu, Harfoush, Rhee 2004, section III",
    },
    ParamSpec {
        name: "s_max",
        doc: "largest growth per round trip, packets",
        unit: Unit::Number,
        default: 32.0,
        range: (1.0, 1e4),
        source: "Xu, Harfoush, Rhee 2004, section V; Linux: 16",
    },
    ParamSpec {
        name: "s_min",
        doc: "smallest growth per round trip, packets",
        unit: Unit::Number,
        default: 0.01,
        range: (1e-4, 1e3),
        source: "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2",
    },
    ParamSpec {
        name: "search",
        doc: "a round trip covers one part in so many of the way to the last maximum",
        unit: Unit::Number,
        default: 2.0,
        range: (1.0, 100.0),
        source: "Xu, Harfoush, Rhee 2004, section III (binary search); Linux: 4",
    },
    ParamSpec {
        name: "cut",
        doc: "part of the window that a loss takes",
        unit: Unit::Number,
        default: 0.125,
        range: (0.01, 0.9),
        source: "Xu, Harfoush, Rhee 2004, section V; Linux: 0.2",
    },
    ParamSpec {
        name: "fast_convergence",
        doc: "a flow whose maximum shrinks aims lower still",
        unit: Unit::Switch,
        default: 1.0,
        range: (0.0, 1.0),
        source: "Xu, Harfoush, Rhee 2004, section III",
    },
]);

impl BicParams {
    pub(super) fn read(values: &[f64]) -> Result<Self, ParamError> {
        let &[low_window, s_max, s_min, search, cut, fast_convergence] = values else {
            panic!("one value per row of the table");
        };
        if s_min > s_max {
            return Err(ParamError {
                name: "s_min",
                problem: Problem::Conflict("s_min is above s_max; it must be at most s_max"),
            });
        }
        Ok(Self {
            low_window,
            s_max,
            s_min,
            search,
            cut,
            fast_convergence: fast_convergence != 0.0,
        })
    }
}
