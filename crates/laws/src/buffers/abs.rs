//! Adaptive buffer sizing as its author has it: integral controllers of utilisation and loss.
//!
//! Source: Y. Zhang, "Stable and scalable congestion control for high-speed heterogeneous networks" (dissertation, Texas
//! A&M University, 2008), chapter VII.2. Every interval `T`, with `u` and `p` what was measured in it:
//!
//! ```text
//! b_p += I_p T (p - p*)                            eq 162
//! b_u -= I_u T (u - u*)                            eq 163
//! b_u -= I_u T (u - u_before) (u - u*)             eq 164: damped
//! b    = max(b_u, b_p)                             eq 165
//! I_u -= step T (u - u*),  I_p -= step T (p* - p)  eq 170, 171: training
//! ```
//!
//! Readings:
//! - `p` is dropped over arrived bytes and `u` sent over sendable ones; section VII.3.1 prints the admitted and the offered share.
//! - Each of `b_u` and `b_p` is held between 1 and `largest`, so that neither winds up while the other rules.
//! - A port with a least size holds both there, for the same reason.
//! - Eq 164 does not regulate: any buffer at which `u` does not change is an equilibrium, and noise of variance `s^2` in `u` moves it by
//!   `-I_u T s^2` per step. `damping = "absolute"` takes `|u - u_before|`, `"none"` is eq 163. The default is what is printed.
//! - Eq 169, behind 170, lacks the factor `u - u_before` that eq 164 gives it; `gradient = "full"` has it.
//! - In shares of 1 a step of training moves a gain by at most `T`, nothing beside 3000; `training = "percent"` can explain fig 47.
//! - Training descends on an error, not its square, so that gains may cross zero: they are held at 1 or above.
//!
//! [`abs_log`](super::abs_log) is ours, and regulates.

use levelflow_units::Duration;

use super::{BufferAlgorithm, BufferAlgorithmInfo, Load};
use crate::law::PortInfo;
use crate::params::{ParamSpec, Unit, choices, parameters, row};

choices! {
    /// How the controller of utilisation is damped.
    pub enum Damping {
        /// Eq 164 as printed: by `u - u_before`.
        Signed = "signed",
        /// By its modulus.
        Absolute = "absolute",
        /// Eq 163.
        None = "none",
    }
}

choices! {
    /// Whether gains are trained.
    pub enum Training {
        /// They are not.
        None = "none",
        /// With `u` and `p` as shares of 1.
        Fraction = "fraction",
        /// With `u` and `p` in percent.
        Percent = "percent",
    }
}

choices! {
    /// Gradient of training.
    pub enum Gradient {
        /// Eq 169 as printed.
        Printed = "printed",
        /// With the factor of damping.
        Full = "full",
    }
}

/// The row `utilisation` of every algorithm with this target.
pub(super) const UTILISATION: ParamSpec = row!(
    utilisation,
    Unit::Number,
    0.98,
    (0.0, 0.9999),
    "share of the line that is to be used, u*; 0 for no such target",
    "Zhang 2008, table II"
);

/// The row `loss` of every algorithm with this target.
pub(super) const LOSS: ParamSpec = row!(
    loss,
    Unit::Number,
    0.02,
    (0.0, 0.9),
    "share of the bytes that arrive that may be dropped, p*; 0 for no such target",
    "Zhang 2008, table II"
);

/// Time between two decisions.
pub(super) const INTERVAL: ParamSpec = row!(
    interval,
    Unit::Duration,
    0.2,
    (0.001, 1000.0),
    "time between two measurements, T",
    "Zhang 2008, fig 46"
);

/// First buffer.
pub(super) const INITIAL: ParamSpec = row!(
    initial,
    Unit::Packets,
    100.0,
    (1.0, 1e9),
    "first buffer",
    "Zhang 2008, fig 46: not given"
);

/// Largest buffer.
pub(super) const LARGEST: ParamSpec = row!(
    largest,
    Unit::Packets,
    10_000.0,
    (1.0, 1e9),
    "largest buffer",
    "own choice: above every buffer that Zhang 2008, chapter VII, reports"
);

parameters! {
    /// Validated parameters.
    pub struct AbsParams {
        /// `u*`; 0: no target.
        utilisation: f64 = UTILISATION;
        /// `p*`; 0: no target.
        loss: f64 = LOSS;
        /// `T`.
        interval: Duration = INTERVAL;
        /// `I_u` and `I_p` at first.
        gain: f64 = Unit::Number, 3000.0, (1.0, 1e9),
            "gains of both controllers at first, packets per second",
            "Zhang 2008, fig 46";
        damping: Damping = Damping::UNIT, 0.0, Damping::RANGE,
            "factor of the controller of utilisation: its change, the modulus of that, or none",
            "Zhang 2008, eq 164; eq 163 for none";
        training: Training = Training::UNIT, 0.0, Training::RANGE,
            "whether gains are trained, and in which unit of loss and utilisation",
            "Zhang 2008, section VII.2.4";
        gradient: Gradient = Gradient::UNIT, 0.0, Gradient::RANGE,
            "gradient of training: as printed, or with the factor of damping",
            "Zhang 2008, eq 169";
        step: f64 = Unit::Number, 1.0, (0.0, 1e6),
            "step of training, gamma",
            "Zhang 2008, fig 47";
        /// First buffer, packets.
        initial: f64 = INITIAL;
        /// Largest buffer, packets.
        largest: f64 = LARGEST;
    } where {
        utilisation: utilisation > 0.0 || loss > 0.0, NO_TARGET;
        initial: initial <= largest, ABOVE_LARGEST;
    }
}

impl AbsParams {
    /// How many times the share of 1 training has `u` and `p` in; 0: no training.
    fn unit(&self) -> f64 {
        match self.training {
            Training::None => 0.0,
            Training::Fraction => 1.0,
            Training::Percent => 100.0,
        }
    }
}

/// What is said of parameters without a target.
pub(super) const NO_TARGET: &str = "there is no target; needs one that is not 0";
/// What is said of a first buffer above the largest.
pub(super) const ABOVE_LARGEST: &str = "must be at most largest";

/// State at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct Abs {
    port: PortInfo,
    buffer_u: f64,
    buffer_p: f64,
    gain_u: f64,
    gain_p: f64,
    /// `u` of the last interval, and the factor that the controller then had.
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
    }

    fn packets(&self) -> f64 {
        match self.targets {
            (true, true) => self.buffer_u.max(self.buffer_p),
            (true, false) => self.buffer_u,
            (false, _) => self.buffer_p,
        }
    }

    /// Fewer are not part of what is printed: it asks on, up to the largest.
    fn on_grant(&mut self, _params: &AbsParams, packets: f64) {
        if packets > self.packets() {
            self.buffer_u = self.buffer_u.max(packets);
            self.buffer_p = self.buffer_p.max(packets);
        }
    }
}
