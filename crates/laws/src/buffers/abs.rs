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
//! - Eq 164 does not regulate: any buffer at which `u` does not change is at rest, and noise of variance `s^2` in `u` moves it by
//!   `-I_u T s^2` per step. `damping = "absolute"` takes `|u - u_before|`, `"none"` is eq 163. The default is what is printed.
//! - Eq 169, behind 170, lacks the factor `u - u_before` that eq 164 gives it; `gradient = "full"` has it.
//! - In shares of 1 a step of training moves a gain by at most `T`, nothing beside 3000; `training = "percent"` can explain fig 47.
//! - Training descends on an error, not its square, so that gains may cross zero: they are held at 1 or above.
//!
//! [`abs_log`](super::abs_log) is ours, and regulates.

use levelflow_units::Duration;

use super::{Load, Sizer, SizerInfo};
use crate::law::PortInfo;
use crate::params::{ParamError, ParamSpec, Problem, Unit, seconds};

/// How the controller of utilisation is damped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damping {
    /// Eq 164 as printed: by `u - u_before`.
    Signed,
    /// By its modulus.
    Absolute,
    /// Eq 163.
    None,
}

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbsParams {
    /// `u*`; 0: no target.
    pub utilisation: f64,
    /// `p*`; 0: no target.
    pub loss: f64,
    /// `T`.
    pub interval: Duration,
    /// `I_u` and `I_p` at first, packets/s.
    pub gain: f64,
    /// Of the controller of utilisation.
    pub damping: Damping,
    /// How many times the share of 1 training has `u` and `p` in; 0: no training.
    pub unit: f64,
    /// Whether the gradient of the damped controller has its factor.
    pub full_gradient: bool,
    /// Of training, gamma.
    pub step: f64,
    /// First buffer, packets.
    pub initial: f64,
    /// Largest buffer, packets.
    pub largest: f64,
}

/// Rows that every sizer with targets begins with.
pub(super) const TARGETS: [ParamSpec; 2] = [
    ParamSpec {
        name: "utilisation",
        doc: "share of the line that is to be used, u*; 0 for no such target",
        unit: Unit::Number,
        default: 0.98,
        range: (0.0, 0.9999),
        source: "Zhang 2008, table II",
    },
    ParamSpec {
        name: "loss",
        doc: "share of the bytes that arrive that may be dropped, p*; 0 for no such target",
        unit: Unit::Number,
        default: 0.02,
        range: (0.0, 0.9),
        source: "Zhang 2008, table II",
    },
];

/// First and largest buffer.
pub(super) const BOUNDS: [ParamSpec; 2] = [
    ParamSpec {
        name: "initial",
        doc: "first buffer",
        unit: Unit::Packets,
        default: 100.0,
        range: (1.0, 1e9),
        source: "Zhang 2008, fig 46: not given",
    },
    ParamSpec {
        name: "largest",
        doc: "largest buffer",
        unit: Unit::Packets,
        default: 10_000.0,
        range: (1.0, 1e9),
        source: "own choice: above every buffer that Zhang 2008, chapter VII, reports",
    },
];

/// Time between two decisions.
pub(super) const INTERVAL: ParamSpec = ParamSpec {
    name: "interval",
    doc: "time between two measurements, T",
    unit: Unit::Duration,
    default: 0.2,
    range: (0.001, 1000.0),
    source: "Zhang 2008, fig 46",
};

const TABLE: &[ParamSpec] = &[
    TARGETS[0],
    TARGETS[1],
    INTERVAL,
    ParamSpec {
        name: "gain",
        doc: "gains of both controllers at first, packets per second",
        unit: Unit::Number,
        default: 3000.0,
        range: (1.0, 1e9),
        source: "Zhang 2008, fig 46",
    },
    ParamSpec {
        name: "damping",
        doc: "factor of the controller of utilisation: its change, the modulus of that, or none",
        unit: Unit::Choice(&["signed", "absolute", "none"]),
        default: 0.0,
        range: (0.0, 2.0),
        source: "Zhang 2008, eq 164; eq 163 for none",
    },
    ParamSpec {
        name: "training",
        doc: "whether gains are trained, and in which unit of loss and utilisation",
        unit: Unit::Choice(&["none", "fraction", "percent"]),
        default: 0.0,
        range: (0.0, 2.0),
        source: "Zhang 2008, section VII.2.4",
    },
    ParamSpec {
        name: "gradient",
        doc: "gradient of training: as printed, or with the factor of damping",
        unit: Unit::Choice(&["printed", "full"]),
        default: 0.0,
        range: (0.0, 1.0),
        source: "Zhang 2008, eq 169",
    },
    ParamSpec {
        name: "step",
        doc: "step of training, gamma",
        unit: Unit::Number,
        default: 1.0,
        range: (0.0, 1e6),
        source: "Zhang 2008, fig 47",
    },
    BOUNDS[0],
    BOUNDS[1],
];

/// Refuses a sizer without a target, and a first buffer above the largest.
pub(super) fn fit(targets: &[f64], initial: f64, largest: f64) -> Result<(), ParamError> {
    let conflict = |name, why| {
        Err(ParamError {
            name,
            problem: Problem::Conflict(why),
        })
    };
    if targets.iter().all(|target| *target == 0.0) {
        return conflict("utilisation", "there is no target; needs one that is not 0");
    }
    if initial > largest {
        return conflict("initial", "must be at most largest");
    }
    Ok(())
}

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
        if params.unit > 0.0
            && let Some((_, factor)) = self.before
        {
            let damped = params.full_gradient && params.damping != Damping::None;
            let factor = if damped { params.unit * factor } else { 1.0 };
            let gradient = params.unit * interval * factor * (u - params.utilisation);
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
        if params.unit > 0.0 && !first {
            let gradient = params.unit * interval * (params.loss - p);
            self.gain_p = (self.gain_p - params.step * gradient).max(1.0);
        }
        let more = self.gain_p * interval * (p - params.loss);
        self.buffer_p = (self.buffer_p + more).clamp(1.0, params.largest);
    }
}

impl Sizer for Abs {
    type Params = AbsParams;

    const INFO: SizerInfo = SizerInfo {
        name: "abs",
        title: "ABS: integral controllers of utilisation and loss, as printed",
        source: "Zhang 2008, chapter VII.2",
        params: TABLE,
    };

    fn params(values: &[f64]) -> Result<AbsParams, ParamError> {
        let &[
            utilisation,
            loss,
            interval,
            gain,
            damping,
            training,
            gradient,
            step,
            initial,
            largest,
        ] = values
        else {
            panic!("one value per row of the table");
        };
        fit(&[utilisation, loss], initial, largest)?;
        Ok(AbsParams {
            utilisation,
            loss,
            interval: seconds(interval),
            gain,
            damping: [Damping::Signed, Damping::Absolute, Damping::None][damping as usize],
            unit: [0.0, 1.0, 100.0][training as usize],
            full_gradient: gradient != 0.0,
            step,
            initial,
            largest,
        })
    }

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
