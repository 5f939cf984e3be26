//! Router algorithm: sums over the flows of a link, and the rate limit of each flow at this link.

use levelflow_units::{Duration, Rate, Time};

use super::{Header, Label, RouterParams};
use crate::bytes::fixed;
use crate::law::{Arriving, PortInfo, PortView, RouterLaw};
use crate::offload::Offload;

/// Fractional bits of the fixed-point sum of rates.
const RATE_BITS: u32 = 8;
/// Number of resets of MaxSat in an epoch. MaxSat is the largest allocation of a satisfied flow.
const RESETS_PER_EPOCH: u8 = 4;

/// Sums over the flows of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// `NumFlows`: number of flows.
    pub flows: u32,
    /// `NumSat`: number of satisfied flows.
    pub satisfied: u32,
    /// `SumSat`: sum of the allocations of satisfied flows, in units of 2^-8 bit/s.
    allocated: u64,
}

impl Sums {
    /// Returns `SumSat`, the sum of the allocations of satisfied flows, in bit/s.
    #[must_use]
    pub fn allocated(&self) -> f64 {
        self.allocated as f64 / f64::from(1 << RATE_BITS)
    }

    /// Counts a flow with this label and this allocation in bit/s.
    #[inline]
    pub fn add(&mut self, label: Label, allocation: f32) {
        self.flows = self.flows.saturating_add(1);
        if label == Label::Satisfied {
            self.satisfied = self.satisfied.saturating_add(1);
            self.allocated = self.allocated.saturating_add(fixed(allocation, RATE_BITS));
        }
    }

    /// Reverses [`add`](Self::add).
    #[inline]
    pub fn remove(&mut self, label: Label, allocation: f32) {
        self.flows = self.flows.saturating_sub(1);
        if label == Label::Satisfied {
            self.satisfied = self.satisfied.saturating_sub(1);
            self.allocated = self.allocated.saturating_sub(fixed(allocation, RATE_BITS));
        }
    }

    /// Returns the limit of an unsatisfied flow, bit/s. It is `target` minus the allocations of satisfied flows,
    /// divided by the number of unsatisfied flows. `more` is the number of unsatisfied flows that are not counted yet.
    #[inline]
    #[must_use]
    pub fn limit(&self, target: f64, more: u32) -> f64 {
        let unsatisfied = self.flows.saturating_add(more).saturating_sub(self.satisfied);
        (target - self.allocated()).max(0.0) / f64::from(unsatisfied.max(1))
    }
}

/// Router of s-PERC.
#[derive(Debug, Clone, PartialEq)]
pub struct Router {
    /// Target rate, in bit/s.
    target: f64,
    /// Sums over the flows counted in this epoch or in the previous epoch.
    pub(super) sums: Sums,
    /// Sums over the flows counted in this epoch.
    recent: Sums,
    pub(super) epoch: u8,
    /// Arrival time of the last packet before this epoch began.
    began: Time,
    /// Arrival time of the last packet.
    seen: Time,
    /// Number of resets of MaxSat in this epoch.
    resets: u8,
    /// MaxSat, in bit/s: largest allocation of a satisfied flow in the current and the previous timeout.
    pub(super) max_sat: f32,
    /// Value of MaxSat after the next reset, in bit/s.
    next_max_sat: f32,
    /// Time between two resets of MaxSat.
    pub(super) timeout: Duration,
    /// Time since the last reset of MaxSat.
    since: Duration,
    /// Longest round in this window or in the previous window, in seconds. In a round, a flow updates all its hops.
    longest: f32,
    /// Longest round in this window, in seconds.
    next_longest: f32,
    /// Time since the window for the longest round began.
    window: Duration,
}

impl RouterLaw for Router {
    type Params = RouterParams;
    type Header = Header;

    fn new(params: &RouterParams, port: &PortInfo) -> Self {
        Self {
            target: params.gamma * port.capacity.bps(),
            sums: Sums::default(),
            recent: Sums::default(),
            epoch: 0,
            began: Time::ZERO,
            seen: Time::ZERO,
            resets: 0,
            max_sat: 0.0,
            next_max_sat: 0.0,
            timeout: params.timeout,
            since: Duration::ZERO,
            longest: 0.0,
            next_longest: 0.0,
            window: Duration::ZERO,
        }
    }

    fn on_capacity(&mut self, params: &RouterParams, capacity: Rate) {
        self.target = params.gamma * capacity.bps();
    }

    /// Processes a header. Routers after the 255th hop ignore headers.
    #[inline]
    fn on_arrival(&mut self, _params: &RouterParams, packet: &Arriving, header: Option<&mut Header>) {
        let Some(header) = header else { return };
        let Some(hop) = header.hop.checked_add(1) else {
            return;
        };
        header.hop = hop;
        self.seen = packet.now;
        if hop == header.target {
            self.update(header);
        } else if header.label() == Label::Finished {
            self.finish(packet.now, hop, header);
        }
    }

