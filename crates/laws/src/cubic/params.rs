//! CUBIC's own parameters.

use crate::params::{ParamSpec, SWITCH, Unit, parameters};
use crate::tcp::{ROWS, table};

parameters! {
    /// Validated parameters.
    pub struct CubicParams {
        /// `C`, packets per s^3.
        //= RFC 9438, section 5.1
        //# Therefore, _C_ SHOULD be set to 0.4.
        c: f64 = Unit::Number, 0.4, (1e-4, 1e3),
            "growth, packets per s^3",
            "RFC 9438, section 5.1";
        /// What a loss leaves of the window, `beta_cubic`.
        beta: f64 = Unit::Number, 0.7, (0.1, 0.99),
            "what a loss leaves of the window",
            "RFC 9438, section 4.6; Linux until 2.6.24: 0.8";
        fast_convergence: bool = Unit::Switch, 1.0, SWITCH,
            "a flow whose maximum shrinks aims lower still",
            "RFC 9438, section 4.7";
        hystart: bool = Unit::Switch, 0.0 => 1.0, SWITCH,
            "HyStart++: the first slow start ends when the round-trip time grows",
            "RFC 9406; Linux has its predecessor, HyStart; off in the runs of the papers";
    }
}

pub(super) const TABLE: [ParamSpec; ROWS + CubicParams::TABLE.len()] = table(CubicParams::TABLE);

impl CubicParams {
    /// `alpha_cubic`: the growth per round trip that gives Reno's mean window with CUBIC's reduction (section 4.3).
    pub(super) fn reno_alpha(&self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}
