//! ABS that regulates, by Levelflow: as ABS, it finds the smallest buffer that meets targets of utilisation and loss.
//!
//! What is idle, `v = 1 - u`, is a loss as well: both `v` and `p` fall as the buffer grows, by a power of it more than by a
//! difference. So each of two buffers is multiplied, by what its target was missed by:
//!
//! ```text
//! ln b_u += k (t/d) (v - v*)/v*
//! ln b_p += k (n/(C d)) (p - p*)/p*
//! b       = max(b_u, b_p), but at most what waits no longer than the target of delay
//! ```
//!
//! over a *cycle* of time `t` in which `n` bytes arrived. `d` is the round trip that the port itself makes, `rtt` plus the
//! mean wait; nothing that senders do about a buffer can be seen sooner, so `k` is a gain per round trip. A cycle ends at the
//! first measurement after `d` that has a drop in it. So it holds whole sawteeth, and in the mean over many cycles
//! both brackets are zero just where time means of `v` and `p` are on target.
//!
//! A port that drops nothing for [`PATIENCE`] round trips is not filled by its buffer: the cycle ends, but an idle port's `b_u` does
//! not grow, since room that nobody fills changes nothing.
//!
//! `docs/concepts/adaptive-buffers.md` has the argument for convergence, and runs beside the printed controllers.

use levelflow_units::Duration;

use super::abs::{BOUNDS, INTERVAL, TARGETS, fit};
use super::{Load, Sizer, SizerInfo};
use crate::law::PortInfo;
use crate::params::{ParamError, ParamSpec, Unit, seconds};

/// Round trips without a drop after which a port counts as not filled.
const PATIENCE: f64 = 50.0;
/// Largest change of the logarithm of a buffer in a cycle: a factor of two.
const LARGEST_STEP: f64 = core::f64::consts::LN_2;
/// The buffer that does not rule stays within this factor, so that it can take over.
const BEHIND: f64 = 4.0;

/// Validated parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbsLogParams {
    /// `u*`; 0: no target.
    pub utilisation: f64,
    /// `p*`; 0: no target.
    pub loss: f64,
    /// Longest mean wait, seconds; 0: no target.
    pub delay: f64,
    /// Time between two measurements.
    pub interval: Duration,
    /// `k`.
    pub gain: f64,
    /// Round trip of the traffic without the wait here, seconds.
    pub rtt: f64,
    /// First buffer, packets.
    pub initial: f64,
    /// Largest buffer, packets.
    pub largest: f64,
}

const TABLE: &[ParamSpec] = &[
    TARGETS[0],
    TARGETS[1],
    ParamSpec {
        name: "delay",
        doc: "longest mean wait in the queue, which goes before the other targets; 0 for no such target",
        unit: Unit::Duration,
        default: 0.0,
        range: (0.0, 1000.0),
        source: "Zhang 2008, section VII.2, names it and leaves it open",
    },
    INTERVAL,
    ParamSpec {
        name: "gain",
        doc: "part of the error by which the logarithm of the buffer changes in a round trip, k",
        unit: Unit::Number,
        default: 0.05,
        range: (1e-6, 1.0),
        source: "own choice: see docs/concepts/adaptive-buffers.md",
    },
    ParamSpec {
        name: "rtt",
        doc: "round trip of the traffic without the wait in this queue, roughly",
        unit: Unit::Duration,
        default: 0.1,
        range: (1e-6, 100.0),
        source: "own choice",
    },
    BOUNDS[0],
    BOUNDS[1],
];

/// Sums over the running cycle.
#[derive(Debug, Clone, Default, PartialEq)]
struct Cycle {
    /// Seconds.
    time: f64,
    /// Bits.
    sent: f64,
    arrived: f64,
    dropped: f64,
    /// Bits waiting times seconds.
    waiting: f64,
}

/// State at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbsLog {
    /// Bit/s.
    capacity: f64,
    buffer_u: f64,
    buffer_p: f64,
    buffer_d: f64,
    cycle: Cycle,
    /// Packets that wait.
    waiting: f64,
}

