//! ABS in logarithms, an algorithm of Levelflow: finds the smallest buffer that meets targets of utilisation and loss.
//!
//! Each target has an integral controller, which sums its errors to `y`, in seconds. `u*` and `p*` are the targets of
//! utilisation and loss rate, `k` is the gain, and `C` is the line rate:
//!
//! ```text
//! y_u += k (idle - v* t)/v*                v* = 1 - u*; idle: idle time of the line in time t
//! y_p += k (lost - p* arrived)/(p* C)      lost and arrived in bits
//! y_d += k (D - wait)/D t                  wait: mean queueing delay; D: its target
//! y    = G(b) = R ln b + b s/C             R: `rtt`; s: a packet of 1500 bytes
//! b    = max(b_u, b_p), at most b_d
//! ```
//!
//! A *cycle* lasts ten round trips. A drop ends the cycle earlier if at least one round trip has passed. At the end of
//! a cycle, the sums of errors change the buffers by a factor of at most two. `docs/concepts/adaptive-buffers.md` has
//! the reasons, the proof that `b_p` is unbiased, and a comparison with the printed controllers.

use levelflow_units::{Bytes, Duration};

use super::abs::{ABOVE_LARGEST, INITIAL, INTERVAL, LARGEST, LOSS, NO_TARGET, UTILISATION};
use super::{BufferAlgorithm, BufferAlgorithmInfo, Load};
use crate::law::PortInfo;
use crate::params::{Unit, parameters};

/// Length of a cycle without drops, in round trips. A drop ends the cycle if at least one round trip has passed. Cycles
/// therefore contain whole sawteeth.
const MAX_ROUNDS_PER_CYCLE: f64 = 10.0;
/// Smallest length of a `b_u` cycle without drops, as a multiple of the mean time between drops. This limit matters if
/// sawteeth are long.
const PATIENCE_IN_GAPS: f64 = 2.0;
/// Limit on the gain of `b_u` per mean time between drops. The limit is small, because flows may reduce their windows
/// one after another.
const LARGEST_GAIN_U: f64 = 0.1;
/// Limit on the gain of `b_p` per sawtooth.
const LARGEST_GAIN_P: f64 = 0.25;
/// Time, in mean times between drops. If the port meets its utilisation target for this time, the buffer is considered
/// oversized.
const IDLE_FREE_GAPS: f64 = 20.0;
/// Weight of the newest sample in the moving average of the time between drops.
const GAP_WEIGHT: f64 = 0.125;
/// Limit on `b_u`, as a multiple of `C R`. For windows that halve, the rule of thumb is `C R`. The limit is twice this
/// value, because `R` is approximate.
const MAX_BDP: f64 = 2.0;
/// Packets added to the limit on `b_u`. With these packets, windows are large enough to recover without a timeout.
const EXTRA_PACKETS: f64 = 10.0;
/// Limit on the factor by which a buffer changes per cycle.
const LARGEST_STEP: f64 = 2.0;
/// Initial gain of decreases. With the gain `k`, an oversized buffer would shrink slowly, because its error is at most
/// the permitted idle time or loss.
const FAST_DECAY_GAIN: f64 = 0.2;
/// Largest ratio between the requested buffer and the buffer of a target, in both directions. If another target becomes
/// the strictest, its buffer then needs only few cycles to determine the request.
const STANDBY_RATIO: f64 = 4.0;
/// Relative decrease of the limit per round trip while the queue stays full, for ports with a delay target. The
/// decrease causes drops of at most this fraction of the capacity.
const MAX_FALL_PER_RTT: f64 = 0.05;
/// Nominal packet size, bits. The actual size affects only the gain of large buffers.
const PACKET: f64 = 12_000.0;

