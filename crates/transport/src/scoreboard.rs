//! Scoreboard: packets under way by number; which arrived, and which are lost.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Delivery, Flight, Kind};
use levelflow_units::{Duration, Time};

use crate::history::Missing;
use crate::samples::Samples;
use crate::stream::Chunk;

/// A packet counts as lost once this many sent after it have been acked (RFC 5681's three duplicates).
//= RFC 5681, section 3.2
//# When the third duplicate ACK is received, a TCP MUST set ssthresh to no more than the value given in equation
//# (4).
pub const REORDERING: u32 = 3;
/// An ACK may say this much about packets sent before: it is what a history holds.
const REMEMBERED: u32 = 128;
/// The ACK of a packet may come as late as this, or so many times later than the latest one.
const SHORTEST_MEMORY: Duration = Duration::from_ms(200);
const ROUND_TRIPS: u64 = 4;
/// Most packets of a flow that a host on a real network remembers.
pub const MAX_PACKETS: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing is known.
    UnderWay,
    /// It arrived, as the ACK of another packet says.
    Arrived,
    /// It counts as lost; its ACK may still come.
    Lost,
    /// Its own ACK came.
    Acked,
}

/// A packet under way; `T` is what a host remembers of it for its own purposes.
#[derive(Debug, Clone, Copy)]
struct Sent<T> {
    offset: u64,
    at: Time,
    length: u16,
    kind: Kind,
    state: State,
    tag: T,
}

const _: () = assert!(
    size_of::<Sent<()>>() == 24,
    "with many flows, packets wait for this memory"
);

impl<T> Sent<T> {
    #[inline]
    fn chunk(&self) -> Chunk {
        Chunk {
            offset: self.offset,
            length: self.length,
        }
    }
}

/// What an ACK says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Acked {
    /// Data packets and bytes now known to have arrived that were not before.
    pub packets: u32,
    /// See `packets`.
    pub bytes: u64,
    /// Data packets and bytes now taken for lost.
    pub lost: u32,
    /// See `lost`.
    pub lost_bytes: u64,
    /// Of `packets`, how many had been taken for lost.
    pub returned: u32,
    /// Whether something sent before is missing.
    pub gap: bool,
    /// A measurement of how fast packets arrive, if it carried data and the board takes samples.
    pub delivery: Option<Delivery>,
    /// Under which circumstances the packet left, likewise.
    pub flight: Option<Flight>,
}

/// A data packet that changed sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// It is taken for lost.
    Lost {
        /// Its number.
        number: u32,
        /// Its data.
        chunk: Chunk,
        /// Packets under way without it.
        outstanding: u32,
        /// Under which circumstances it left, if the board takes samples; not known without selective ACKs.
        flight: Option<Flight>,
    },
    /// It had been taken for lost, and arrived after all.
    Returned(Chunk),
    /// It arrived, whatever it had been taken for.
    Arrived(Chunk),
}

/// Packets of one flow, by number; numbers are consecutive and never reused.
#[derive(Debug)]
pub struct Scoreboard<T> {
    sent: VecDeque<Sent<T>>,
    /// Most packets that are remembered.
    most: usize,
    /// Number of the first of `sent`.
    first: u32,
    /// Of packets before this number, it is known whether they arrived, or they are taken for lost.
    decided: u32,
    missing: Missing,
    /// Data packets under way.
    outstanding: u32,
    /// Where the law asks for them.
    samples: Option<Box<Samples>>,
}

impl<T: Copy> Scoreboard<T> {
    /// Nothing was sent; the next packet has the number `first`, and `most` packets are remembered. Takes samples if it `samples`.
    #[must_use]
    pub fn new(first: u32, most: usize, samples: bool) -> Self {
        Self {
            sent: VecDeque::new(),
            most,
            first,
            decided: first,
            missing: Missing::new(first),
            outstanding: 0,
            samples: samples.then(Box::default),
        }
    }

    #[cfg(test)]
    pub(crate) fn takes_samples(&self) -> bool {
        self.samples.is_some()
    }

    /// Data packets under way, as far as is known.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Number of the next packet.
    #[inline]
    #[must_use]
    pub fn next(&self) -> u32 {
        self.first.wrapping_add(self.sent.len() as u32)
    }

