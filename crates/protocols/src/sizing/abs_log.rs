//! ABS that regulates, by Levelflow: as ABS, it finds the smallest buffer that meets targets of utilisation and loss.
//!
//! Each target has an integral controller, which adds up what it was missed by, in seconds of the line:
//!
//! ```text
//! y_u += k (idle - v* t)/v*                v* = 1 - u*;  in time t the line was idle so long
//! y_p += k (lost - p* arrived)/(p* C)      bits
//! y_d += k (D - wait)/D t                  D: target of the mean wait
//! y    = G(b) = R ln b + b s/C             R: `rtt`; s: a packet of 1500 bytes
//! b    = max(b_u, b_p), at most b_d
//! ```
//!
//! `dy = (R + b s/C) d ln b`: a buffer is multiplied, by the error in a round trip through the full queue, times `k`. As `y` is a
//! function of the buffer alone, the sums of the errors are exactly what `y` has moved, and `y` is bounded: whatever the
//! traffic does, what was idle or lost over a time `T` is on target but for `(G(b_T) - G(b_0))/(k T)` of it. No weight
//! depends on what was measured, so nothing can be correlated with it, and noise does not shift the mean.
//!
//! What was summed is applied at the end of a *cycle*: the first measurement after a round trip that has a drop in it, so that
//! it holds whole sawteeth, or after [`PATIENCE`] round trips without one. A buffer at most doubles or halves in a cycle, and
//! as much again of the rest stays in the sum: a line that stood idle for long does not fill memory for longer.
//!
//! A port that drops nothing is not filled, and room that nobody fills changes nothing: `b_u` waits for a drop before it
//! grows, and forgets what was idle once the line has been idle for [`MEMORY`] round trips on end.
//!
//! A buffer that shrinks below what waits would drop all that arrives, and take that for losses of the traffic. So it follows the
//! queue down.
//!
//! `docs/concepts/adaptive-buffers.md` has the proof, and runs beside the printed controllers.

use levelflow_units::{Bytes, Duration};

use super::abs::{BOUNDS, INTERVAL, TARGETS, fit};
use super::{Load, Sizer, SizerInfo};
use crate::law::PortInfo;
use crate::params::{ParamError, ParamSpec, Unit, seconds};

/// Round trips without a drop that end a cycle.
const PATIENCE: f64 = 10.0;
/// Round trips without a drop, idle throughout, after which a port forgets that it was idle.
const MEMORY: f64 = 200.0;
/// Largest factor by which a buffer changes in a cycle.
const LARGEST_STEP: f64 = 2.0;
/// The buffer that does not rule stays within this factor, so that it can take over.
const BEHIND: f64 = 4.0;
/// Bits of a packet; another size changes the gain of large buffers, and nothing else.
const PACKET: f64 = 12_000.0;

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

/// Between a buffer and its coordinate, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    rtt: f64,
    /// Of a packet on the line.
    packet: f64,
}

impl Scale {
    fn seconds(self, packets: f64) -> f64 {
        self.rtt * libm::log(packets) + self.packet * packets
    }

    /// The other way, for what stands for one packet or more: Newton's method from above, on a convex function.
    fn packets(self, seconds: f64) -> f64 {
        let mut log = (seconds / self.rtt).min(libm::log(seconds / self.packet)).max(0.0);
        for _ in 0..100 {
            let waits = self.packet * libm::exp(log);
            let less = (self.rtt * log + waits - seconds) / (self.rtt + waits);
            log = (log - less).max(0.0);
            if less < 1e-12 {
                break;
            }
        }
        libm::exp(log)
    }

    /// A round trip through a full queue.
    fn trip(self, packets: f64) -> f64 {
        self.rtt + self.packet * packets
    }
}

/// One buffer, and what its target was missed by since it last changed.
#[derive(Debug, Clone, PartialEq)]
struct Control {
    /// Packets.
    buffer: f64,
    /// Seconds.
    missed: f64,
    cycle: f64,
}

impl Control {
    fn new(buffer: f64) -> Self {
        Self {
            buffer,
            missed: 0.0,
            cycle: 0.0,
        }
    }

    fn add(&mut self, elapsed: f64, missed: f64) {
        self.cycle += elapsed;
        self.missed += missed;
    }