    /// Returns the time until the next reset of MaxSat.
    fn interval(&self, _params: &RouterParams) -> Duration {
        self.timeout.saturating_sub(self.since)
    }

    /// Resets MaxSat if the timeout has passed. The timeout may have increased during the interval.
    fn on_interval(&mut self, params: &RouterParams, elapsed: Duration, _port: &PortView) {
        self.since = self.since.checked_add(elapsed).unwrap_or(Duration::MAX);
        self.window = self.window.checked_add(elapsed).unwrap_or(Duration::MAX);
        if self.since < self.timeout {
            return;
        }
        self.since = Duration::ZERO;
        (self.max_sat, self.next_max_sat) = (self.next_max_sat, 0.0);
        self.resets += 1;
        if self.resets == RESETS_PER_EPOCH {
            self.resets = 0;
            self.epoch = self.epoch.wrapping_add(1);
            self.began = self.seen;
            self.sums = core::mem::take(&mut self.recent);
        }
        if self.window >= params.window && self.window.checked_sub(self.timeout) >= Some(self.timeout) {
            self.close_window();
        }
    }

    fn target(&self) -> Rate {
        Rate::clamped(self.target)
    }

    /// Returns the share of one unsatisfied flow, bit/s.
    fn signal(&self) -> f64 {
        self.sums.limit(self.target, 0)
    }

    fn share(&self) -> Option<Rate> {
        Some(Rate::clamped(self.signal()))
    }

    /// Returns the limit of an unsatisfied flow, or the largest allocation of a satisfied flow if this is larger.
    fn permitted(&self) -> f64 {
        self.signal().max(self.max_sat.into())
    }
}

impl Router {
    /// Removes the old count of the flow, and counts the flow again. The flow is satisfied if its limit at another hop
    /// is below its limit at this hop. Otherwise it is unsatisfied.
    #[inline]
    fn update(&mut self, header: &mut Header) {
        self.on_period(header.period);
        let age = self.epoch.wrapping_sub(header.epoch);
        self.remove(header.label(), header.allocation, age);
        let limit = self.sums.limit(self.target, 1).min(f32::MAX.into()) as f32;
        let elsewhere = header.elsewhere;
        let label = if limit > elsewhere {
            Label::Satisfied
        } else {
            Label::Unsatisfied
        };
        self.sums.add(label, elsewhere);
        self.recent.add(label, elsewhere);
        header.mark(label, self.max_sat > limit);
        header.limit = limit;
        header.epoch = self.epoch;
        if label == Label::Satisfied {
            if elsewhere > self.max_sat {
                self.max_sat = elsewhere;
            }
            if elsewhere > self.next_max_sat {
                self.next_max_sat = elsewhere;
            }
        }
    }

    /// Removes a finished flow. The epoch in the header is too old by one if the ACK of the flow's last update did not
    /// reach the sender. If the last round of the flow began after the current epoch, the flow was counted in the
    /// current epoch.
    fn finish(&mut self, now: Time, hop: u8, header: &Header) {
        let (label, epoch) = header.left_behind(hop);
        let mut age = self.epoch.wrapping_sub(epoch) & 3;
        let updated = f64::from(header.period) * (1.0 + f64::from(f32::EPSILON));
        if age == 1 && now.since(self.began).as_secs_f64() > updated {
            age = 0;
        }
        self.remove(label, header.allocation, age);
    }

    /// Removes a flow from the sums that contain the flow.
    #[inline]
    fn remove(&mut self, label: Label, allocation: f32, age: u8) {
        if !matches!(label, Label::Unsatisfied | Label::Satisfied) || age > 1 {
            return;
        }
        self.sums.remove(label, allocation);
        if age == 0 {
            self.recent.remove(label, allocation);
        }
    }

    /// Doubles the timeout until it is at least the longest round.
    #[inline]
    fn on_period(&mut self, period: f32) {
        if period <= self.next_longest {
            return;
        }
        self.next_longest = period;
        if period > self.longest {
            self.longest = period;
            while self.timeout.as_secs_f64() < f64::from(period) {
                self.timeout = self.timeout.checked_mul(2).unwrap_or(Duration::MAX);
            }
        }
    }

    /// Halves the timeout until it is at most twice the longest round.
    fn close_window(&mut self) {
        self.window = Duration::ZERO;
        (self.longest, self.next_longest) = (self.next_longest, 0.0);
        if self.longest == 0.0 {
            return;
        }
        while self.timeout.as_secs_f64() > 2.0 * f64::from(self.longest) && self.timeout.as_ps() >= 2_000_000 {
            self.timeout = Duration::from_ps(self.timeout.as_ps() / 2);
        }
    }
}

impl Offload for Router {}
