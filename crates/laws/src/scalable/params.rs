//! Scalable TCP's own parameters.

use crate::params::{ParamSpec, Unit};
use crate::tcp::{ROWS, table};

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalableParams {
    /// Growth per answered packet, `a`, packets.
    pub step: f64,
    /// Part of the window that a loss takes, `b`.
    pub cut: f64,
    /// Below this window it is Reno, packets.
    pub low_window: f64,
    /// Whether it grows at least as fast as Reno.
    pub reno_floor: bool,
}

pub(super) const TABLE: [ParamSpec; ROWS + 4] = table([
    ParamSpec {
        name: "step",
        doc: "growth per answered packet, packets",
        unit: Unit::Number,
        default: 0.01,
        range: (1e-4, 1.0),
        source: "Kelly 2003, section 3; Zhang 2008, fig 7a: 0.05",
    },
    ParamSpec {
        name: "cut",
        doc: "part of the window that a loss takes",
        unit: Unit::Number,
        default: 0.125,
        range: (0.01, 0.9),
        source: "Kelly 2003, section 3",
    },
    ParamSpec {
        name: "low_window",
        doc: "below this window it is Reno, packets",
        unit: Unit::Number,
        default: 16.0,
        range: (1.0, 1e6),
        source: "Kelly 2003, section 3.1; Linux: 1",
    },
    ParamSpec {
        name: "reno_floor",
        doc: "grow at least as fast as Reno",
        unit: Unit::Switch,
        default: 0.0,
        range: (0.0, 1.0),
        source: "Linux 2.6; not in Kelly 2003",
    },
]);

impl ScalableParams {
    pub(super) fn read(values: &[f64]) -> Self {
        let &[step, cut, low_window, reno_floor] = values else {
            panic!("one value per row of the table");
        };
        Self {
            step,
            cut,
            low_window,
            reno_floor: reno_floor != 0.0,
        }
    }
}