    /// Applies what was missed. Of what is more than the largest step as much stays for the next cycle as a step can do, and
    /// nothing of what is beyond the bounds.
    fn apply(&mut self, params: &AbsLogParams, scale: Scale) {
        self.cycle = 0.0;
        let seconds = |packets: f64| scale.seconds(packets);
        let before = seconds(self.buffer);
        let (most, least) = (
            seconds(self.buffer * LARGEST_STEP) - before,
            seconds(self.buffer / LARGEST_STEP) - before,
        );
        let wanted = params.gain * self.missed;
        let step = wanted.clamp(least, most);
        self.missed = (wanted - step).clamp(least, most) / params.gain;
        if before + step <= seconds(1.0) {
            *self = Self::new(1.0);
        } else if before + step >= seconds(params.largest) {
            *self = Self::new(params.largest);
        } else {
            self.buffer = scale.packets(before + step).clamp(1.0, params.largest);
        }
    }

    fn at_least(&mut self, packets: f64) {
        if self.buffer < packets {
            self.buffer = packets;
            self.missed = self.missed.max(0.0);
        }
    }

    fn at_most(&mut self, packets: f64) {
        if self.buffer > packets {
            self.buffer = packets;
            self.missed = self.missed.min(0.0);
        }
    }
}

/// State at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbsLog {
    /// Bit/s.
    capacity: f64,
    scale: Scale,
    utilisation: Control,
    loss: Control,
    delay: Control,
    /// Seconds since the line was last used as it should be, or something was dropped.
    idle: f64,
    /// Packets that wait.
    waiting: f64,
}

impl AbsLog {
    fn wanted(&self) -> f64 {
        self.utilisation.buffer.max(self.loss.buffer).min(self.delay.buffer)
    }

    fn control_utilisation(&mut self, params: &AbsLogParams, load: &Load, trip: f64) {
        let (elapsed, drops) = (load.elapsed.as_secs_f64(), load.dropped > Bytes::ZERO);
        let allowed = 1.0 - params.utilisation;
        let missed = elapsed - load.sent.as_bits_f64() / self.capacity - allowed * elapsed;
        self.idle = if drops || missed <= 0.0 { 0.0 } else { self.idle + elapsed };
        let control = &mut self.utilisation;
        control.add(elapsed, missed / allowed);
        let over = control.cycle >= if drops { trip } else { PATIENCE * trip };
        if over && (drops || control.missed <= 0.0) {
            control.apply(params, self.scale);
        }
        if self.idle > MEMORY * trip {
            *control = Control::new(control.buffer);
        }
    }

    fn control_loss(&mut self, params: &AbsLogParams, load: &Load, trip: f64) {
        let (dropped, arrived) = (load.dropped.as_bits_f64(), load.arrived().as_bits_f64());
        let missed = (dropped - params.loss * arrived) / (params.loss * self.capacity);
        self.loss.add(load.elapsed.as_secs_f64(), missed);
        if self.loss.cycle >= if dropped > 0.0 { trip } else { PATIENCE * trip } {
            self.loss.apply(params, self.scale);
        }
    }

    fn control_delay(&mut self, params: &AbsLogParams, load: &Load, trip: f64) {
        let elapsed = load.elapsed.as_secs_f64();
        let wait = load.queue.as_bits_f64() / self.capacity;
        self.delay.add(elapsed, (params.delay - wait) / params.delay * elapsed);
        if self.delay.cycle >= trip {
            self.delay.apply(params, self.scale);
        }
    }

    fn keep_up(&mut self, params: &AbsLogParams) {
        let wanted = self.wanted();
        if params.utilisation > 0.0 {
            self.utilisation.at_least(wanted / BEHIND);
        }
        if params.loss > 0.0 {
            self.loss.at_least(wanted / BEHIND);
        }
        if params.delay > 0.0 {
            self.delay.at_most(wanted * BEHIND);
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
        let control = |target: f64, otherwise: f64| Control::new(if target > 0.0 { params.initial } else { otherwise });
        Self {
            capacity: port.capacity.bps(),
            scale: Scale {
                rtt: params.rtt,
                packet: PACKET / port.capacity.bps(),
            },
            utilisation: control(params.utilisation, if params.loss > 0.0 { 1.0 } else { params.largest }),
            loss: control(params.loss, 1.0),
            delay: control(params.delay, params.largest),
            idle: 0.0,
            waiting: 0.0,
        }
    }

    fn on_interval(&mut self, params: &AbsLogParams, load: &Load) {
        self.waiting = f64::from(load.packets).min(params.largest);
        if self.capacity == 0.0 || load.elapsed == Duration::ZERO {
            return;
        }
        let trip = self.scale.trip(self.wanted());
        if params.utilisation > 0.0 {
            self.control_utilisation(params, load, trip);
        }
        if params.loss > 0.0 {
            self.control_loss(params, load, trip);
        }
        if params.delay > 0.0 {
            self.control_delay(params, load, trip);
        }
        self.keep_up(params);
    }

    fn packets(&self) -> f64 {
        self.wanted().max(self.waiting)
    }
}
