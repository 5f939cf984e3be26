//! Measurement of one direction with load: the capacity, the buffer and the queueing delay.
//!
//! The search has three phases:
//!
//! - *Ramp*: the rate doubles until the arrival rate falls below the sending rate. Both rates are measured over the
//!   same packets, each with the clock of one end. The propagation delay therefore cancels.
//! - *Fill*: load at 1.5 times the capacity fills the buffer until packets are lost and the delay no longer grows.
//! - *Steady*: load at 1.05 times the capacity keeps the buffer full, unless a queue discipline shortens the queue. In
//!   the second half of this phase, small packets measure the latency under load.

use std::collections::VecDeque;

use levelflow_units::{Duration, Time};

use crate::message::Arrived;
use crate::tally::signed;

/// Initial rate, bit/s.
const INITIAL_RATE_BPS: f64 = 250e3;
/// Constants `(a, n)` of saturation. The line is saturated if the arrival rate is below `a` times the sending rate in
/// `n` consecutive reports.
const BEHIND: (f64, u32) = (0.85, 3);
/// Minimum time over which a rate is computed.
const MIN_REPORT_TIME: Duration = Duration::from_ms(250);
/// Minimum number of packets over which a rate is computed.
const MIN_REPORT_PACKETS: u64 = 16;
/// Rate of load in the fill phase, as a multiple of the capacity.
const FILL_RATIO: f64 = 1.5;
/// Rate of load in the steady phase, as a multiple of the capacity.
const KEEP_FULL_RATIO: f64 = 1.05;
/// Minimum time of the fill phase.
const MIN_FILL_TIME: Duration = Duration::from_secs(1);
/// Time without growth of the delay after which the buffer counts as full.
const STEADY_DELAY_TIME: Duration = Duration::from_ms(500);
/// Maximum time of the steady phase.
const KEEP_FULL_TIME: Duration = Duration::from_secs(4);
/// Constants `(a, b)` of growth. The delay grows if it exceeds `(1 + a) longest + b`, in ns, where `longest` is the
/// longest delay so far.
const LONGER: (f64, f64) = (0.02, 1e6);

/// Phase of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStep {
    /// The rate doubles.
    Ramp,
    /// The buffer is filled.
    Fill,
    /// The buffer is kept full.
    Steady,
    /// Load has ended.
    Over,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    load: Arrived,
    small: u64,
}

/// Sending rate and arrival rate of the same packets, bit/s. `lost` is true if any of these packets was lost.
#[derive(Debug, Clone, Copy)]
struct Rates {
    sent: f64,
    arrived: f64,
    lost: bool,
}

/// Search of one direction, driven by the receiver's reports.
#[derive(Debug)]
pub struct Search {
    part: LoadStep,
    since: Time,
    /// Time limit of the search.
    end: Time,
    next: Time,
    rate: f64,
    most: f64,
    /// Size of a load packet on the wire, bytes.
    size: f64,
    round: Duration,
    /// Shortest one-way delay of a small packet on the idle line, ns. It includes the offset between the clocks.
    base: i64,
    behind: u32,
    seen: VecDeque<Seen>,
    /// Report that detected saturation of the line.
    knee: Option<Seen>,
    longest: (f64, Time),
    full: bool,
    capacity: f64,
    /// Counts of received load at the start of the steady phase.
    before: Arrived,
    /// Queueing delays of load packets in the fill phase, ns.
    filling: Vec<i64>,
    /// Queueing delays of load packets in the steady phase, ns.
    waits: Vec<i64>,
}

impl Search {
    /// Starts a search at `now` that lasts at most `time`.
    ///
    /// `round` is the round-trip time of the idle line. `base` is the one-way delay of a small packet on the idle line,
    /// in ns. `most` is the limit on the rate, in bit/s. `size` is the size of a load packet on the wire, in bytes.
    #[must_use]
    pub fn new(now: Time, time: Duration, round: Duration, base: i64, most: f64, size: u64) -> Self {
        Self {
            part: LoadStep::Ramp,
            since: now,
            end: now + time,
            next: now + MIN_REPORT_TIME.max(round),
            rate: INITIAL_RATE_BPS.min(most),
            most,
            size: size as f64,
            round,
            base,
            behind: 0,
            seen: VecDeque::new(),
            knee: None,
            longest: (0.0, now),
            full: false,
            capacity: 0.0,
            before: Arrived::default(),
            filling: Vec::new(),
            waits: Vec::new(),
        }
    }

