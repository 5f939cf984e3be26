//! How much load a line is given in one direction, and what it makes of it.
//!
//! The rate doubles until what arrives falls behind what was sent (*ramp*). Both are rates of the same packets, by the clocks of
//! the two ends, so the time that they are under way does not matter. Then half as much again as the line carries fills the buffer,
//! until packets are lost and wait no longer than before (*fill*). Then a twentieth more than it carries keeps it full, unless
//! a queue discipline shortens it (*steady*): what small packets wait in the second half of that is the latency under load.

use std::collections::VecDeque;

use levelflow_units::{Duration, Time};

use crate::message::Arrived;
use crate::tally::signed;

/// Rate at first, bit/s.
const FIRST: f64 = 250e3;
/// What arrives has fallen behind when it is less than this part of what was sent, in so many reports in a row.
const BEHIND: (f64, u32) = (0.85, 3);
/// Least length and packets of what is judged.
const SPAN: Duration = Duration::from_ms(250);
const PACKETS: u64 = 16;
/// Load while the buffer is filled and kept full, in parts of what the line carries.
const FILL: f64 = 1.5;
const STEADY: f64 = 1.05;
/// Shortest time to fill it; how long packets wait no longer until it is full; how long it is kept full.
const SHORTEST: Duration = Duration::from_secs(1);
const FULL: Duration = Duration::from_ms(500);
const KEEP: Duration = Duration::from_secs(4);
/// A wait is longer than another if it is so by this part, and this time, ns.
const LONGER: (f64, f64) = (0.02, 1e6);

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The rate doubles.
    Ramp,
    /// The buffer is filled.
    Fill,
    /// It is kept full.
    Steady,
    /// Nothing more is sent.
    Over,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    load: Arrived,
    small: u64,
}

/// Rates of the same packets: as they were sent, and as they arrived, bit/s.
#[derive(Debug, Clone, Copy)]
struct Rates {
    sent: f64,
    arrived: f64,
    lost: bool,
}

/// The load of one direction.
#[derive(Debug)]
pub struct Search {
    part: Part,
    since: Time,
    /// What has to be over by when; when the rate doubles.
    end: Time,
    next: Time,
    rate: f64,
    most: f64,
    /// Bytes of a packet on the wire.
    size: f64,
    round: Duration,
    /// Way of a small packet through an idle line, in the difference of the clocks.
    base: i64,
    behind: u32,
    seen: VecDeque<Seen>,
    /// Where the line was found to be full of load.
    knee: Option<Seen>,
    longest: (f64, Time),
    full: bool,
    capacity: f64,
    /// What had arrived when it was to be kept full.
    before: Arrived,
    /// What load waited while the buffer was filled, and while it was kept full, ns.
    filling: Vec<i64>,
    waits: Vec<i64>,
}