impl AbsLog {
    fn wanted(&self) -> f64 {
        self.buffer_u.max(self.buffer_p).min(self.buffer_d)
    }

    fn close_cycle(&mut self, params: &AbsLogParams) {
        let Cycle {
            time,
            sent,
            arrived,
            dropped,
            waiting,
        } = core::mem::take(&mut self.cycle);
        let wait = waiting / time / self.capacity;
        let trips = time / (params.rtt + wait);
        let weight = params.gain * trips;
        let size = |buffer: f64, error: f64| {
            let step = error.clamp(-LARGEST_STEP, LARGEST_STEP);
            (buffer * libm::exp(step)).clamp(1.0, params.largest)
        };
        let idle = 1.0 - (sent / (self.capacity * time)).min(1.0);
        if params.utilisation > 0.0 && (dropped > 0.0 || idle < 1.0 - params.utilisation) {
            let allowed = 1.0 - params.utilisation;
            self.buffer_u = size(self.buffer_u, weight * (idle - allowed) / allowed);
        }
        if params.loss > 0.0 {
            let excess = (dropped - params.loss * arrived) / (params.loss * self.capacity * time);
            self.buffer_p = size(self.buffer_p, weight * excess);
        }
        if params.delay > 0.0 {
            self.buffer_d = size(self.buffer_d, weight * (params.delay - wait) / params.delay);
        }
        let ruling = self.wanted();
        self.buffer_u = self.buffer_u.max(ruling / BEHIND);
        self.buffer_p = self.buffer_p.max(ruling / BEHIND);
        if params.delay > 0.0 {
            self.buffer_d = self.buffer_d.min(ruling * BEHIND);
        }
    }
}

impl Sizer for AbsLog {
    type Params = AbsLogParams;

    const INFO: SizerInfo = SizerInfo {
        name: "abs_log",
        title: "ABS in logarithms: finds the smallest buffer that meets its targets",
        source: "Levelflow, after Zhang 2008, chapter VII.2",
        params: TABLE,
    };

    fn params(values: &[f64]) -> Result<AbsLogParams, ParamError> {
        let &[utilisation, loss, delay, interval, gain, rtt, initial, largest] = values else {
            panic!("one value per row of the table");
        };
        fit(&[utilisation, loss, delay], initial, largest)?;
        Ok(AbsLogParams {
            utilisation,
            loss,
            delay,
            interval: seconds(interval),
            gain,
            rtt,
            initial,
            largest,
        })
    }

    fn interval(params: &AbsLogParams) -> Duration {
        params.interval
    }

    fn new(params: &AbsLogParams, port: &PortInfo) -> Self {
        let wanted = |target: f64, otherwise: f64| if target > 0.0 { params.initial } else { otherwise };
        Self {
            capacity: port.capacity.bps(),
            buffer_u: wanted(params.utilisation, 1.0),
            buffer_p: wanted(params.loss, 1.0),
            buffer_d: wanted(params.delay, params.largest),
            cycle: Cycle::default(),
            waiting: 0.0,
        }
    }

    fn on_interval(&mut self, params: &AbsLogParams, load: &Load) {
        if self.capacity == 0.0 || load.elapsed == Duration::ZERO {
            return;
        }
        let elapsed = load.elapsed.as_secs_f64();
        self.waiting = f64::from(load.packets).min(params.largest);
        let cycle = &mut self.cycle;
        cycle.time += elapsed;
        cycle.sent += load.sent.as_bits_f64();
        cycle.arrived += load.admitted.as_bits_f64() + load.dropped.as_bits_f64();
        cycle.dropped += load.dropped.as_bits_f64();
        cycle.waiting += load.queue.as_bits_f64() * elapsed;
        let trip = params.rtt + cycle.waiting / cycle.time / self.capacity;
        let patience = if load.dropped > levelflow_units::Bytes::ZERO {
            1.0
        } else {
            PATIENCE
        };
        if cycle.time >= patience * trip {
            self.close_cycle(params);
        }
    }

    fn packets(&self) -> f64 {
        self.wanted().max(self.waiting)
    }
}
