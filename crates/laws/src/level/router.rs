//! Router algorithm: computes the level at which its flows fill the link.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::header::shortest_above;
use super::params::LONGEST_GAP_S;
use super::{Header, RouterParams};
use crate::bytes::fixed;
use crate::law::{Arriving, PortInfo, PortView, RouterLaw};
use crate::police::Limits;

/// Fractional bits of the fixed-point sums of bits.
const BIT_BITS: u32 = 8;
/// Fractional bits of the fixed-point sums of inter-packet times (`gap`), in seconds.
const GAP_BITS: u32 = 44;
const PS_PER_SEC: f64 = 1e12;
/// Fractional bits of the fixed-point transmission time of a byte, in ps.
const PS_BITS: u32 = 10;
/// Largest transmission time of a byte, reached at 466 bit/s. With this limit, the transmission time of a megabyte does
/// not overflow. The limit has no other effect, because queueing delays are at most one interval.
const MAX_TIME_PER_BYTE: u64 = u64::MAX >> 20;

/// Relative change of the level below which the router applies only a fraction of the step. Small changes may be noise
/// from the jitter of arrivals. The noise is large if many flows leave a small capacity to a few flows.
const DAMPING_RANGE: f64 = 0.125;
/// Factor on steps that are smaller than [`DAMPING_RANGE`].
const DAMPING_GAIN: f64 = 0.25;

/// Flow counts at the end of an interval. A flow is *below the threshold* if its limit at the other links of its path
/// is less than the last threshold. All rates have the same unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Census {
    /// Number of flows.
    pub flows: f64,
    /// Number of flows below the threshold.
    pub few: f64,
    /// Sum of the limits of the flows below the threshold.
    pub below: f64,
    /// Largest limit of the flows below the threshold; 0 without such flows.
    pub largest: f64,
    /// Smallest limit of the flows at or above the threshold; infinity without such flows.
    pub least_above: f64,
}

/// Computes one step towards the level at which flows fill a link to `target`. This level is the solution of `sum
/// min(e, level) = target`, where `e` is the limit of a flow at other links. Returns the next threshold and an upper
/// bound of the solution.
///
/// From any threshold, the first step ends at or below the solution. The next steps rise to the solution, because they
/// are Newton steps on a concave function. A step may end below the solution if some flows were on the wrong side of
/// the threshold. Otherwise, the result of the step is also the upper bound.
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

/// Computes the next level that a router reports, from the last reported level and the bounds of the last two steps.
/// Each bound is an upper bound of the solution. Noise usually raises only one of the two bounds.
#[inline]
#[must_use]
pub fn smoothed(last: f64, bounds: [f64; 2]) -> f64 {
    let bound = bounds[0].min(bounds[1]);
    let change = bound - last;
    if change.abs() < DAMPING_RANGE * last {
        last + DAMPING_GAIN * change
    } else {
        bound
    }
}

/// Router of Level.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    capacity: f64,
    target: f64,
    /// Capacity that other traffic cannot take, bit/s.
    floor: f64,
    pub(super) sums: Sums,
    /// Sums of the previous interval. Packets of the current interval still add to these sums.
    pub(super) last: Sums,
    pub(super) level: f32,
    pub(super) refuses: bool,
    /// Lengths of this control interval and of the two previous intervals.
    pub(super) intervals: [Duration; 3],
    /// Measured length of the interval of `last`.
    elapsed: Duration,
    /// Code of the longest of these intervals in headers.
    pub(super) code: u8,
    /// Upper bound of the solution from the last step, in bit/s.
    bound: f64,
    /// Transmission time of a byte, in 2^-10 ps.
    pub(super) byte_time: u64,
    /// Time at which the modelled transmitter becomes idle.
    pub(super) free_at: Time,
}

/// Sums over the packets of an interval. Sums of integers do not depend on the order of packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    /// Start of the interval: arrival time of its first packet.
    pub(super) start: Option<Time>,
    /// Threshold, bit/s. Flows with a smaller limit at other links are *below the threshold*.
    pub(super) threshold: f32,
    /// Other traffic, in units of 2^-8 bits.
    pub(super) other: u64,
    /// Proposed traffic, in units of 2^-8 bits.
    pub(super) proposed: u64,
    /// Sum of `gap` over all packets, in units of 2^-44 s.
    pub(super) gaps: u64,
    /// Sum of `gap` over packets of flows below the threshold, in units of 2^-44 s.
    pub(super) gaps_below: u64,
    /// Sum of `limit * gap` over packets of flows below the threshold, in units of 2^-8 bits.
    pub(super) below: u64,
    /// Largest limit of the flows below the threshold, in bit/s.
    pub(super) largest: f32,
    /// Smallest limit of the flows at or above the threshold, in bit/s.
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

    /// Counts the flow of a packet for `gap` seconds, the time between this packet and the previous packet of the flow.
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

