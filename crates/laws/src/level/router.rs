//! The router half: fills the link to a level.

use levelflow_units::{Duration, Rate, Time};

use super::header::shortest_above;
use super::{Header, Params};
use crate::bytes::fixed;
use crate::law::{Arriving, PortInfo, PortView, RouterLaw};

/// Fraction bits of the sums of bits.
const BIT_BITS: u32 = 8;
/// Fraction bits of the sums of gaps, in seconds.
const GAP_BITS: u32 = 44;
const PS_PER_SEC: f64 = 1e12;
/// Fraction bits of the time that a byte takes, in ps.
const PS_BITS: u32 = 10;
/// The longest of these times, that of 466 bit/s: a megabyte of it is still a number. Waits end at an interval anyway.
const SLOWEST: u64 = u64::MAX >> 20;

/// A level nearer to the last one than this, as a part of it, makes only a part of the way. It may be noise: arrivals
/// jitter, and the level of a few flows is what many others leave.
const NEAR: f64 = 0.125;
/// The part of the way.
const GAIN: f64 = 0.25;

/// What a router knows of its flows at the end of an interval. A flow is *below* if the other links of its path allow
/// it less than the last threshold. Rates in the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Census {
    /// Flows.
    pub flows: f64,
    /// Of these, below.
    pub few: f64,
    /// What the flows below may send in all.
    pub below: f64,
    /// The most that one of them may send; 0 without any.
    pub largest: f64,
    /// The least that another one may send elsewhere; infinity without any.
    pub least_above: f64,
}

/// One step towards the level at which flows fill a link to `target`: the next threshold, and an upper bound of the
/// solution.
///
/// From any threshold the first step ends at or below the solution of `sum min(e, level) = target`, and the next ones
/// rise to it: they are Newton's on a concave function. Where the step shows that flows were on the wrong side, it may
/// be below the solution; otherwise it is the bound, too.
#[inline]
#[must_use]
pub fn fill(target: f64, census: &Census) -> (f64, f64) {
    if census.flows <= 0.0 {
        return (target, target);
    }
    let above = census.flows - census.few;
    let left = target - census.below;
    let filled = if above > 0.0 {
        left / above
    } else {
        left + census.largest
    };
    let threshold = filled.max(target / census.flows).min(target);
    let bound = if census.largest > threshold {
        census.largest
    } else if census.least_above < threshold {
        left - (above - 1.0).max(0.0) * census.least_above
    } else {
        threshold
    };
    (threshold, bound.max(threshold).min(target))
}

/// The level that a router announces, given the last one and the bounds that the last two steps gave: each bounds the
/// solution from above, and noise raises them one at a time.
#[inline]
#[must_use]
pub fn smoothed(last: f64, bounds: [f64; 2]) -> f64 {
    let bound = bounds[0].min(bounds[1]);
    let change = bound - last;
    if change.abs() < NEAR * last {
        last + GAIN * change
    } else {
        bound
    }
}

/// Router half of Level.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    capacity: f64,
    target: f64,
    pub(super) sums: Sums,
    /// Of the interval before, which packets of this one complete.
    pub(super) last: Sums,
    pub(super) level: f32,
    pub(super) refuses: bool,
    /// Its interval, as headers say it.
    pub(super) interval: u8,
    /// The bound that the last step gave, bit/s.
    bound: f64,
    /// To transmit a byte, ps in 2^-10.
    pub(super) byte_time: u64,
    /// When the transmitter has sent all that has arrived.
    pub(super) free_at: Time,
}

/// What an interval counts: integers, which add up in any order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    /// Arrival of the first packet, which is where one interval is divided from the next.
    pub(super) start: Option<Time>,
    /// Flows that may have less elsewhere are below, bit/s.
    pub(super) threshold: f32,
    /// Other traffic, bits in 2^-8.
    pub(super) other: u64,
    /// Bits proposed, in 2^-8.
    pub(super) proposed: u64,
    /// Gaps of all packets, seconds in 2^-44.
    pub(super) gaps: u64,
    /// Gaps of the flows below, seconds in 2^-44.
    pub(super) gaps_below: u64,
    /// What the flows below may send, bits in 2^-8.
    pub(super) below: u64,
    /// The most that one of them may send, bit/s.
    pub(super) largest: f32,
    /// The least that one of the others may send elsewhere, bit/s.
    pub(super) least_above: f32,
}

impl Sums {
    const fn new(threshold: f32) -> Self {
        Self {
            start: None,
            threshold,
            other: 0,
            proposed: 0,
            gaps: 0,
            gaps_below: 0,
            below: 0,
            largest: 0.0,
            least_above: f32::MAX,
        }
    }

