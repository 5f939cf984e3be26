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
//! `dy = (R + b s/C) d ln b`: a buffer is multiplied, by the error in a round trip through the full queue, times `k`. Where `y` is
//! a function of the buffer alone, the sums of the errors are exactly what `y` has moved, and `y` is bounded: what was lost
//! over a time `T` is on target but for `(G(b_T) - G(b_0))/(k T)` of it, while `b_p` rules and nothing below bounds it. No weight depends on
//! what was measured, so nothing can be correlated with it, and noise does not shift the mean. `R` of `b_u` follows what was
//! measured, so there this holds only while that stays the same.
//!
//! What was summed is applied at the end of a *cycle*: the first measurement after a round trip that has a drop in it, so that
//! it holds whole sawteeth, or after [`PATIENCE`] round trips without one. A buffer at most doubles or halves in a cycle. The
//! rest stays in the sum of `b_p` until it is applied or a bound is met; in those of `b_u` and `b_d` it is as much as a step at
//! most, so that a line that stood idle for long does not fill memory for longer, at the price of the identity.
//!
//! Where sawteeth are long, a cycle lasts many round trips, and `k` for each of them would be too much. `b_p` takes at most
//! [`LARGEST_GAIN_P`] in a sawtooth, which at a loss of `p*` lasts `sqrt(2/(3 p*))` round trips. `R` of `b_u` is at least so large
//! that [`LARGEST_GAIN_U`] acts from drop to drop in the mean, unless the line has not been idle for [`CALM`] of those times.
//!
//! A buffer that is too large misses its target by nothing but what is allowed, so its way down is long. It falls with a gain of
//! [`HASTE`], also where that is more than the gains above, which is halved each time that a fall has ended too low, until it is
//! `k` (after Kesten, Accelerated stochastic approximation, 1958). Until then more may be lost than on target.
//!
//! A port that drops nothing is not filled, and room that nobody fills changes nothing: `b_u` waits for a drop before it
//! grows. Of what the line was idle meanwhile, no more stays than a step, or than one flow can be due whose window halves. Nor
//! does it help a line that is idle for want of traffic, if a short flow is dropped now and then: by the rule of thumb
//! windows that halve need `C R`, so `b_u` grows to at most [`PIPES`] of that and [`SPARE`] packets.
//!
//! A buffer that shrinks below what waits would drop all that arrives. So it follows the queue down, and what is wanted waits for
//! it; and if there is a target of delay, it falls by [`FALL`] in a round trip through a queue that what arrives keeps full, so at
//! most that part of the line is dropped for it. Such losses count as all others do.
//!
//! `docs/concepts/adaptive-buffers.md` has the proof, and runs beside the printed controllers.

use levelflow_units::{Bytes, Duration};

use super::abs::{ABOVE_LARGEST, INITIAL, INTERVAL, LARGEST, LOSS, NO_TARGET, UTILISATION};
use super::{BufferAlgorithm, BufferAlgorithmInfo, Load};
use crate::law::PortInfo;
use crate::params::{Unit, parameters};

/// Round trips without a drop that end a cycle.
const PATIENCE: f64 = 10.0;
/// Mean times between drops that end a cycle without one, where sawteeth are long.
const PATIENCE_IN_GAPS: f64 = 2.0;
/// Largest gain of `b_u` from drop to drop, of flows that may cut their windows in turn.
const LARGEST_GAIN_U: f64 = 0.1;
/// Largest gain of `b_p` in a sawtooth.
const LARGEST_GAIN_P: f64 = 0.25;
/// Mean times between drops in which the line was never idle, after which the buffer is larger than it needs to be.
const CALM: f64 = 20.0;
/// Part of the last time between drops in their mean.
const NEWEST: f64 = 0.125;
/// `C R` in the largest buffer that a target of use can need; two, as `R` is known roughly.
const PIPES: f64 = 2.0;
/// Packets more than that, with which windows are large enough to recover without a timeout.
const SPARE: f64 = 10.0;
/// Largest factor by which a buffer changes in a cycle.
const LARGEST_STEP: f64 = 2.0;
/// Gain of a fall, before the first that ended too low.
const HASTE: f64 = 0.2;
/// The buffer that does not rule stays within this factor, so that it can take over.
const BEHIND: f64 = 4.0;
/// Part by which a buffer that is too large falls in a round trip, if the queue does not.
const FALL: f64 = 0.05;
/// Bits of a packet; another size changes the gain of large buffers, and nothing else.
const PACKET: f64 = 12_000.0;

