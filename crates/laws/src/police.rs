//! Policer of a router: a bound on the harm of a flow that lies, with a state of fixed size.
//!
//! Each packet of a flow costs time: the time for which its header counts the flow (`gap`), or its transmission time at
//! the largest rate that the router permits a flow, whichever is longer. An honest flow spends at most one second per
//! second, apart from jitter. The policer checks this on [`WATCHES`] flows. A packet is drawn each time that all flows
//! together have spent a random time, and its flow is watched. A flow that spends more is therefore drawn earlier,
//! regardless of the number of flows.
//!
//! The router counts a watched flow for at most one second per second. A flow that continues to overspend is
//! *convicted*. The router then counts it for the time since its last packet, and drops its packets above the rate
//! that it permits now. In addition, [`RouterLaw::correct`](crate::RouterLaw::correct) limits the values of each
//! header, without a state.
//!
//! Bounds, for a router that spends `S` seconds per second on all flows (`S` is the number of flows if all are honest):
//!
//! - A flow spends `S/32` seconds on average before it is drawn. It is watched if its place is free, or at the first
//!   draw after another flow has had the place for 4 seconds.
//! - A watched flow counts for at most the elapsed time plus [`COUNTED_CREDIT`].
//! - A watched flow that spends `w` seconds per second is convicted after `CREDIT / (w - ALLOWANCE)` seconds.
//! - A convicted flow passes at most the permitted rate, plus a packet and [`PASSED_CREDIT`].
//!
//! The place of a flow in the tables depends on a secret key. Two flows with the same place are not watched at the same
//! time. The hash is not cryptographic, but its results are not visible outside.

use levelflow_units::{Bytes, Duration, Time};

use crate::random::Draws;

#[cfg(test)]
mod tests;

/// Number of flows whose spending is measured at the same time. A power of two.
pub const WATCHES: usize = 64;
/// Largest number of convicted flows. A power of two. The conviction of another flow may end an earlier conviction.
pub const CONVICTS: usize = 256;
/// Time that a flow may spend per second.
const ALLOWANCE: f64 = 1.1;
/// Time that a flow may spend in advance, s. The delays before the router may vary by this time.
const CREDIT: f64 = 1.0;
/// Time that the router counts in advance for a watched flow, s.
const COUNTED_CREDIT: f64 = 0.1;
/// Time after which a convicted flow may send a packet in advance, s.
const PASSED_CREDIT: f64 = 0.03;
/// Time after which another flow may replace a watched flow: the first if the watched flow owes little, the second in
/// any case, s.
const TURNS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];
/// Debt up to which a flow owes little, s.
const LITTLE: f64 = 0.1;
/// Mean time between two draws, s, if flows spend as much as in the last period.
const DRAW_TIME: f64 = 1.0 / 32.0;
/// Length of a period. The permitted rate is the largest of the current and the previous period. A flow thus has one to
/// two periods to reduce its rate.
const PERIOD: Duration = Duration::from_secs(4);
/// Time after the last offence at which a conviction ends.
const TERM: Duration = Duration::from_secs(60);
/// Rate that every flow may have: a fraction of the capacity, and a rate in bit/s. Senders have an initial rate, and a
/// smallest rate at which they receive feedback.
const LEAST_FRACTION: f64 = 1e-3;
const LEAST_RATE: f64 = 64e3;

/// Limits of a packet's header. Honest packets observe the limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Largest rate of a flow, bit/s.
    pub rate: f64,
    /// Time that replaces the time in the header, s; `None` if the header is plausible.
    pub gap: Option<f32>,
}

/// Decision of the policer about a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The router counts the packet, after its header has been corrected.
    Pass(Limits),
    /// The packet exceeds the rate of a convicted flow. It is dropped, and the router does not count it.
    Drop,
}

/// Spending of a flow. Flow 0 marks a free place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Account {
    flow: u64,
    /// Time at which the flow was drawn, or at which its conviction ends.
    term: Time,
    /// Time of the last packet that passed after the conviction.
    last: Time,
    /// Time of the last update of `debt`.
    at: Time,
    /// Time spent in advance, s.
    debt: f64,
    /// Time counted or passed in advance, s.
    counted: f64,
}

impl Account {
    /// Adds the cost of a packet. Returns true if the flow has spent too much.
    fn spend(&mut self, now: Time, cost: f64) -> bool {
        let earned = ALLOWANCE * now.since(self.at).as_secs_f64();
        self.at = now;
        self.debt = (self.debt - earned).max(0.0) + cost;
        self.debt > CREDIT
    }

    /// Returns the part of `cost` for which the router counts the packet.
    fn count(&mut self, now: Time, cost: f64) -> f64 {
        self.earn(now);
        let counted = cost.min(COUNTED_CREDIT - self.counted).max(0.0);
        self.counted += counted;
        counted
    }

    /// Reduces the time counted in advance. Call this method before [`spend`](Self::spend).
    fn earn(&mut self, now: Time) {
        self.counted = (self.counted - now.since(self.at).as_secs_f64()).max(0.0);
    }
}

/// Policer of one router.
#[derive(Debug, Clone, PartialEq)]
pub struct Police {
    draws: Draws,
    /// Secret key of the hash of flows.
    key: u64,
    /// Smallest limit of a flow's rate, bit/s.
    least: f64,
    capacity: f64,
    /// Largest permitted rate in this period and in the previous period, bit/s.
    permitted: [f64; 2],
    period_ends: Time,
    /// Time that all flows have spent in this period, s.
    spent: f64,
    /// Mean time that all flows spend between two draws, s.
    spacing: f64,
    /// Time that all flows spend until the next draw, s.
    left: f64,
    watched: [Account; WATCHES],
    convicted: [Account; CONVICTS],
    convictions: u64,
    /// Largest debt of a watched flow, s.
    largest_debt: f64,
}

