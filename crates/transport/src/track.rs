//! What was sent and has not been heard of: losses, deliveries, and which answers can be true.

use std::collections::VecDeque;

use levelflow_laws::wire::before;
use levelflow_laws::{Delivery, Kind};
use levelflow_units::{Bytes, Duration, Time};

use crate::Refused;

/// A packet counts as lost once this many sent after it have been answered (RFC 5681's three duplicates).
const REORDERING: u32 = 3;
/// What is known of a packet is kept for its answer at least this long, unless [`MOST`] are.
const KEEP: Duration = Duration::from_secs(10);
/// Most packets of a flow that are remembered.
pub(super) const MOST: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is known.
    Away,
    /// It arrived, as the answer to another packet told.
    Arrived,
    /// It was taken for lost; its answer may still come.
    Lost,
    /// Its own answer came.
    Answered,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    stamp: u64,
    size: Bytes,
    kind: Kind,
    state: State,
    /// What was known when it was sent; see [`Track::delivered`] and so on.
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
}

/// A packet that has been answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Answered {
    pub kind: Kind,
    /// Packets and bytes now known to have arrived that were not before.
    pub acked: u32,
    pub acked_bytes: Bytes,
    /// Of these packets, how many had been taken for lost.
    pub returned: u32,
    pub gap: bool,
    pub delivery: Option<Delivery>,
}

/// A packet that is now taken for lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LostPacket {
    pub number: u32,
    pub size: Bytes,
    /// Packets on their way, without this one.
    pub outstanding: u32,
}

/// Packets of one flow, by number.
#[derive(Debug, Default)]
pub(super) struct Track {
    sent: VecDeque<Sent>,
    /// Number of the first of `sent`.
    first: u32,
    /// Of packets before this number, it is known whether they arrived, or they are taken for lost.
    decided: u32,
    /// Data packets that are away.
    outstanding: u32,
    /// Packets known to have arrived; when that became known; when the packet was sent whose answer told it
    /// (draft-ietf-ccwg-bbr, section 4.1).
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
    /// What was lost is on its way again in the packet of this number or before.
    repaired: Option<u32>,
}

impl Track {
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    #[cfg(test)]
    pub fn skip_to(&mut self, number: u32) {
        (self.first, self.decided) = (number, number);
    }

    /// Number of the next packet.
    pub fn next(&self) -> u32 {
        self.first.wrapping_add(self.sent.len() as u32)
    }