parameters! {
    /// Validated parameters.
    pub struct AbsLogParams {
        /// `u*`; 0: no target.
        utilisation: f64 = UTILISATION;
        /// `p*`; 0: no target.
        loss: f64 = LOSS;
        /// In seconds.
        delay: f64 = Unit::Duration, 0.0, (0.0, 1000.0),
            "longest mean wait in the queue, which goes before the other targets; 0 for no such target",
            "Zhang 2008, section VII.2, names it and leaves it open";
        /// Time between two measurements.
        interval: Duration = INTERVAL;
        gain: f64 = Unit::Number, 0.02, (1e-6, 1.0),
            "part of the error by which the logarithm of the buffer changes in a round trip, k",
            "own choice of 0.005 to 0.05: docs/concepts/adaptive-buffers.md";
        /// In seconds.
        rtt: f64 = Unit::Duration, 0.1, (1e-6, 100.0),
            "round trip of the traffic without the wait in this queue, roughly; a target of use asks for at most 2 C rtt + 10 packets",
            "own choice";
        /// First buffer, packets.
        initial: f64 = INITIAL;
        /// Largest buffer, packets.
        largest: f64 = LARGEST;
    } where {
        utilisation: utilisation > 0.0 || loss > 0.0 || delay > 0.0, NO_TARGET;
        initial: initial <= largest, ABOVE_LARGEST;
    }
}

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
}

/// One buffer, and what its target was missed by since it last changed.
#[derive(Debug, Clone, Default, PartialEq)]
struct Control {
    /// Packets.
    buffer: f64,
    /// Seconds.
    missed: f64,
    cycle: f64,
    /// Gain of falls, where it is more than the usual one.
    haste: f64,
    /// Whether the last step that was not zero went down.
    falls: bool,
}

impl Control {
    fn new(buffer: f64) -> Self {
        Self {
            buffer,
            haste: HASTE,
            ..Self::default()
        }
    }

    fn add(&mut self, elapsed: f64, missed: f64) {
        self.cycle += elapsed;
        self.missed += missed;
    }

    /// Applies what was missed. Of what is more than the largest step at most `stays` steps stay for later cycles, and nothing of
    /// what is beyond the bounds.
    fn apply(&mut self, gain: f64, scale: Scale, largest: f64, stays: f64) {
        self.cycle = 0.0;
        let gain = self.hasty(gain);
        let before = scale.seconds(self.buffer);
        let [least, most] = self.steps(scale);
        let wanted = gain * self.missed;
        let step = wanted.clamp(least, most);
        self.missed = (wanted - step).clamp(stays * least, stays * most) / gain;
        if before + step <= scale.seconds(1.0) {
            self.buffer = 1.0;
            self.missed = 0.0;
        } else if before + step >= scale.seconds(largest) {
            self.buffer = largest;
            self.missed = 0.0;
        } else {
            self.buffer = scale.packets(before + step).clamp(1.0, largest);
        }
    }

    /// The largest steps down and up, seconds.
    fn steps(&self, scale: Scale) -> [f64; 2] {
        let before = scale.seconds(self.buffer);
        [1.0 / LARGEST_STEP, LARGEST_STEP].map(|factor| scale.seconds(self.buffer * factor) - before)
    }