parameters! {
    /// Validated parameters.
    pub struct AbsLogParams {
        /// Target utilisation `u*`; 0 for no target.
        utilisation: f64 = UTILISATION;
        /// Target loss rate `p*`; 0 for no target.
        loss: f64 = LOSS;
        /// Target delay `D`, seconds; 0 for no target.
        delay: f64 = Unit::Duration, 0.0, (0.0, 1000.0),
            "largest mean queueing delay; takes precedence over the other targets; 0 for no delay target",
            "Zhang 2008, section VII.2, names this target without a definition";
        /// Time between two measurements.
        interval: Duration = INTERVAL;
        gain: f64 = Unit::Number, 0.02, (1e-6, 1.0),
            "change of the logarithm of the buffer per round trip and relative error, k",
            "Levelflow, between 0.005 and 0.05: docs/concepts/adaptive-buffers.md";
        /// Round-trip time `R`, seconds.
        rtt: f64 = Unit::Duration, 0.1, (1e-6, 100.0),
            "approximate round-trip time without this queue; buffers for a utilisation target are at most 2 C rtt + 10 packets",
            "Levelflow";
        /// Initial buffer, packets.
        initial: f64 = INITIAL;
        /// Largest buffer, packets.
        largest: f64 = LARGEST;
    } where {
        utilisation: utilisation > 0.0 || loss > 0.0 || delay > 0.0, NO_TARGET;
        initial: initial <= largest, ABOVE_LARGEST;
    }
}

/// Conversion between a buffer and its coordinate `G`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    rtt: f64,
    /// Transmission time of a packet, seconds.
    packet: f64,
}

impl Scale {
    fn seconds(self, packets: f64) -> f64 {
        self.rtt * libm::log(packets) + self.packet * packets
    }

    /// Inverts [`seconds`](Self::seconds) for one packet or more. Newton's method converges, because it starts above
    /// the root of a convex function.
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

/// Controller of one target, with its buffer and the sum of its errors in the current cycle.
#[derive(Debug, Clone, Default, PartialEq)]
struct Control {
    /// Buffer, packets.
    buffer: f64,
    /// Sum of errors in this cycle, plus the remainder of earlier cycles, in seconds.
    missed: f64,
    cycle: f64,
    /// Gain of decreases, if it is larger than the usual gain.
    haste: f64,
    /// True if the last nonzero step was a decrease.
    falls: bool,
}

impl Control {
    fn new(buffer: f64) -> Self {
        Self {
            buffer,
            haste: FAST_DECAY_GAIN,
            ..Self::default()
        }
    }

    fn add(&mut self, elapsed: f64, missed: f64) {
        self.cycle += elapsed;
        self.missed += missed;
    }

    /// Changes the buffer by the sum of errors, limited to the largest step. The remainder is kept for later cycles, up
    /// to `stays` largest steps. If the buffer reaches a bound, the remainder is discarded.
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

    /// Returns the largest permitted steps down and up, in seconds.
    fn steps(&self, scale: Scale) -> [f64; 2] {
        let before = scale.seconds(self.buffer);
        [1.0 / LARGEST_STEP, LARGEST_STEP].map(|factor| scale.seconds(self.buffer * factor) - before)
    }

    /// Returns the gain of the next step. The gain of decreases is larger at first. It is halved when an increase
    /// follows decreases, because the decreases were too large (after Kesten, Accelerated stochastic approximation,
    /// 1958).
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

/// Returns the idle time per sawtooth of a single flow on a line without a buffer, in seconds. A window of `C R`
/// packets halves, and then grows by one packet per round trip. In this time, the line is idle for `C R/8` round trips
/// in total. `R` is [`MAX_BDP`] times the parameter `rtt`, because `rtt` is approximate.
fn sawtooth(rtt: f64, packet: f64) -> f64 {
    let rtt = MAX_BDP * rtt;
    rtt * rtt / (8.0 * packet)
}

/// Input of all controllers in one interval.
#[derive(Debug)]
struct Cycle {
    /// Length of the interval, seconds.
    elapsed: f64,
    /// True if a packet was dropped.
    drops: bool,
    /// Round-trip time through the full queue, seconds.
    trip: f64,
    /// Time after which a cycle may end, in seconds.
    lasts: f64,
    scale: Scale,
}

/// State of `abs_log` at one port.
#[derive(Debug, Clone, PartialEq)]
pub struct AbsLog {
    /// Line rate, bit/s.
    capacity: f64,
    utilisation: Control,
    loss: Control,
    delay: Control,
    /// Mean time between drops, in seconds; 0 before the first drop. Drops within a round trip count as one drop.
    gap: f64,
    /// Time since the last counted drop, in seconds.
    since: f64,
    /// Time since the last interval that missed the utilisation target, in seconds.
    calm: f64,
    /// Limit of the port, packets: the requested size, or a larger size while a queue drains.
    room: f64,
}

impl AbsLog {
    fn wanted(&self) -> f64 {
        self.utilisation.buffer.max(self.loss.buffer).min(self.delay.buffer)
    }

