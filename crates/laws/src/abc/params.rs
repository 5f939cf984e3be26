//! Parameters of ABC.

use levelflow_units::Duration;

use crate::Parameters;
use crate::cubic::{self, CubicState};
use crate::params::{Unit, parameters};
use crate::tcp::{TcpParams, Variant};

parameters! {
    /// Validated parameters of senders.
    pub struct Params {
        initial_window: f64 = Unit::Number, 10.0, (1.0, 1e6),
            "initial window, packets",
            "RFC 6928 and Linux, on which the authors' sender runs";
        min_window: f64 = Unit::Number, 5.0, (1.0, 1e6),
            "smallest window, packets; brakes do not reduce the window further",
            "the authors' tcp_abc.c: 5";
    } also {
        /// Parameters of the CUBIC window, which reacts to losses.
        pub(super) cubic: TcpParams<cubic::Params> = cubic(initial_window);
    }
}

parameters! {
    /// Validated parameters of routers. Each link may have different values.
    pub struct RouterParams {
        /// `eta`: target utilisation.
        eta: f64 = Unit::Number, 0.98, (0.1, 1.0),
            "target utilisation, as a fraction of the capacity",
            "Goyal et al. 2020, section 3.1.2; the authors' queue in Mahimahi: 0.98";
        /// `delta`: drain time, seconds.
        delta: f64 = Unit::Duration, 0.133, (1e-6, 100.0),
            "time in which a queueing delay above the target drains; rates are stable if it exceeds 2/3 of the round-trip time",
            "Goyal et al. 2020, section 3.1.2 and the authors' exp.sh: 133 ms for paths of 100 ms";
        /// `d_t`: target queueing delay, seconds.
        delay_target: f64 = Unit::Duration, 0.05, (0.0, 10.0),
            "target queueing delay; links that send in batches have a queueing delay at any load",
            "the authors' exp.sh: 50 ms";
        /// Length of the sliding window in which the departure rate is measured.
        window: Duration = Unit::Duration, 0.02, (20e-6, 10.0),
            "time over which a router measures the departure rate",
            "the authors' queue in Mahimahi: 20 ms";
        tokens: f64 = Unit::Number, 5.0, (1.5, 1e6),
            "size of the token bucket: largest number of saved accelerations",
            "the authors' queue in Mahimahi: 5";
    }
}

/// Returns the default parameters of CUBIC with this initial window. `paced` permits a window of twice the packets in
/// flight (section 5.1.1).
fn cubic(initial_window: f64) -> TcpParams<cubic::Params> {
    let values = CubicState::INFO.params.iter().map(|row| row.default);
    let mut defaults = [0.0; CubicState::INFO.params.len()];
    for (slot, value) in defaults.iter_mut().zip(values) {
        *slot = value;
    }
    let mut params = TcpParams::<cubic::Params>::read(&defaults).expect("the defaults fit together");
    params.common.initial_window = initial_window;
    params.common.paced = true;
    params
}