    /// The gain of what was missed, which is more for a fall until some of them have ended too low.
    fn hasty(&mut self, gain: f64) -> f64 {
        if self.missed < 0.0 {
            self.falls = true;
            return self.haste.max(gain);
        }
        if self.missed > 0.0 && self.falls {
            self.falls = false;
            self.haste /= 2.0;
        }
        gain
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

/// Seconds for which a line without a buffer is idle in a sawtooth of one flow whose window of `C R` packets halves and grows by one in
/// each round trip, `C R/8` of them; with [`PIPES`] times `R`, as it is known roughly.
fn sawtooth(rtt: f64, packet: f64) -> f64 {
    let rtt = PIPES * rtt;
    rtt * rtt / (8.0 * packet)
}

/// Input of all controllers for an interval.
#[derive(Debug)]
struct Cycle {
    /// Seconds.
    elapsed: f64,
    /// Whether something was dropped.
    drops: bool,
    /// A round trip through the full queue, seconds.
    trip: f64,
    /// Seconds after which a cycle may end now.
    lasts: f64,
    scale: Scale,
}

/// State at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbsLog {
    /// Bit/s.
    capacity: f64,
    utilisation: Control,
    loss: Control,
    delay: Control,
    /// Seconds between drops that are a round trip apart, in the mean; 0 before the second.
    gap: f64,
    /// Seconds since the last of them.
    since: f64,
    /// Seconds since the line was idle.
    calm: f64,
    /// Packets that the port may hold: those wanted, or more while a queue drains.
    room: f64,
}

impl AbsLog {
    fn wanted(&self) -> f64 {
        self.utilisation.buffer.max(self.loss.buffer).min(self.delay.buffer)
    }

    /// Whether what is idle comes once in a long sawtooth, for all that is known.
    fn is_patient(&self) -> bool {
        self.calm < CALM * self.gap
    }

    /// The coordinate of `b_u`, in which the gain from drop to drop is not too large.
    fn slower(&self, params: &AbsLogParams, scale: Scale) -> Scale {
        let least = params.gain * self.gap / LARGEST_GAIN_U - scale.packet * self.wanted();
        Scale {
            rtt: params.rtt.max(if self.is_patient() { least } else { 0.0 }),
            ..scale
        }
    }

    fn control_utilisation(&mut self, params: &AbsLogParams, load: &Load, cycle: &Cycle) {
        let allowed = 1.0 - params.utilisation;
        let missed = cycle.elapsed - load.sent.as_bits_f64() / self.capacity - allowed * cycle.elapsed;
        self.calm = if missed > 0.0 { 0.0 } else { self.calm + cycle.elapsed };
        let lasts = if cycle.drops || !self.is_patient() {
            cycle.lasts
        } else {
            cycle.lasts.max(PATIENCE_IN_GAPS * self.gap)
        };
        let scale = self.slower(params, cycle.scale);
        let control = &mut self.utilisation;
        control.add(cycle.elapsed, missed / allowed);
        if control.cycle < lasts {
            return;
        }
        if cycle.drops || control.missed <= 0.0 {
            let needs = (PIPES * params.rtt / scale.packet + SPARE).max(control.buffer);
            control.apply(params.gain, scale, params.largest.min(needs), 1.0);
        } else {
            let [_, most] = control.steps(scale);
            let most = (most / params.gain).max(sawtooth(params.rtt, scale.packet) / allowed);
            control.missed = control.missed.min(most);
        }
    }

    fn control_loss(&mut self, params: &AbsLogParams, load: &Load, cycle: &Cycle) {
        let (dropped, arrived) = (load.dropped.as_bits_f64(), load.arrived().as_bits_f64());
        let missed = (dropped - params.loss * arrived) / (params.loss * self.capacity);
        self.loss.add(cycle.elapsed, missed);
        if self.loss.cycle >= cycle.lasts {
            // A sawtooth that loses p* lasts sqrt(2/(3 p*)) round trips.
            let gain = params.gain.min(LARGEST_GAIN_P * libm::sqrt(1.5 * params.loss));
            self.loss.apply(gain, cycle.scale, params.largest, f64::INFINITY);
        }
    }

    fn control_delay(&mut self, params: &AbsLogParams, load: &Load, cycle: &Cycle) {
        let wait = load.queue.as_bits_f64() / self.capacity;
        let missed = (params.delay - wait) / params.delay * cycle.elapsed;
        self.delay.add(cycle.elapsed, missed);
        if self.delay.cycle >= cycle.lasts {
            self.delay.apply(params.gain, cycle.scale, params.largest, 1.0);
        }
    }

