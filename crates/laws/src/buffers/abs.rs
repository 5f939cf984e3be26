//! Adaptive buffer sizing (ABS) with the printed equations: integral controllers of utilisation and loss.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation,
//! Texas A&M University, 2008), chapter VII.2. Once per interval `T`, the algorithm measures the utilisation `u` and
//! the loss rate `p`. It compares them with the targets `u*` and `p*`, and updates its buffers `b_u` and `b_p` and its
//! gains `I_u` and `I_p`:
//!
//! ```text
//! b_p += I_p T (p - p*)                            eq 162
//! b_u -= I_u T (u - u*)                            eq 163
//! b_u -= I_u T (u - u_before) (u - u*)             eq 164: damped
//! b    = max(b_u, b_p)                             eq 165
//! I_u -= step T (u - u*),  I_p -= step T (p* - p)  eq 170, 171: training
//! ```
//!
//! Interpretations of the source:
//! - `p` is dropped bytes divided by arrived bytes, and `u` is sent bytes divided by line capacity. Section VII.3.1
//!   prints the admitted fraction and the offered load instead.
//! - `b_u` and `b_p` are clamped to the range from 1 to `largest`. The clamp limits windup of the smaller buffer.
//! - At a port with a configured minimum, `b_u` and `b_p` are at least this minimum, which prevents windup.
//! - Eq 164 does not converge to the target: any buffer with a constant `u` is an equilibrium. Noise of variance `s^2`
//!   in `u` moves the buffer by `-I_u T s^2` per step. The default is eq 164 as printed. `damping = "absolute"` uses
//!   `|u - u_before|`. `damping = "none"` is eq 163.
//! - With `previous = "common"`, both controllers change the buffer of the port. While `u` is constant, the buffer then
//!   never shrinks, because `max` selects `b_u = b(n-1)`.
//! - `gain` is per second, as the factor `T` of the equations requires. The largest buffer of fig 46(b) is one step of
//!   `3000 (1 - p*)`, which indicates a gain of 3000 per interval: `gain = 15000` at `T` = 200 ms.
//! - Eq 170 follows from eq 169, which lacks the factor `u - u_before` of eq 164. `gradient = "full"` includes this
//!   factor.
//! - With `u` and `p` as fractions, a training step changes a gain by at most `T`. This change is negligible compared
//!   with the gain of 3000. With `training = "percent"`, gains change enough to explain fig 47.
//! - Training descends the gradient of an error, not of its square. Gains could therefore cross zero. They are clamped
//!   to at least 1.
//!
//! Levelflow's own algorithm [`abs_log`](super::abs_log) converges to its targets.

use levelflow_units::Duration;

use super::{BufferAlgorithm, BufferAlgorithmInfo, Load};
use crate::law::PortInfo;
use crate::params::{ParamSpec, Unit, choices, parameters, row};

choices! {
    /// Damping of the utilisation controller.
    pub enum Damping {
        /// Factor `u - u_before`: eq 164 as printed.
        Signed = "signed",
        /// Factor `|u - u_before|`.
        Absolute = "absolute",
        /// No factor: eq 163.
        None = "none",
    }
}

choices! {
    /// Buffer that eq 162 and 164 increase or decrease.
    pub enum Previous {
        /// The last output of the same controller, `b_p(n-1)` or `b_u(n-1)`, as printed.
        Own = "own",
        /// The last buffer of the port, `b(n-1)`, in both controllers.
        Common = "common",
    }
}

choices! {
    /// Training of the gains.
    pub enum Training {
        /// Constant gains.
        None = "none",
        /// Trained gains, with `u` and `p` as fractions.
        Fraction = "fraction",
        /// Trained gains, with `u` and `p` in percent.
        Percent = "percent",
    }
}

choices! {
    /// Gradient of training.
    pub enum Gradient {
        /// Eq 169 as printed.
        Printed = "printed",
        /// Eq 169 with the damping factor.
        Full = "full",
    }
}

/// Parameter row `utilisation` of the algorithms with this target.
pub(super) const UTILISATION: ParamSpec = row!(
    utilisation,
    Unit::Number,
    0.98,
    (0.0, 0.9999),
    "target utilisation of the line, u*; 0 for no utilisation target",
    "Zhang 2008, table II"
);

/// Parameter row `loss` of the algorithms with this target.
pub(super) const LOSS: ParamSpec = row!(
    loss,
    Unit::Number,
    0.02,
    (0.0, 0.9),
    "target loss rate, as a fraction of the arrived bytes, p*; 0 for no loss target",
    "Zhang 2008, table II"
);

/// Parameter row `interval`: time between two updates.
pub(super) const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.2,
    (0.001, 1000.0),
    "time between two measurements, T",
    "Zhang 2008, fig 46"
);

/// Parameter row `initial`: initial buffer.
pub(super) const INITIAL: ParamSpec = row!(
    initial,
    Unit::Packets,
    100.0,
    (1.0, 1e9),
    "initial buffer",
    "Zhang 2008, fig 46: not given"
);

/// Parameter row `largest`: largest buffer.
pub(super) const LARGEST: ParamSpec = row!(
    largest,
    Unit::Packets,
    10_000.0,
    (1.0, 1e9),
    "largest buffer",
    "Levelflow: above all buffers that Zhang 2008, chapter VII, reports"
);