    /// Whether one more packet would have the oldest forgotten while it is under way.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.sent.len() >= self.most && self.sent[0].state == State::UnderWay
    }

    /// The application has nothing to send now: that limits what is on its way, and what will be until it has arrived.
    pub fn mark_limited(&mut self) {
        if let Some(samples) = &mut self.samples {
            samples.mark_limited(self.outstanding);
        }
    }

    /// Whether the next packet leaves under the limit of the application, if the board takes samples.
    #[inline]
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.samples.as_ref().is_some_and(|samples| samples.is_limited())
    }

    /// The next packet leaves. One that has to be forgotten for it counts as lost.
    pub fn on_send(&mut self, now: Time, kind: Kind, chunk: Chunk, tag: T) -> Option<Change> {
        if let Some(samples) = self.samples.as_mut().filter(|_| self.outstanding == 0) {
            samples.restart(now);
        }
        let mut forgotten = None;
        if self.sent.len() >= self.most {
            forgotten = self.lose(0);
            self.forget();
        }
        self.outstanding += u32::from(kind == Kind::Data);
        if let Some(samples) = &mut self.samples {
            samples.on_send(self.outstanding);
        }
        self.sent.push_back(Sent {
            offset: chunk.offset,
            at: now,
            length: chunk.length,
            kind,
            state: State::UnderWay,
            tag,
        });
        forgotten
    }

    fn forget(&mut self) {
        self.sent.pop_front();
        if let Some(samples) = &mut self.samples {
            samples.forget();
        }
        self.first = self.first.wrapping_add(1);
        if before(self.decided, self.first) {
            self.decided = self.first;
        }
    }

    fn index(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// What is remembered of a packet: its kind, its tag, and whether its own ACK came.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<(Kind, T, bool)> {
        let sent = self.sent.get(self.index(number))?;
        Some((sent.kind, sent.tag, sent.state == State::Acked))
    }

    /// Number of the latest packet with this piece, if it is remembered.
    #[must_use]
    pub fn last_sent(&self, chunk: Chunk) -> Option<u32> {
        let index = self.sent.iter().rposition(|sent| sent.chunk() == chunk)?;
        Some(self.first.wrapping_add(index as u32))
    }

    /// An ACK of packet `number`; bit `i` of `history` says that packet `number - 1 - i` arrived, too. Calls `changed` for
    /// packets that arrived, and for those that are now taken for lost, or are no longer. Nothing changes where nothing is remembered of the packet.
    pub fn on_ack(&mut self, now: Time, number: u32, history: u128, mut changed: impl FnMut(Change)) -> Acked {
        let mut acked = Acked::default();
        let index = self.index(number);
        let Some(&own) = self.sent.get(index) else { return acked };
        self.arrived(index, State::Acked, &mut acked, &mut changed);
        let mut news = self.missing.on_ack(number, history);
        while news != 0 {
            let i = self.index(number.wrapping_sub(1 + news.trailing_zeros()));
            news &= news - 1;
            if self.sent.get(i).is_some() {
                self.arrived(i, State::Arrived, &mut acked, &mut changed);
            }
        }
        self.detect_losses(&mut acked, changed);
        acked.gap = before(self.decided, number);
        if let Some(samples) = &mut self.samples {
            samples.on_ack(now, own.at, acked.packets);
            if own.kind == Kind::Data {
                acked.delivery = samples.delivery(now, index, own.at);
                acked.flight = samples.flight(index, number);
            }
        }
        self.tidy(now, now.since(own.at));
        acked
    }

    #[inline(always)] // per ACK
    fn arrived(&mut self, index: usize, state: State, acked: &mut Acked, changed: &mut impl FnMut(Change)) {
        let sent = &mut self.sent[index];
        let was = std::mem::replace(&mut sent.state, state);
        if sent.kind != Kind::Data || matches!(was, State::Arrived | State::Acked) {
            return;
        }
        acked.packets += 1;
        acked.bytes += u64::from(sent.length);
        changed(Change::Arrived(sent.chunk()));
        if was == State::Lost {
            acked.returned += 1;
            changed(Change::Returned(sent.chunk()));
        } else {
            self.outstanding -= 1;
        }
    }

    /// What was sent three packets before the newest that arrived, or earlier, and has not arrived, is lost.
    fn detect_losses(&mut self, acked: &mut Acked, mut changed: impl FnMut(Change)) {
        let (newest, next) = (self.missing.newest(), self.next());
        while before(self.decided, next) {
            let i = self.index(self.decided);
            if self.sent[i].state == State::UnderWay {
                if before(newest, self.decided.wrapping_add(REORDERING)) {
                    return;
                }
                if let Some(change) = self.lose(i) {
                    acked.lost += 1;
                    acked.lost_bytes += u64::from(self.sent[i].length);
                    changed(change);
                }
            }
            self.decided = self.decided.wrapping_add(1);
        }
    }

    /// A packet under way is lost.
    fn lose(&mut self, index: usize) -> Option<Change> {
        let number = self.first.wrapping_add(index as u32);
        let sent = self.sent.get_mut(index).filter(|sent| sent.state == State::UnderWay)?;
        sent.state = State::Lost;
        let sent = *sent;
        if sent.kind != Kind::Data {
            return None;
        }
        self.outstanding -= 1;
        Some(Change::Lost {
            number,
            chunk: sent.chunk(),
            outstanding: self.outstanding,
            flight: self.samples.as_mut().and_then(|samples| samples.on_loss(index, number)),
        })
    }

    /// The timer ran out: all that is under way is lost. Calls `lost` with the data of each packet.
    pub fn on_timeout(&mut self, mut lost: impl FnMut(Chunk)) {
        for i in self.index(self.decided)..self.sent.len() {
            if let Some(Change::Lost { chunk, .. }) = self.lose(i) {
                lost(chunk);
            }
        }
        self.decided = self.next();
    }

    /// What a packet under way carries has arrived in another one. Where it was sent again after a timeout, it is among the first.
    pub fn on_duplicate(&mut self, chunk: Chunk) {
        let from = self.index(self.decided).min(self.sent.len());
        let first = self.sent.range_mut(from..).take(REMEMBERED as usize);
        let mut under_way = first.filter(|sent| sent.state == State::UnderWay);
        if let Some(sent) = under_way.find(|sent| sent.chunk() == chunk) {
            sent.state = State::Arrived;
            self.outstanding -= 1;
        }
    }

    /// Forgets packets of which no ACK brings news: no history goes back to them, and their own would have come, since a round
    /// trip takes `rtt`.
    #[inline(always)] // per ACK
    fn tidy(&mut self, now: Time, rtt: Duration) {
        while let Some(front) = self.sent.front() {
            let stays = match front.state {
                State::UnderWay => true,
                State::Acked => false,
                State::Arrived | State::Lost => {
                    let age = now.since(front.at);
                    age <= SHORTEST_MEMORY
                        || rtt.checked_mul(ROUND_TRIPS).is_none_or(|late| age <= late)
                        || before(self.missing.newest(), self.first.wrapping_add(REMEMBERED + 1))
                }
            };
            if stays {
                return;
            }
            self.forget();
        }
    }
}