impl Search {
    /// Begins now, and is over within `time`.
    ///
    /// `round` is the round-trip time of the idle line and `base` the way of a small packet through it, ns; `most` the largest rate,
    /// bit/s, and `size` that of packets, bytes on the wire.
    #[must_use]
    pub fn new(now: Time, time: Duration, round: Duration, base: i64, most: f64, size: u64) -> Self {
        Self {
            part: Part::Ramp,
            since: now,
            end: now + time,
            next: now + SPAN.max(round),
            rate: FIRST.min(most),
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

    /// What is going on.
    #[must_use]
    pub fn part(&self) -> Part {
        self.part
    }

    /// Load now, bit/s on the wire; 0 when it is over.
    #[must_use]
    pub fn rate(&self) -> f64 {
        if self.part == Part::Over { 0.0 } else { self.rate }
    }

    /// When something is to be done without a report.
    #[must_use]
    pub fn poll_timeout(&self) -> Time {
        match self.part {
            Part::Ramp => self.next.min(self.keep_from()),
            Part::Fill => self.keep_from(),
            Part::Steady => self.end.min(self.since + KEEP),
            Part::Over => Time::NEVER,
        }
    }

    /// When packets are sent whose waits are the latency under load.
    #[must_use]
    pub fn counts(&self, now: Time) -> bool {
        self.part == Part::Steady && now >= self.since + Duration::from_ps(self.kept().as_ps() / 2)
    }

    fn kept(&self) -> Duration {
        KEEP.min(self.end.since(self.since))
    }

    /// By when the buffer is to be kept full, however full it is.
    fn keep_from(&self) -> Time {
        let left = Duration::from_ps(KEEP.as_ps().min(self.end.since(self.since).as_ps() / 2));
        Time::from_ps(self.end.as_ps() - left.as_ps().min(self.end.as_ps())).max(self.since)
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        match self.part {
            Part::Ramp if now >= self.keep_from() => self.enter(Part::Over, now),
            Part::Ramp if now >= self.next && self.rate < self.most => {
                self.rate = (2.0 * self.rate).min(self.most);
                // What the last rate did is known before the next.
                let step = self.round + SPAN;
                self.next = now + if self.rate < self.most { step } else { step + SHORTEST };
            }
            Part::Ramp if now >= self.next => self.enter(Part::Over, now),
            Part::Fill if now >= self.keep_from() => self.keep(now),
            Part::Steady if now >= self.since + self.kept() => self.enter(Part::Over, now),
            _ => {}
        }
    }

    fn enter(&mut self, part: Part, now: Time) {
        (self.part, self.since) = (part, now);
    }

    /// Hears what has arrived so far; `small` are bytes of small packets that passed the line beside it.
    pub fn report(&mut self, now: Time, load: Arrived, small: u64) {
        if self.part == Part::Over
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
            Part::Ramp => {
                self.behind = if rates.arrived < BEHIND.0 * rates.sent {
                    self.behind + 1
                } else {
                    0
                };
                if self.behind >= BEHIND.1 {
                    self.knee = self.seen.back().copied();
                    self.rate = (FILL * rates.arrived).min(self.most);
                    self.longest.1 = now;
                    self.end = self.end.max(now);
                    self.enter(Part::Fill, now);
                }
            }
            Part::Fill => {
                self.filling.push(newest);
                let still = now >= self.longest.1 + FULL && now >= self.since + SHORTEST + self.round;
                if still && rates.lost {
                    self.full = true;
                    self.keep(now);
                }
            }
            Part::Steady => {
                if self.counts(now) {
                    self.waits
                        .push(signed(load.last_arrived.wrapping_sub(load.last_sent)) - self.base);
                }
            }
            Part::Over => {}
        }
    }

    fn keep(&mut self, now: Time) {
        let (all, load) = self.carried();
        self.capacity = all;
        if let Some(last) = self.seen.back() {
            self.before = last.load;
        }
        self.rate = (STEADY * load).min(self.most);
        self.enter(if load > 0.0 { Part::Steady } else { Part::Over }, now);
    }

    /// Rates of the newest packets, from so far back that they mean something.
    fn rates(&mut self) -> Option<Rates> {
        let new = self.seen.back()?.load;
        let far = |old: &Seen| {
            let passed = new.last_arrived.saturating_sub(old.load.last_arrived);
            passed >= SPAN.as_ps() / 1000 && new.sent >= old.load.sent + PACKETS
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

    /// What the line carried since it was full of load, bit/s on the wire: in all, and of load.
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

    /// What the line carries, bit/s on the wire; what arrived at most where it never fell behind.
    #[must_use]
    pub fn capacity(&mut self) -> f64 {
        if self.knee.is_some() {
            self.capacity
        } else {
            self.rates().map_or(0.0, |rates| rates.arrived)
        }
    }

    /// Whether it fell behind, and whether its buffer was seen to be full.
    #[must_use]
    pub fn found(&self) -> (bool, bool) {
        (self.knee.is_some(), self.full)
    }

    /// Longest that load waited, its own transmission in place of a small packet's, s.
    #[must_use]
    pub fn longest_wait(&self) -> f64 {
        self.seen
            .back()
            .map_or(0.0, |last| (signed(last.load.longest) - self.base).max(0) as f64 / 1e9)
    }

    /// What load waited when the buffer was fullest, but for a few packets that were late for other reasons, s.
    #[must_use]
    pub fn peak_wait(&self) -> f64 {
        quantile(&self.filling, 0.9).unwrap_or_default()
    }

    /// Median of what load waited while the buffer was kept full, s; none if it was not.
    #[must_use]
    pub fn steady_wait(&self) -> Option<f64> {
        quantile(&self.waits, 0.5)
    }

    /// Share of the load that was lost meanwhile.
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

/// Of waits, ns, in s.
fn quantile(waits: &[i64], share: f64) -> Option<f64> {
    let mut sorted = waits.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len().max(1) - 1) as f64 * share;
    sorted.get(at.round() as usize).map(|wait| (*wait).max(0) as f64 / 1e9)
}