    /// Returns false if the port has met its utilisation target for [`IDLE_FREE_GAPS`] mean times between drops. Before
    /// that, the line may become idle again: with long sawteeth, it is idle only once per sawtooth.
    fn is_patient(&self) -> bool {
        self.calm < IDLE_FREE_GAPS * self.gap
    }

    /// Returns the scale of `b_u`. The `R` of this scale is large enough to limit the gain per mean time between drops
    /// to [`LARGEST_GAIN_U`].
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
            let needs = (MAX_BDP * params.rtt / scale.packet + EXTRA_PACKETS).max(control.buffer);
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
            // A sawtooth with a loss rate of p* lasts sqrt(2/(3 p*)) round trips.
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

    /// Updates the mean time between drops. A sample is limited to twice the mean, or to twice [`MAX_ROUNDS_PER_CYCLE`]
    /// round trips, whichever is longer.
    fn note_drops(&mut self, cycle: &Cycle) {
        self.since += cycle.elapsed;
        if cycle.drops && self.since >= cycle.trip {
            let last = self.since.min(2.0 * self.gap.max(MAX_ROUNDS_PER_CYCLE * cycle.trip));
            self.gap += if self.gap > 0.0 {
                GAP_WEIGHT * (last - self.gap)
            } else {
                last
            };
            self.since = 0.0;
        }
    }

    fn keep_up(&mut self, params: &AbsLogParams) {
        let wanted = self.wanted();
        // While the queue drains to the requested size, the measured utilisation and loss are not those of the smaller
        // buffer. The buffers of all targets therefore stay close to the current limit.
        let least = (wanted / STANDBY_RATIO).max(self.room / LARGEST_STEP);
        for (target, control) in [
            (params.utilisation, &mut self.utilisation),
            (params.loss, &mut self.loss),
        ] {
            if target > 0.0 {
                control.at_most(wanted * STANDBY_RATIO);
                control.at_least(least);
            }
        }
        if params.delay > 0.0 {
            self.delay.at_most(wanted * STANDBY_RATIO);
            // The measured delay is not that of the smaller buffer, either.
            self.delay.at_least(self.room / STANDBY_RATIO);
        }
    }

    /// Updates the limit. A limit below the current queue would drop every arrival. Therefore the limit follows the
    /// queue down to the requested size. With a delay target, the limit falls by at least [`MAX_FALL_PER_RTT`] per
    /// round trip.
    fn fall(&mut self, params: &AbsLogParams, elapsed: f64, waiting: f64, scale: Scale) {
        let trip = scale.rtt + scale.packet * self.room;
        let part = if params.delay > 0.0 { MAX_FALL_PER_RTT } else { 0.0 };
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
            lasts: if drops { trip } else { MAX_ROUNDS_PER_CYCLE * trip },
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
        let most = (packets * STANDBY_RATIO).max(1.0);
        let controls = [
            (params.utilisation, &mut self.utilisation),
            (params.loss, &mut self.loss),
            (params.delay, &mut self.delay),
        ];
        for (target, control) in controls {
            if target > 0.0 {
                control.at_least(packets / STANDBY_RATIO);
                control.at_most(most);
            }
        }
        self.room = self.room.min(most);
    }
}