impl Police {
    /// Creates the policer of a link with this capacity in bit/s. `seed` must be secret.
    #[must_use]
    pub fn new(seed: u64, capacity: f64) -> Self {
        let mut draws = Draws::new(seed);
        Self {
            key: draws.bits(),
            draws,
            least: (LEAST_FRACTION * capacity).max(LEAST_RATE),
            capacity,
            permitted: [capacity; 2],
            period_ends: Time::ZERO.saturating_add(PERIOD),
            spent: 0.0,
            spacing: 0.0,
            left: 0.0,
            watched: [Account::default(); WATCHES],
            convicted: [Account::default(); CONVICTS],
            convictions: 0,
            largest_debt: 0.0,
        }
    }

    /// Returns the number of convictions so far.
    #[must_use]
    pub fn convictions(&self) -> u64 {
        self.convictions
    }

    /// Returns the largest debt of a watched flow, as a fraction of the debt at which it is convicted, at most 1.
    #[must_use]
    pub fn largest_debt(&self) -> f64 {
        (self.largest_debt / CREDIT).min(1.0)
    }

    /// Changes the capacity, in bit/s.
    pub fn on_capacity(&mut self, capacity: f64) {
        self.least = (LEAST_FRACTION * capacity).max(LEAST_RATE);
        self.capacity = capacity;
    }

    /// Decides about an arriving packet. `flow` identifies its flow. `rate` is the rate that the router permits
    /// a flow now, in bit/s; infinite for a router without such a rate. `gap` is the time for which the header counts
    /// the flow, in s.
    pub fn on_arrival(&mut self, now: Time, flow: u64, size: Bytes, rate: f64, gap: f32) -> Verdict {
        let flow = Draws::new(flow ^ self.key).bits().max(1);
        let rate = rate.min(self.capacity).max(self.least);
        self.permit(now, rate);
        let limit = self.permitted[0].max(self.permitted[1]);
        let bits = size.as_bits_f64();
        let cost = (bits / limit).max(gap.into());
        if self.convicted[convict(flow)].flow == flow {
            return self.on_convict(now, flow, bits / rate, cost, limit);
        }
        self.spent += cost;
        self.left -= cost;
        let account = &mut self.watched[watch(flow)];
        let mut counted = None;
        if account.flow == flow {
            let part = account.count(now, cost);
            counted = (part < cost).then_some(part as f32);
            let convicted = account.spend(now, cost);
            self.largest_debt = self.largest_debt.max(account.debt);
            if convicted {
                self.convict(now, flow);
            }
        } else if self.left <= 0.0 {
            self.draw(now, flow);
        }
        Verdict::Pass(Limits {
            rate: limit,
            gap: counted,
        })
    }

    /// Updates the largest permitted rate.
    fn permit(&mut self, now: Time, rate: f64) {
        if now >= self.period_ends {
            let late = now.since(self.period_ends);
            let periods = late.as_secs_f64() / PERIOD.as_secs_f64() + 1.0;
            self.spacing = self.spent * DRAW_TIME / (periods * PERIOD.as_secs_f64());
            self.spent = 0.0;
            self.permitted[1] = if late < PERIOD { self.permitted[0] } else { rate };
            self.permitted[0] = rate;
            self.period_ends = now.saturating_add(PERIOD);
        }
        if rate > self.permitted[0] {
            self.permitted[0] = rate;
        }
    }

    /// Watches the flow, unless another flow has its place and must keep it. The first packet costs nothing, because it
    /// may follow the last one after any time.
    fn draw(&mut self, now: Time, flow: u64) {
        let account = &mut self.watched[watch(flow)];
        let age = now.since(account.term);
        let stays = age < if account.debt <= LITTLE { TURNS[0] } else { TURNS[1] };
        if account.flow != 0 && stays {
            return;
        }
        *account = Account {
            flow,
            term: now,
            last: now,
            at: now,
            ..Account::default()
        };
        self.left = self.spacing * 2.0 * self.draws.unit();
    }

    fn convict(&mut self, now: Time, flow: u64) {
        self.convictions += 1;
        self.watched[watch(flow)].flow = 0;
        self.convicted[convict(flow)] = Account {
            flow,
            term: now.saturating_add(TERM),
            last: now,
            at: now,
            ..Account::default()
        };
    }

    /// Handles a packet of a convicted flow. `pace` is the transmission time at the rate that the flow may have.
    fn on_convict(&mut self, now: Time, flow: u64, pace: f64, cost: f64, limit: f64) -> Verdict {
        let account = &mut self.convicted[convict(flow)];
        account.earn(now);
        if account.spend(now, cost) {
            account.debt = CREDIT;
            account.term = now.saturating_add(TERM);
        }
        if now >= account.term {
            account.flow = 0;
        }
        if account.counted > PASSED_CREDIT {
            return Verdict::Drop;
        }
        account.counted += pace;
        let gap = now.since(account.last).as_secs_f64().min(COUNTED_CREDIT) as f32;
        account.last = now;
        Verdict::Pass(Limits {
            rate: limit,
            gap: Some(gap),
        })
    }
}

const fn watch(flow: u64) -> usize {
    flow as usize & (WATCHES - 1)
}

const fn convict(flow: u64) -> usize {
    (flow >> 32) as usize & (CONVICTS - 1)
}
