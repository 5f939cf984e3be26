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
//! first measurement after `d` that has a drop in it, so that it holds whole sawteeth, or after [`PATIENCE`] round trips without
//! one. In the mean over many cycles both brackets are zero just where time means of `v` and `p` are on target.
//!
//! A port that drops nothing is not filled, and room that nobody fills changes nothing: an idle port's `b_u` waits for a drop
//! before it grows, and forgets what was idle [`MEMORY`] round trips ago.
//!
//! A buffer that shrinks below what waits would drop all that arrives, and take that for losses of the traffic. So it follows the
//! queue down.
//!
//! `docs/concepts/adaptive-buffers.md` has the argument for convergence, and runs beside the printed controllers.

use levelflow_units::{Bytes, Duration};

use super::abs::{BOUNDS, INTERVAL, TARGETS, fit};
use super::{Load, Sizer, SizerInfo};
use crate::law::PortInfo;
use crate::params::{ParamError, ParamSpec, Unit, seconds};

/// Round trips without a drop that end a cycle.
const PATIENCE: f64 = 10.0;
/// Round trips after which a port that dropped nothing forgets that it was idle.
const MEMORY: f64 = 200.0;
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

/// Sums over a running cycle.
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

impl Cycle {
    fn add(&mut self, elapsed: f64, load: &Load) {
        self.time += elapsed;
        self.sent += load.sent.as_bits_f64();
        self.arrived += load.admitted.as_bits_f64() + load.dropped.as_bits_f64();
        self.dropped += load.dropped.as_bits_f64();
        self.waiting += load.queue.as_bits_f64() * elapsed;
    }

    /// Mean wait, seconds.
    fn wait(&self, capacity: f64) -> f64 {
        self.waiting / self.time / capacity
    }

    /// Round trips that it has lasted.
    fn trips(&self, params: &AbsLogParams, capacity: f64) -> f64 {
        self.time / (params.rtt + self.wait(capacity))
    }

    /// Share of the line that was not used.
    fn idle(&self, capacity: f64) -> f64 {
        1.0 - (self.sent / (capacity * self.time)).min(1.0)
    }
}

/// State at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbsLog {
    /// Bit/s.
    capacity: f64,
    buffer_u: f64,
    buffer_p: f64,
    buffer_d: f64,
    cycle_u: Cycle,
    cycle_p: Cycle,
    /// Packets that wait.
    waiting: f64,
}

/// A buffer after its logarithm has changed.
fn changed(params: &AbsLogParams, buffer: f64, change: f64) -> f64 {
    let change = change.clamp(-LARGEST_STEP, LARGEST_STEP);
    (buffer * libm::exp(change)).clamp(1.0, params.largest)
}

impl AbsLog {
    fn wanted(&self) -> f64 {
        self.buffer_u.max(self.buffer_p).min(self.buffer_d)
    }

    fn control_utilisation(&mut self, params: &AbsLogParams, drops: bool) {
        let (idle, trips) = (
            self.cycle_u.idle(self.capacity),
            self.cycle_u.trips(params, self.capacity),
        );
        let allowed = 1.0 - params.utilisation;
        let over = if idle > allowed {
            drops && trips >= 1.0
        } else {
            trips >= if drops { 1.0 } else { PATIENCE }
        };
        if over {
            let change = params.gain * trips * (idle - allowed) / allowed;
            self.buffer_u = changed(params, self.buffer_u, change);
        }
        if over || trips > MEMORY {
            self.cycle_u = Cycle::default();
        }
    }

    fn control_loss_and_delay(&mut self, params: &AbsLogParams, drops: bool) {
        let trips = self.cycle_p.trips(params, self.capacity);
        if trips < if drops { 1.0 } else { PATIENCE } {
            return;
        }
        let cycle = core::mem::take(&mut self.cycle_p);
        let weight = params.gain * trips;
        if params.loss > 0.0 {
            let excess = cycle.dropped - params.loss * cycle.arrived;
            let change = weight * excess / (params.loss * self.capacity * cycle.time);
            self.buffer_p = changed(params, self.buffer_p, change);
        }
        if params.delay > 0.0 {
            let change = weight * (params.delay - cycle.wait(self.capacity)) / params.delay;
            self.buffer_d = changed(params, self.buffer_d, change);
        }
    }

    fn keep_up(&mut self, params: &AbsLogParams) {
        let wanted = self.wanted();
        if params.utilisation > 0.0 {
            self.buffer_u = self.buffer_u.max(wanted / BEHIND);
        }
        if params.loss > 0.0 {
            self.buffer_p = self.buffer_p.max(wanted / BEHIND);
        }
        if params.delay > 0.0 {
            self.buffer_d = self.buffer_d.min(wanted * BEHIND);
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
            buffer_u: wanted(params.utilisation, if params.loss > 0.0 { 1.0 } else { params.largest }),
            buffer_p: wanted(params.loss, 1.0),
            buffer_d: wanted(params.delay, params.largest),
            cycle_u: Cycle::default(),
            cycle_p: Cycle::default(),
            waiting: 0.0,
        }
    }

    fn on_interval(&mut self, params: &AbsLogParams, load: &Load) {
        self.waiting = f64::from(load.packets).min(params.largest);
        if self.capacity == 0.0 || load.elapsed == Duration::ZERO {
            return;
        }
        let (elapsed, drops) = (load.elapsed.as_secs_f64(), load.dropped > Bytes::ZERO);
        if params.utilisation > 0.0 {
            self.cycle_u.add(elapsed, load);
            self.control_utilisation(params, drops);
        }
        self.cycle_p.add(elapsed, load);
        self.control_loss_and_delay(params, drops);
        self.keep_up(params);
    }

    fn packets(&self) -> f64 {
        self.wanted().max(self.waiting)
    }
}
