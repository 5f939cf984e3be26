//! Adaptive DropTail: an integral controller of utilisation.
//!
//! Source: C. Kellett, R. Shorten, D. Leith, "Sizing Internet router buffers, active queue management, and the Lur'e
//! problem" (2006), in the form of Zhang 2008, eq 11: `b <- b + K (u* - u)` every interval. The algorithm is stable for
//! `0 < K < 2/k_2`, where `k_2` is the largest slope of `u(b)`. With `K = I_u T`, it equals eq 163 of ABS.

use levelflow_units::Duration;

use super::abs::{ABOVE_LARGEST, INITIAL, INTERVAL, LARGEST, NO_TARGET, UTILISATION};
use super::{BufferAlgorithm, BufferAlgorithmInfo, Load};
use crate::law::PortInfo;
use crate::params::{Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct AdtParams {
        /// Target utilisation `u*`.
        utilisation: f64 = UTILISATION;
        /// Time between two updates.
        interval: Duration = INTERVAL;
        gain: f64 = Unit::Number, 600.0, (1e-6, 1e9),
            "gain K: packets added per interval, divided by the missing utilisation",
            "Zhang 2008, fig 46: I_u T of ABS";
        /// Initial buffer, packets.
        initial: f64 = INITIAL;
        /// Largest buffer, packets.
        largest: f64 = LARGEST;
    } where {
        utilisation: utilisation > 0.0, NO_TARGET;
        initial: initial <= largest, ABOVE_LARGEST;
    }
}

/// State of Adaptive DropTail at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct Adt {
    port: PortInfo,
    buffer: f64,
}

impl BufferAlgorithm for Adt {
    type Params = AdtParams;

    const INFO: BufferAlgorithmInfo = BufferAlgorithmInfo {
        name: "adt",
        title: "Adaptive DropTail: an integral controller of utilisation",
        source: "Kellett, Shorten, Leith 2006; Zhang 2008, eq 11",
        params: &AdtParams::TABLE,
    };

    fn interval(params: &AdtParams) -> Duration {
        params.interval
    }

    fn new(params: &AdtParams, port: &PortInfo) -> Self {
        Self {
            port: *port,
            buffer: params.initial,
        }
    }

    fn on_interval(&mut self, params: &AdtParams, load: &Load) {
        let missing = params.utilisation - load.utilisation(&self.port);
        self.buffer = (self.buffer + params.gain * missing).clamp(1.0, params.largest);
    }

    fn packets(&self) -> f64 {
        self.buffer
    }

    /// Ignores a smaller grant, because the printed equations have no grants. The request may grow to `largest`.
    fn on_grant(&mut self, _params: &AdtParams, packets: f64) {
        self.buffer = self.buffer.max(packets);
    }
}