    /// The next packet leaves. Gives one that has to be forgotten for it, and counts as lost.
    pub fn on_send(&mut self, now: Time, stamp: u64, kind: Kind, size: Bytes) -> Option<LostPacket> {
        if self.outstanding == 0 {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let forgotten = if self.sent.len() < MOST { None } else { self.forget() };
        if kind == Kind::Data {
            self.outstanding += 1;
        }
        self.sent.push_back(Sent {
            at: now,
            stamp,
            size,
            kind,
            state: State::Away,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        });
        forgotten
    }

    fn forget(&mut self) -> Option<LostPacket> {
        let number = self.first;
        let front = self.sent.pop_front()?;
        self.first = self.first.wrapping_add(1);
        if before(self.decided, self.first) {
            self.decided = self.first;
        }
        let lost = front.state == State::Away && front.kind == Kind::Data;
        lost.then(|| {
            self.outstanding -= 1;
            LostPacket {
                number,
                size: front.size,
                outstanding: self.outstanding,
            }
        })
    }

    /// Whether an answer to packet `number` that returns `time` can be true at `stamp`.
    pub fn check(&self, number: u32, time: u64, stamp: u64) -> Result<(), Refused> {
        let sent = self.sent.get(self.index(number)).ok_or(Refused::Unknown)?;
        if sent.state == State::Answered {
            return Err(Refused::Replayed);
        }
        if (sent.stamp..=stamp).contains(&time) {
            Ok(())
        } else {
            Err(Refused::Time)
        }
    }

    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// An answer to a packet that [`check`](Self::check) found; bit `i` of `history` says that packet `number - 1 - i` arrived,
    /// too. Calls `lost` for each packet that is now taken for lost.
    pub fn on_answer(&mut self, now: Time, number: u32, history: u128, lost: impl FnMut(LostPacket)) -> Answered {
        let index = self.index(number);
        let before = self.sent[index];
        let mut news = Answered {
            kind: before.kind,
            acked: 0,
            acked_bytes: Bytes::ZERO,
            returned: 0,
            gap: false,
            delivery: None,
        };
        self.arrived(index, State::Answered, &mut news);
        self.take_history(index, history, &mut news);
        self.give_up(number, lost);
        let missing = (self.index(self.decided)..index).any(|i| self.sent[i].state == State::Away);
        let repairing = self.repaired.is_some_and(|repaired| self::before(number, repaired));
        news.gap = missing || repairing;
        self.delivered = self.delivered.wrapping_add(news.acked);
        if news.acked > 0 {
            self.delivered_at = now;
        }
        self.first_sent = before.at;
        news.delivery = (before.kind == Kind::Data).then(|| Delivery {
            total: self.delivered,
            prior: before.delivered,
            interval: before.at.since(before.first_sent).max(now.since(before.delivered_at)),
        });
        self.tidy(now);
        news
    }

    fn arrived(&mut self, index: usize, state: State, news: &mut Answered) {
        let sent = &mut self.sent[index];
        let was = std::mem::replace(&mut sent.state, state);
        let known = matches!(was, State::Arrived | State::Answered);
        if was == State::Away && sent.kind == Kind::Data {
            self.outstanding -= 1;
        }
        if !known && sent.kind == Kind::Data {
            news.returned += u32::from(was == State::Lost);
            news.acked += 1;
            news.acked_bytes += sent.size;
        }
    }

    fn take_history(&mut self, index: usize, history: u128, news: &mut Answered) {
        for i in index.saturating_sub(128)..index {
            let unsure = matches!(self.sent[i].state, State::Away | State::Lost);
            if unsure && history >> (index - 1 - i) & 1 == 1 {
                self.arrived(i, State::Arrived, news);
            }
        }
    }

    /// What was sent three packets before `number` or earlier, and has not arrived, is lost.
    fn give_up(&mut self, number: u32, mut lost: impl FnMut(LostPacket)) {
        let next = self.next();
        while before(self.decided, next) {
            let i = self.index(self.decided);
            let overdue = !before(number, self.decided.wrapping_add(REORDERING));
            if self.sent[i].state == State::Away {
                if !overdue {
                    return;
                }
                if let Some(packet) = self.lose(i) {
                    self.repaired = Some(next);
                    lost(packet);
                }
            }
            self.decided = self.decided.wrapping_add(1);
        }
    }

    fn lose(&mut self, index: usize) -> Option<LostPacket> {
        let sent = &mut self.sent[index];
        sent.state = State::Lost;
        if sent.kind != Kind::Data {
            return None;
        }
        self.outstanding -= 1;
        Some(LostPacket {
            number: self.first.wrapping_add(index as u32),
            size: sent.size,
            outstanding: self.outstanding,
        })
    }

    /// No answer came in time: all that is away is lost. Gives packets and bytes.
    pub fn on_timeout(&mut self) -> (u32, Bytes) {
        let (mut packets, mut bytes) = (0, Bytes::ZERO);
        for i in self.index(self.decided)..self.sent.len() {
            if self.sent[i].state == State::Away
                && let Some(packet) = self.lose(i)
            {
                packets += 1;
                bytes += packet.size;
            }
        }
        self.decided = self.next();
        (packets, bytes)
    }

    /// Forgets what needs no answer any more.
    fn tidy(&mut self, now: Time) {
        while let Some(front) = self.sent.front() {
            let old = front.state != State::Away && now.since(front.at) > KEEP;
            if front.state != State::Answered && !old {
                return;
            }
            self.forget();
        }
    }
}