    /// Counts a flow for the time that a packet stands for, s.
    #[inline]
    fn count(&mut self, gap: f32, proposal: f32, elsewhere: f32) {
        let time = fixed(gap, GAP_BITS);
        self.gaps = self.gaps.saturating_add(time);
        self.proposed = self.proposed.saturating_add(fixed(proposal * gap, BIT_BITS));
        if elsewhere >= self.threshold {
            if elsewhere < self.least_above {
                self.least_above = elsewhere;
            }
            return;
        }
        self.gaps_below = self.gaps_below.saturating_add(time);
        self.below = self.below.saturating_add(fixed(elsewhere * gap, BIT_BITS));
        if elsewhere > self.largest {
            self.largest = elsewhere;
        }
    }
}

/// Time to send a byte, in 2^-10 ps.
fn byte_time(capacity: f64) -> u64 {
    ((8.0 / capacity * PS_PER_SEC * f64::from(1 << PS_BITS)) as u64).min(SLOWEST)
}

impl RouterLaw for Router {
    type Params = Params;
    type Header = Header;

    fn new(params: &Params, port: &PortInfo) -> Self {
        let capacity = port.capacity.bps();
        let target = params.gamma * capacity;
        let level = target.min(f32::MAX.into()) as f32;
        Self {
            capacity,
            target,
            sums: Sums::new(level),
            last: Sums::new(level),
            level,
            refuses: false,
            interval: shortest_above(params.interval.as_secs_f64()),
            bound: target,
            byte_time: byte_time(capacity),
            free_at: Time::ZERO,
        }
    }

    fn on_capacity(&mut self, params: &Params, capacity: Rate) {
        self.capacity = capacity.bps();
        self.target = params.gamma * self.capacity;
        self.byte_time = byte_time(self.capacity);
    }

    /// Hops beyond the 255th count as other traffic.
    #[inline]
    fn on_arrival(&mut self, params: &Params, packet: &Arriving, header: Option<&mut Header>) {
        let start = *self.sums.start.get_or_insert(packet.now);
        let wait = self.queue(params, packet);
        let hop = match &header {
            Some(header) if !header.is_ack() => header.hop.checked_add(1),
            _ => None,
        };
        let (Some(hop), Some(header)) = (hop, header) else {
            let bits = packet.size.get().saturating_mul(8 << BIT_BITS);
            self.sums.other = self.sums.other.saturating_add(bits);
            return;
        };
        header.hop = hop;
        let elsewhere = header.elsewhere(hop);
        // A packet stands for the time since the one before it, part of which may lie in the interval before. The pace is
        // that of the sender: what queues have added is taken off.
        let into = header.unqueued(packet.now).since(start).as_secs_f64() as f32;
        let gap = if header.gap <= into { header.gap } else { into };
        self.sums.count(gap, header.proposal, elsewhere);
        if gap < header.gap {
            self.last.count(header.gap - gap, header.proposal, elsewhere);
        }
        header.report(hop, self.level);
        header.lengthen(self.interval);
        header.wait(wait);
        if self.refuses {
            header.refuse();
        }
    }

    fn interval(&self, params: &Params) -> Duration {
        params.interval
    }

    /// An interval without length measures nothing and is left out.
    fn on_interval(&mut self, _params: &Params, elapsed: Duration, _port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        let last = core::mem::replace(&mut self.last, self.sums);
        let length = match (last.start, self.last.start) {
            (Some(start), Some(end)) if end > start => end.since(start),
            _ => elapsed,
        };
        let threshold = self.close(&last, length.as_secs_f64());
        self.sums = Sums::new(threshold);
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    /// The level, bit/s.
    fn signal(&self) -> f64 {
        self.level.into()
    }

    fn share(&self) -> Option<Rate> {
        Some(Rate::clamped(self.level.into()))
    }
}

impl Router {
    /// Queues a packet at a transmitter of the link's capacity; returns how long it waits, at most an interval.
    #[inline]
    fn queue(&mut self, params: &Params, packet: &Arriving) -> Duration {
        let wait = self.free_at.since(packet.now);
        let transmission = self.byte_time.saturating_mul(packet.size.get()) >> PS_BITS;
        self.free_at = self
            .free_at
            .max(packet.now)
            .saturating_add(Duration::from_ps(transmission))
            .min(packet.now.saturating_add(params.interval));
        wait
    }

    /// Takes what an interval of this length, in seconds, counted; returns the next threshold.
    fn close(&mut self, sums: &Sums, secs: f64) -> f32 {
        let rate = |bits: u64| bits as f64 / f64::from(1 << BIT_BITS) / secs;
        let flows = |gaps: u64| gaps as f64 / (1_u64 << GAP_BITS) as f64 / secs;
        let other = rate(sums.other);
        let census = Census {
            flows: flows(sums.gaps),
            few: flows(sums.gaps_below),
            below: rate(sums.below),
            largest: sums.largest.into(),
            least_above: sums.least_above.into(),
        };
        let (threshold, bound) = fill((self.target - other).max(0.0), &census);
        self.level = smoothed(self.level.into(), [self.bound, bound]).min(f32::MAX.into()) as f32;
        self.bound = bound;
        self.refuses = rate(sums.proposed) + other > self.capacity;
        threshold.min(f32::MAX.into()) as f32
    }
}
