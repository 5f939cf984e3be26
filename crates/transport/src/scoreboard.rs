//! Scoreboard: state of each tracked packet. A packet is in flight, arrived, or declared lost.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Delivery, Flight, Kind};
use levelflow_units::{Duration, Time};

use crate::history::Missing;
use crate::samples::Samples;
use crate::stream::Chunk;

/// Reordering threshold: the three duplicates of RFC 5681. A packet is declared lost when a packet arrives that was
/// sent three or more packets later.
//= RFC 5681, section 3.2
//# When the third duplicate ACK is received, a TCP MUST set ssthresh to no more than the value given in equation
//# (4).
pub const REORDERING_THRESHOLD: u32 = 3;
/// Length of an ACK history: number of packets before the acknowledged packet that an ACK can report.
const HISTORY_PACKETS: u32 = 128;
/// Minimum tracking time of packets that arrived or were declared lost, because their own ACKs may be late.
const MIN_MEMORY: Duration = Duration::from_ms(200);
/// Minimum tracking time in round-trip times. The longer of this time and [`MIN_MEMORY`] applies.
const ROUND_TRIPS: u64 = 4;
/// Limit on tracked packets per flow, for a host on a real network.
pub const MAX_PACKETS: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not acknowledged yet.
    InFlight,
    /// Arrived. The ACK of another packet has shown this.
    Arrived,
    /// Declared lost. The ACK of the packet may still arrive.
    Lost,
    /// Acknowledged by its own ACK.
    Acked,
}

/// A sent packet. `T` is the type of the host's own data about the packet.
#[derive(Debug, Clone, Copy)]
struct Sent<T> {
    offset: u64,
    at: Time,
    length: u16,
    kind: Kind,
    state: State,
    tag: T,
}

const _: () = assert!(size_of::<Sent<()>>() == 24, "many flows are limited by memory latency");

impl<T> Sent<T> {
    #[inline]
    fn chunk(&self) -> Chunk {
        Chunk {
            offset: self.offset,
            length: self.length,
        }
    }
}

/// Effects of one ACK.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Acked {
    /// Number of data packets whose arrival this ACK shows for the first time.
    pub packets: u32,
    /// Bytes of the packets counted in `packets`.
    pub bytes: u64,
    /// Number of data packets declared lost because of this ACK.
    pub lost: u32,
    /// Bytes of the packets counted in `lost`.
    pub lost_bytes: u64,
    /// Number of packets in `packets` that were spuriously declared lost.
    pub spurious: u32,
    /// True if a packet before the acknowledged packet is missing.
    pub gap: bool,
    /// Rate sample, if the acknowledged packet carried data and the scoreboard takes samples.
    pub delivery: Option<Delivery>,
    /// State of the flow when the acknowledged packet was sent. Present if `delivery` is present.
    pub flight: Option<Flight>,
}

/// Change of state of a data packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// Declared lost.
    Lost {
        /// Packet number.
        number: u32,
        /// Data of the packet.
        chunk: Chunk,
        /// Number of other packets in flight.
        outstanding: u32,
        /// State of the flow when the packet was sent. `None` without SACK, or if the scoreboard takes no samples.
        flight: Option<Flight>,
    },
    /// Arrived after it had been declared lost: the loss was spurious.
    Spurious(Chunk),
    /// Arrived. If the packet had been declared lost, [`Spurious`](Self::Spurious) follows.
    Arrived(Chunk),
}

/// Packets of one flow, indexed by number. Numbers are consecutive and never reused.
#[derive(Debug)]
pub struct Scoreboard<T> {
    sent: VecDeque<Sent<T>>,
    /// Limit on tracked packets.
    most: usize,
    /// Number of the first packet in `sent`.
    first: u32,
    /// Lowest packet number neither acknowledged nor declared lost.
    decided: u32,
    missing: Missing,
    /// Number of data packets in flight.
    outstanding: u32,
    /// Rate samples, for laws that need them.
    samples: Option<Box<Samples>>,
}

impl<T: Copy> Scoreboard<T> {
    /// Creates an empty scoreboard. The next packet has the number `first`. At most `most` packets are tracked.
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

    /// Returns the number of data packets in flight, according to the ACKs received so far.
    #[inline]
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns the number of the next packet.
    #[inline]
    #[must_use]
    pub fn next(&self) -> u32 {
        self.first.wrapping_add(self.sent.len() as u32)
    }

