//! Parameters of CUBIC.

use crate::params::{ParamSpec, SWITCH_RANGE, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct Params {
        /// Coefficient `C` of the cubic function, packets per s^3.
        //= RFC 9438, section 5.1
        //# Therefore, _C_ SHOULD be set to 0.4.
        c: f64 = Unit::Number, 0.4, (1e-4, 1e3),
            "coefficient of the cubic function, packets per s^3",
            "RFC 9438, section 5.1";
        /// `beta_cubic`: factor on the window at a loss.
        beta: f64 = Unit::Number, 0.7, (0.1, 0.99),
            "factor on the window at a loss",
            "RFC 9438, section 4.6; Linux until 2.6.24: 0.8";
        fast_convergence: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "fast convergence: if the window at a loss is below the previous W_max, W_max becomes smaller than this window",
            "RFC 9438, section 4.7";
        hystart: bool = Unit::Switch, 0.0 => 1.0, SWITCH_RANGE,
            "HyStart++: end the first slow start when the round-trip time increases",
            "RFC 9406; Linux has HyStart, its predecessor; off in the runs of the papers";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + Params::TABLE.len()] = table(Params::TABLE);

impl Params {
    /// Returns the growth per round trip `alpha_cubic`. With this growth and the reduction of CUBIC, the mean window
    /// equals that of Reno (section 4.3).
    pub(super) fn reno_alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}