parameters! {
    /// Validated parameters.
    pub struct AbsParams {
        /// Target utilisation `u*`; 0 for no target.
        utilisation: f64 = UTILISATION;
        /// Target loss rate `p*`; 0 for no target.
        loss: f64 = LOSS;
        /// `T`: time between two updates.
        interval: Duration = INTERVAL;
        /// Initial gains `I_u` and `I_p`.
        gain: f64 = Unit::Number, 3000.0, (1.0, 1e9),
            "initial gains of both controllers, packets per second",
            "Zhang 2008, fig 46";
        damping: Damping = Damping::UNIT, 0.0, Damping::RANGE,
            "damping factor of the utilisation controller: the change of utilisation, the absolute value of this change, or none",
            "Zhang 2008, eq 164; eq 163 for none";
        previous: Previous = Previous::UNIT, 0.0, Previous::RANGE,
            "buffer that both controllers change: their own last output, or the common buffer of the port",
            "Zhang 2008, eq 162 and 164 for own; common is a reading of fig 46(a)";
        training: Training = Training::UNIT, 0.0, Training::RANGE,
            "training of the gains: none, with loss and utilisation as fractions, or with loss and utilisation in percent",
            "Zhang 2008, section VII.2.4";
        gradient: Gradient = Gradient::UNIT, 0.0, Gradient::RANGE,
            "gradient of training: as printed, or with the damping factor",
            "Zhang 2008, eq 169";
        step: f64 = Unit::Number, 1.0, (0.0, 1e6),
            "step of training, gamma",
            "Zhang 2008, fig 47";
        /// Initial buffer, packets.
        initial: f64 = INITIAL;
        /// Largest buffer, packets.
        largest: f64 = LARGEST;
    } where {
        utilisation: utilisation > 0.0 || loss > 0.0, NO_TARGET;
        initial: initial <= largest, ABOVE_LARGEST;
    }
}

impl AbsParams {
    /// Returns the factor that converts `u` and `p` to their unit in training. The factor is 1 for fractions, 100 for
    /// percent, and 0 without training.
    fn unit(&self) -> f64 {
        match self.training {
            Training::None => 0.0,
            Training::Fraction => 1.0,
            Training::Percent => 100.0,
        }
    }
}

/// Error for parameters without a target.
pub(super) const NO_TARGET: &str = "there is no target; at least one must not be 0";
/// Error for an initial buffer above the largest buffer.
pub(super) const ABOVE_LARGEST: &str = "must be at most largest";

/// State of ABS at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct Abs {
    port: PortInfo,
    buffer_u: f64,
    buffer_p: f64,
    gain_u: f64,
    gain_p: f64,
    /// Utilisation `u` and damping factor of the last interval.
    before: Option<(f64, f64)>,
    targets: (bool, bool),
}

impl Abs {
    fn control_utilisation(&mut self, params: &AbsParams, u: f64, interval: f64) {
        if params.unit() > 0.0
            && let Some((_, factor)) = self.before
        {
            let damped = params.gradient == Gradient::Full && params.damping != Damping::None;
            let factor = if damped { params.unit() * factor } else { 1.0 };
            let gradient = params.unit() * interval * factor * (u - params.utilisation);
            self.gain_u = (self.gain_u - params.step * gradient).max(1.0);
        }
        let change = u - self.before.map_or(u, |(before, _)| before);
        let factor = match params.damping {
            Damping::Signed => change,
            Damping::Absolute => change.abs(),
            Damping::None => 1.0,
        };
        let less = self.gain_u * interval * factor * (u - params.utilisation);
        self.buffer_u = (self.buffer_u - less).clamp(1.0, params.largest);
        self.before = Some((u, factor));
    }

    fn control_loss(&mut self, params: &AbsParams, p: f64, interval: f64, first: bool) {
        if params.unit() > 0.0 && !first {
            let gradient = params.unit() * interval * (params.loss - p);
            self.gain_p = (self.gain_p - params.step * gradient).max(1.0);
        }
        let more = self.gain_p * interval * (p - params.loss);
        self.buffer_p = (self.buffer_p + more).clamp(1.0, params.largest);
    }
}

impl BufferAlgorithm for Abs {
    type Params = AbsParams;

    const INFO: BufferAlgorithmInfo = BufferAlgorithmInfo {
        name: "abs",
        title: "ABS: integral controllers of utilisation and loss, as printed",
        source: "Zhang 2008, chapter VII.2",
        params: &AbsParams::TABLE,
    };

    fn interval(params: &AbsParams) -> Duration {
        params.interval
    }

    fn new(params: &AbsParams, port: &PortInfo) -> Self {
        Self {
            port: *port,
            buffer_u: params.initial,
            buffer_p: params.initial,
            gain_u: params.gain,
            gain_p: params.gain,
            before: None,
            targets: (params.utilisation > 0.0, params.loss > 0.0),
        }
    }

    fn on_interval(&mut self, params: &AbsParams, load: &Load) {
        let interval = load.elapsed.as_secs_f64();
        let u = load.utilisation(&self.port);
        let first = self.before.is_none();
        if self.targets.0 {
            self.control_utilisation(params, u, interval);
        } else {
            self.before = Some((u, 0.0));
        }
        if self.targets.1 {
            self.control_loss(params, load.loss(), interval, first);
        }
        if params.previous == Previous::Common {
            (self.buffer_u, self.buffer_p) = (self.packets(), self.packets());
        }
    }

    fn packets(&self) -> f64 {
        match self.targets {
            (true, true) => self.buffer_u.max(self.buffer_p),
            (true, false) => self.buffer_u,
            (false, _) => self.buffer_p,
        }
    }

    /// Ignores a smaller grant, because the printed equations have no grants. The request may grow to `largest`.
    fn on_grant(&mut self, _params: &AbsParams, packets: f64) {
        if packets > self.packets() {
            self.buffer_u = self.buffer_u.max(packets);
            self.buffer_p = self.buffer_p.max(packets);
        }
    }
}