/// Returns the transmission time of a byte, in 2^-10 ps.
fn byte_time(capacity: f64) -> u64 {
    ((8.0 / capacity * PS_PER_SEC * f64::from(1 << PS_BITS)) as u64).min(MAX_TIME_PER_BYTE)
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        let capacity = port.capacity.bps();
        let target = params.gamma * capacity;
        let level = target.min(f32::MAX.into()) as f32;
        let interval = params.control_interval(capacity, 0.0);
        Self {
            capacity,
            target,
            floor: params.floor * capacity,
            sums: Sums::new(level),
            last: Sums::new(level),
            level,
            refuses: false,
            intervals: [interval; 3],
            elapsed: interval,
            code: shortest_above(interval.as_secs_f64()),
            bound: target,
            byte_time: byte_time(capacity),
            free_at: Time::ZERO,
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        self.capacity = capacity.bps();
        self.target = params.gamma * self.capacity;
        self.floor = params.floor * self.capacity;
        self.byte_time = byte_time(self.capacity);
    }

    /// Counts a packet. After the 255th hop, packets count as other traffic.
    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        let start = *self.sums.start.get_or_insert(packet.now);
        let wait = self.queue(packet);
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
        // A packet counts its flow for the time since the previous packet of that flow. A part of this time may belong
        // to the previous interval. The router subtracts queueing delays, because they change the distances between the
        // packets of a paced sender.
        let into = header.unqueued(packet.now).since(start).as_secs_f64() as f32;
        let gap = if header.gap <= into { header.gap } else { into };
        self.sums.count(gap, header.proposal, elsewhere);
        if gap < header.gap {
            self.last.count(header.gap - gap, header.proposal, elsewhere);
        }
        header.report(hop, self.level);
        header.lengthen(self.code);
        header.wait(wait);
        if self.refuses {
            header.refuse();
        }
    }

    fn interval(&self, _params: &RouterParams) -> Duration {
        self.intervals[0]
    }

    /// Ignores an interval of zero length.
    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, _port: &PortView) {
        if elapsed == Duration::ZERO {
            return;
        }
        let last = core::mem::replace(&mut self.last, self.sums);
        let length = match (last.start, self.last.start) {
            (Some(start), Some(end)) if end > start => end.since(start),
            _ => self.elapsed,
        };
        self.elapsed = elapsed;
        let threshold = self.close(params, &last, length.as_secs_f64());
        self.sums = Sums::new(threshold);
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    /// Returns the level, bit/s.
    fn signal(&self) -> f64 {
        self.level.into()
    }

    fn share(&self) -> Option<Rate> {
        Some(Rate::clamped(self.level.into()))
    }

    fn permitted(&self) -> f64 {
        self.level.into()
    }

    fn claimed(params: &RouterParams, header: &Header) -> Option<f32> {
        Some(header.gap.min(longest_gap(params)))
    }

    /// Raises a plausible gap to the transmission time at the permitted rate. Limits the proposal to the level, or to
    /// the rate of the flow if this is higher. Raises the limits at other links to the proposal, because an honest
    /// sender proposes no more than they allow.
    fn correct(&self, params: &RouterParams, size: Bytes, limits: &Limits, header: &mut Header) {
        let least = (size.as_bits_f64() / limits.rate) as f32;
        header.gap = limits.gap.unwrap_or(header.gap.max(least)).min(longest_gap(params));
        let rate = (size.as_bits_f64() / f64::from(header.gap.max(least))) as f32;
        header.proposal = header.proposal.min(self.level.max(rate));
        header.lowest = header.lowest.max(header.proposal);
        header.second = header.second.max(header.proposal);
    }
}

/// Returns the longest gap that a header may claim, in s: that of a sender of smallest packets at the lowest rate.
fn longest_gap(params: &RouterParams) -> f32 {
    params.interval.as_secs_f64().max(LONGEST_GAP_S) as f32
}

impl Router {
    /// Queues a packet at a model of the transmitter, which has the capacity of the link. Returns the queueing delay of
    /// the packet, at most the length of the interval in which the previous packet arrived.
    #[inline]
    fn queue(&mut self, packet: &Arriving) -> Duration {
        let wait = self.free_at.since(packet.now);
        let transmission = self.byte_time.saturating_mul(packet.size.get()) >> PS_BITS;
        self.free_at = self
            .free_at
            .max(packet.now)
            .saturating_add(Duration::from_ps(transmission))
            .min(packet.now.saturating_add(self.intervals[0]));
        wait
    }

    /// Processes the sums of an interval of `secs` seconds. Returns the next threshold.
    fn close(&mut self, params: &RouterParams, sums: &Sums, secs: f64) -> f32 {
        let rate = |bits: u64| bits as f64 / f64::from(1 << BIT_BITS) / secs;
        let flows = |gaps: u64| gaps as f64 / (1_u64 << GAP_BITS) as f64 / secs;
        let other = rate(sums.other).min(self.capacity - self.floor);
        let census = Census {
            flows: flows(sums.gaps),
            few: flows(sums.gaps_below),
            below: rate(sums.below),
            largest: sums.largest.into(),
            least_above: sums.least_above.into(),
        };
        let target = (self.target - other).max(self.floor.min(self.target));
        let (threshold, bound) = fill(target, &census);
        self.level = smoothed(self.level.into(), [self.bound, bound]).min(f32::MAX.into()) as f32;
        self.bound = bound;
        self.refuses = rate(sums.proposed) + other > self.capacity;
        let [last, before, _] = self.intervals;
        self.intervals = [params.control_interval(self.capacity, census.flows), last, before];
        let longest = self.intervals.iter().max().map_or(0.0, |longest| longest.as_secs_f64());
        self.code = shortest_above(longest);
        threshold.min(f32::MAX.into()) as f32
    }
}