    /// Returns true if another packet would evict a packet that is still in flight.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.sent.len() >= self.most && self.sent[0].state == State::InFlight
    }

    /// Marks the flow as application-limited until all packets now in flight have arrived.
    pub fn mark_limited(&mut self) {
        if let Some(samples) = &mut self.samples {
            samples.mark_limited(self.outstanding);
        }
    }

    /// Returns true if the next packet is application-limited. False if the scoreboard takes no samples.
    #[inline]
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.samples.as_ref().is_some_and(|samples| samples.is_app_limited())
    }

    /// Adds a packet. This may evict the oldest packet. If the evicted packet is in flight, it is declared lost.
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
            state: State::InFlight,
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

    /// Returns kind and tag of a packet, and true if its own ACK has arrived.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<(Kind, T, bool)> {
        let sent = self.sent.get(self.index(number))?;
        Some((sent.kind, sent.tag, sent.state == State::Acked))
    }

    /// Returns the number of the latest tracked packet that carried this chunk.
    #[must_use]
    pub fn last_sent(&self, chunk: Chunk) -> Option<u32> {
        let index = self.sent.iter().rposition(|sent| sent.chunk() == chunk)?;
        Some(self.first.wrapping_add(index as u32))
    }

    /// Handles the ACK of packet `number`. Bit `i` of `history` is set if packet `number - 1 - i` arrived. Calls
    /// `changed` for each packet that arrived or is declared lost, and for each spurious loss. Ignores the ACK of a
    /// packet that is no longer tracked.
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

    #[inline(always)] // runs once per ACK
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
            acked.spurious += 1;
            changed(Change::Spurious(sent.chunk()));
        } else {
            self.outstanding -= 1;
        }
    }

    /// Declares packets lost that are in flight and were sent at least [`REORDERING_THRESHOLD`] packets before the
    /// newest arrived packet.
    fn detect_losses(&mut self, acked: &mut Acked, mut changed: impl FnMut(Change)) {
        let (newest, next) = (self.missing.newest(), self.next());
        while before(self.decided, next) {
            let i = self.index(self.decided);
            if self.sent[i].state == State::InFlight {
                if before(newest, self.decided.wrapping_add(REORDERING_THRESHOLD)) {
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

    /// Declares a packet lost if it is in flight.
    fn lose(&mut self, index: usize) -> Option<Change> {
        let number = self.first.wrapping_add(index as u32);
        let sent = self.sent.get_mut(index).filter(|sent| sent.state == State::InFlight)?;
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

    /// Handles an expired timer. Declares all packets in flight lost. Calls `lost` with the data of each packet.
    pub fn on_timeout(&mut self, mut lost: impl FnMut(Chunk)) {
        for i in self.index(self.decided)..self.sent.len() {
            if let Some(Change::Lost { chunk, .. }) = self.lose(i) {
                lost(chunk);
            }
        }
        self.decided = self.next();
    }

    /// Marks one packet in flight as arrived, because another packet has delivered the same data. Searches only the
    /// oldest packets. Retransmissions after a timeout are among them.
    pub fn on_duplicate(&mut self, chunk: Chunk) {
        let from = self.index(self.decided).min(self.sent.len());
        let first = self.sent.range_mut(from..).take(HISTORY_PACKETS as usize);
        let mut in_flight = first.filter(|sent| sent.state == State::InFlight);
        if let Some(sent) = in_flight.find(|sent| sent.chunk() == chunk) {
            sent.state = State::Arrived;
            self.outstanding -= 1;
        }
    }

    /// Removes packets whose state no later ACK can change. `rtt` is the latest round-trip time. A packet is removed in
    /// two cases:
    ///
    /// - Its own ACK has arrived.
    /// - It is known to be received or lost, its own ACK is overdue, and it is too old for the list of received packets
    ///   in any later ACK.
    #[inline(always)] // runs once per ACK
    fn tidy(&mut self, now: Time, rtt: Duration) {
        while let Some(front) = self.sent.front() {
            let stays = match front.state {
                State::InFlight => true,
                State::Acked => false,
                State::Arrived | State::Lost => {
                    let age = now.since(front.at);
                    age <= MIN_MEMORY
                        || rtt.checked_mul(ROUND_TRIPS).is_none_or(|late| age <= late)
                        || before(self.missing.newest(), self.first.wrapping_add(HISTORY_PACKETS + 1))
                }
            };
            if stays {
                return;
            }
            self.forget();
        }
    }
}
