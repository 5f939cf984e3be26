//! ABC's parameter table.

use levelflow_units::Duration;

use crate::Parameters;
use crate::cubic::{CubicParams, CubicState};
use crate::params::{Unit, parameters};
use crate::tcp::{TcpParams, Variant};

parameters! {
    /// Validated parameters.
    pub struct AbcParams {
        /// `eta`.
        eta: f64 = Unit::Number, 0.98, (0.1, 1.0),
            "share of the capacity to fill",
            "Goyal et al. 2020, section 3.1.2; the authors' queue in Mahimahi: 0.98";
        /// `delta`, seconds.
        delta: f64 = Unit::Duration, 0.133, (1e-6, 100.0),
            "time in which a queue above the target is to drain; stable above 2/3 of the round-trip time",
            "Goyal et al. 2020, section 3.1.2 and the authors' exp.sh: 133 ms for paths of 100 ms";
        /// `d_t`, seconds.
        delay_target: f64 = Unit::Duration, 0.05, (0.0, 10.0),
            "queueing delay that does not count: links that send in batches have some whatever the load",
            "the authors' exp.sh: 50 ms";
        /// Of the sliding window over which departures are counted.
        window: Duration = Unit::Duration, 0.02, (20e-6, 10.0),
            "time over which a router measures how fast packets leave",
            "the authors' queue in Mahimahi: 20 ms";
        tokens: f64 = Unit::Number, 5.0, (1.5, 1e6),
            "most accelerations in a row that were saved up",
            "the authors' queue in Mahimahi: 5";
        initial_window: f64 = Unit::Number, 10.0, (1.0, 1e6),
            "first window, packets",
            "RFC 6928, as in Linux, on which the authors' sender runs";
        min_window: f64 = Unit::Number, 5.0, (1.0, 1e6),
            "a smaller window does not brake, packets",
            "the authors' tcp_abc.c: 5";
    } also {
        /// Of the window that reacts to losses.
        pub(super) cubic: TcpParams<CubicParams> = cubic(initial_window);
    }
}

/// CUBIC at its defaults, but for the first window. Its window may grow to twice what is on its way, as that of a sender
/// that paces (section 5.1.1).
fn cubic(initial_window: f64) -> TcpParams<CubicParams> {
    let values = CubicState::INFO.params.iter().map(|row| row.default);
    let mut defaults = [0.0; CubicState::INFO.params.len()];
    for (slot, value) in defaults.iter_mut().zip(values) {
        *slot = value;
    }
    let mut params = TcpParams::<CubicParams>::read(&defaults).expect("the defaults fit together");
    params.common.initial_window = initial_window;
    params.common.paced = true;
    params
}