    /// Keeps the mean time between drops; one that is much longer than those before counts for less.
    fn note_drops(&mut self, cycle: &Cycle) {
        self.since += cycle.elapsed;
        if cycle.drops && self.since >= cycle.trip {
            let last = self.since.min(2.0 * self.gap.max(PATIENCE * cycle.trip));
            self.gap += if self.gap > 0.0 {
                NEWEST * (last - self.gap)
            } else {
                last
            };
            self.since = 0.0;
        }
    }

    fn keep_up(&mut self, params: &AbsLogParams) {
        let wanted = self.wanted();
        // What is measured while the queue drains is not due to what is wanted.
        let least = (wanted / BEHIND).max(self.room / LARGEST_STEP);
        for (target, control) in [
            (params.utilisation, &mut self.utilisation),
            (params.loss, &mut self.loss),
        ] {
            if target > 0.0 {
                control.at_most(wanted * BEHIND);
                control.at_least(least);
            }
        }
        if params.delay > 0.0 {
            self.delay.at_most(wanted * BEHIND);
            // Nor does it rule while the queue drains.
            self.delay.at_least(self.room / BEHIND);
        }
    }

    /// Follows the queue down, or is a little faster for a target of delay.
    fn fall(&mut self, params: &AbsLogParams, elapsed: f64, waiting: f64, scale: Scale) {
        let trip = scale.rtt + scale.packet * self.room;
        let part = if params.delay > 0.0 { FALL } else { 0.0 };
        let least = self.room * libm::exp(-part * elapsed / trip);
        self.room = self.wanted().max(waiting.min(least));
    }
}

impl BufferAlgorithm for AbsLog {
    type Params = AbsLogParams;

    const INFO: BufferAlgorithmInfo = BufferAlgorithmInfo {
        name: "abs_log",
        title: "ABS in logarithms: finds the smallest buffer that meets its targets",
        source: "Levelflow, after Zhang 2008, chapter VII.2",
        params: &AbsLogParams::TABLE,
    };

    fn interval(params: &AbsLogParams) -> Duration {
        params.interval
    }

    fn new(params: &AbsLogParams, port: &PortInfo) -> Self {
        let control = |target: f64, otherwise: f64| Control::new(if target > 0.0 { params.initial } else { otherwise });
        let mut new = Self {
            capacity: port.capacity.bps(),
            utilisation: control(params.utilisation, if params.loss > 0.0 { 1.0 } else { params.largest }),
            loss: control(params.loss, 1.0),
            delay: control(params.delay, params.largest),
            gap: 0.0,
            since: 0.0,
            calm: 0.0,
            room: 0.0,
        };
        new.room = new.wanted();
        new
    }

    fn on_interval(&mut self, params: &AbsLogParams, load: &Load) {
        if self.capacity == 0.0 || load.elapsed == Duration::ZERO {
            return;
        }
        let drops = load.dropped > Bytes::ZERO;
        let trip = params.rtt + PACKET / self.capacity * self.wanted();
        let cycle = Cycle {
            elapsed: load.elapsed.as_secs_f64(),
            drops,
            trip,
            lasts: if drops { trip } else { PATIENCE * trip },
            scale: Scale {
                rtt: params.rtt,
                packet: PACKET / self.capacity,
            },
        };
        if params.utilisation > 0.0 {
            self.control_utilisation(params, load, &cycle);
        }
        if params.loss > 0.0 {
            self.control_loss(params, load, &cycle);
        }
        if params.delay > 0.0 {
            self.control_delay(params, load, &cycle);
        }
        self.note_drops(&cycle);
        self.fall(params, cycle.elapsed, f64::from(load.packets), cycle.scale);
        self.keep_up(params);
    }

    fn packets(&self) -> f64 {
        self.room
    }

    fn on_grant(&mut self, params: &AbsLogParams, packets: f64) {
        let most = (packets * BEHIND).max(1.0);
        let controls = [
            (params.utilisation, &mut self.utilisation),
            (params.loss, &mut self.loss),
            (params.delay, &mut self.delay),
        ];
        for (target, control) in controls {
            if target > 0.0 {
                control.at_least(packets / BEHIND);
                control.at_most(most);
            }
        }
        self.room = self.room.min(most);
    }
}