    /// Current phase of the search.
    #[must_use]
    pub fn part(&self) -> LoadStep {
        self.part
    }

    /// Current rate of load, bit/s on the wire; 0 when the search is over.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.part == LoadStep::Over { 0.0 } else { self.rate }
    }

    /// Time of the next call of [`Self::handle_timeout`] if no report arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        match self.part {
            LoadStep::Ramp => self.next.min(self.keep_from()),
            LoadStep::Fill => self.keep_from(),
            LoadStep::Steady => self.end.min(self.since + KEEP_FULL_TIME),
            LoadStep::Over => Time::NEVER,
        }
    }

    /// True if a small packet sent at `now` measures the latency under load.
    #[must_use]
    pub fn counts(&self, now: Time) -> bool {
        self.part == LoadStep::Steady && now >= self.since + Duration::from_ps(self.kept().as_ps() / 2)
    }

    fn kept(&self) -> Duration {
        KEEP_FULL_TIME.min(self.end.since(self.since))
    }

    /// Latest start of the steady phase. The phase begins at this time even if the buffer is not full.
    fn keep_from(&self) -> Time {
        let left = Duration::from_ps(KEEP_FULL_TIME.as_ps().min(self.end.since(self.since).as_ps() / 2));
        Time::from_ps(self.end.as_ps() - left.as_ps().min(self.end.as_ps())).max(self.since)
    }

    /// Doubles the rate or enters the next phase, when this change is due.
    pub fn handle_timeout(&mut self, now: Time) {
        match self.part {
            LoadStep::Ramp if now >= self.keep_from() => self.enter(LoadStep::Over, now),
            LoadStep::Ramp if now >= self.next && self.rate < self.most => {
                self.rate = (2.0 * self.rate).min(self.most);
                // The effect of one rate is measured before the next doubling.
                let step = self.round + MIN_REPORT_TIME;
                self.next = now
                    + if self.rate < self.most {
                        step
                    } else {
                        step + MIN_FILL_TIME
                    };
            }
            LoadStep::Ramp if now >= self.next => self.enter(LoadStep::Over, now),
            LoadStep::Fill if now >= self.keep_from() => self.keep(now),
            LoadStep::Steady if now >= self.since + self.kept() => self.enter(LoadStep::Over, now),
            _ => {}
        }
    }

    fn enter(&mut self, part: LoadStep, now: Time) {
        (self.part, self.since) = (part, now);
    }

    /// Processes the counts of received load. `small` is the total size of the small packets received in the same
    /// direction, bytes.
    pub fn report(&mut self, now: Time, load: Arrived, small: u64) {
        if self.part == LoadStep::Over
            || self.seen.back().is_some_and(|last| load.sent <= last.load.sent)
            || load.packets == 0
        {
            return;
        }
        self.seen.push_back(Seen { load, small });
        let wait = (signed(load.longest) - self.base).max(0) as f64;
        if wait > self.longest.0 * (1.0 + LONGER.0) + LONGER.1 {
            self.longest = (wait, now);
        }
        let newest = signed(load.last_arrived.wrapping_sub(load.last_sent)) - self.base;
        let Some(rates) = self.rates() else { return };
        match self.part {
            LoadStep::Ramp => {
                self.behind = if rates.arrived < BEHIND.0 * rates.sent {
                    self.behind + 1
                } else {
                    0
                };
                if self.behind >= BEHIND.1 {
                    self.knee = self.seen.back().copied();
                    self.rate = (FILL_RATIO * rates.arrived).min(self.most);
                    self.longest.1 = now;
                    self.end = self.end.max(now);
                    self.enter(LoadStep::Fill, now);
                }
            }
            LoadStep::Fill => {
                self.filling.push(newest);
                let still = now >= self.longest.1 + STEADY_DELAY_TIME && now >= self.since + MIN_FILL_TIME + self.round;
                if still && rates.lost {
                    self.full = true;
                    self.keep(now);
                }
            }
            LoadStep::Steady => {
                if self.counts(now) {
                    self.waits
                        .push(signed(load.last_arrived.wrapping_sub(load.last_sent)) - self.base);
                }
            }
            LoadStep::Over => {}
        }
    }

    fn keep(&mut self, now: Time) {
        let (all, load) = self.carried();
        self.capacity = all;
        if let Some(last) = self.seen.back() {
            self.before = last.load;
        }
        self.rate = (KEEP_FULL_RATIO * load).min(self.most);
        self.enter(if load > 0.0 { LoadStep::Steady } else { LoadStep::Over }, now);
    }

    /// Rates of the newest packets, over at least [`MIN_REPORT_TIME`] and [`MIN_REPORT_PACKETS`].
    fn rates(&mut self) -> Option<Rates> {
        let new = self.seen.back()?.load;
        let far = |old: &Seen| {
            let passed = new.last_arrived.saturating_sub(old.load.last_arrived);
            passed >= MIN_REPORT_TIME.as_ps() / 1000 && new.sent >= old.load.sent + MIN_REPORT_PACKETS
        };
        while self.seen.get(1).is_some_and(far) {
            self.seen.pop_front();
        }
        let old = self.seen.front().filter(|old| far(old))?.load;
        let over = |count: u64, ns: u64| count as f64 * 8e9 / ns.max(1) as f64;
        let sent = new.sent - old.sent;
        Some(Rates {
            sent: over(1, new.last_sent.saturating_sub(old.last_sent)) * sent as f64 * self.size,
            arrived: over(
                new.bytes.saturating_sub(old.bytes),
                new.last_arrived.saturating_sub(old.last_arrived),
            ),
            lost: new.packets.saturating_sub(old.packets) < sent,
        })
    }

    /// Throughput since saturation, of all packets and of load only, bit/s on the wire.
    fn carried(&self) -> (f64, f64) {
        let (Some(from), Some(to)) = (self.knee, self.seen.back()) else {
            return (0.0, 0.0);
        };
        let ns = to.load.last_arrived.saturating_sub(from.load.last_arrived);
        let over = |bytes: u64| if ns == 0 { 0.0 } else { bytes as f64 * 8e9 / ns as f64 };
        let (load, small) = (
            to.load.bytes.saturating_sub(from.load.bytes),
            to.small.saturating_sub(from.small),
        );
        (over(load + small), over(load))
    }

    /// Capacity, bit/s on the wire. If the line was never saturated, this is the arrival rate of load.
    #[must_use]
    pub fn capacity(&mut self) -> f64 {
        if self.knee.is_some() {
            self.capacity
        } else {
            self.rates().map_or(0.0, |rates| rates.arrived)
        }
    }

    /// Two flags. The first is true if the line was saturated, and the second if its buffer was full.
    #[must_use]
    pub fn found(&self) -> (bool, bool) {
        (self.knee.is_some(), self.full)
    }

    /// Longest queueing delay of load packets, s. It includes the difference between the transmission times of a load
    /// packet and a small packet.
    #[must_use]
    pub fn longest_wait(&self) -> f64 {
        self.seen
            .back()
            .map_or(0.0, |last| (signed(last.load.longest) - self.base).max(0) as f64 / 1e9)
    }

    /// Queueing delay of load packets when the buffer was fullest, s. It is the 90th percentile of the fill phase,
    /// which excludes outliers.
    #[must_use]
    pub fn peak_wait(&self) -> f64 {
        quantile(&self.filling, 0.9).unwrap_or_default()
    }

    /// Median queueing delay of load packets in the steady phase, s; `None` if the search had no such phase.
    #[must_use]
    pub fn steady_wait(&self) -> Option<f64> {
        quantile(&self.waits, 0.5)
    }

    /// Fraction of load packets lost since the start of the steady phase.
    #[must_use]
    pub fn lost(&self) -> f64 {
        let Some(last) = self.seen.back().map(|seen| seen.load) else {
            return 0.0;
        };
        let (packets, sent) = (
            last.packets.saturating_sub(self.before.packets),
            last.sent - self.before.sent,
        );
        if sent == 0 {
            0.0
        } else {
            1.0 - (packets as f64 / sent as f64).min(1.0)
        }
    }
}

/// Returns a quantile of delays, in seconds. The delays are in ns; negative delays count as zero.
fn quantile(waits: &[i64], share: f64) -> Option<f64> {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len().max(1) - 1) as f64 * share;
    sorted.get(at.round() as usize).map(|wait| (*wait).max(0) as f64 / 1e9)
}
