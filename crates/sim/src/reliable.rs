//! Reliable delivery under any law: what the sender still has to hear of, and what the receiver has.

use std::collections::{BTreeMap, VecDeque};

use levelflow_laws::Delivery;
use levelflow_units::{Duration, Time};

use crate::flow::Alarm;
use crate::packet::PacketId;

/// A packet counts as lost once this many sent after it have been answered (RFC 5681's three duplicates).
const REORDERING: u32 = 3;
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// Least time to wait beyond the smoothed round trip, seconds: `G` of RFC 6298, here the tick of ns-2. Round trips here
/// are exact, so that without it a path that was calm would time out over any packet that waits.
const TICK: f64 = 0.01;

/// A run of bytes of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    pub offset: u64,
    pub length: u16,
}

impl Chunk {
    fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    chunk: Chunk,
    /// End of what was sent before.
    before: u64,
    answered: bool,
    record: Record,
}

/// What was known when a packet was sent (draft-ietf-ccwg-bbr, section 4.1).
#[derive(Debug, Clone, Copy)]
struct Record {
    at: Time,
    /// Packets known to have arrived, when that became known, and when the packet was sent whose answer told it.
    delivered: u32,
    delivered_at: Time,
    first_sent: Time,
}

/// Both ends of a reliable transfer.
#[derive(Debug)]
pub struct Reliable {
    /// Transmissions from `first` on that are neither known to have arrived nor given up.
    sent: VecDeque<Sent>,
    first: u32,
    /// Of these, how many have not been answered.
    outstanding: u32,
    again: VecDeque<Chunk>,
    /// End of what was ever sent.
    end: u64,
    /// See [`Record`]: what the next packet will carry.
    now: Record,
    srtt: Option<f64>,
    rttvar: f64,
    backoff: u32,
    min_timeout: Duration,
    /// Bytes from the start that the receiver has.
    received: u64,
    /// Chunks it has beyond them: start to end. Chunks are sent again as they were cut, so none overlaps another in part.
    beyond: BTreeMap<u64, u64>,
    /// The answer that a receiver holds back to answer the next packet with it.
    pub held: Option<PacketId>,
    /// When it is sent all the same.
    pub hold: Alarm,
    /// Chunks sent again.
    pub retransmitted: u32,
}

/// What an answer told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct News {
    /// See [`Feedback::acked`](levelflow_laws::Feedback::acked).
    pub acked: u32,
    /// Whether the receiver misses something sent before.
    pub gap: bool,
    pub delivery: Option<Delivery>,
}

impl Reliable {
    /// A transfer that has not begun.
    pub fn new(min_timeout: Duration) -> Self {
        Self {
            sent: VecDeque::new(),
            first: 0,
            outstanding: 0,
            again: VecDeque::new(),
            end: 0,
            now: Record {
                at: Time::ZERO,
                delivered: 0,
                delivered_at: Time::ZERO,
                first_sent: Time::ZERO,
            },
            srtt: None,
            rttvar: 0.0,
            backoff: 0,
            min_timeout,
            received: 0,
            beyond: BTreeMap::new(),
            held: None,
            hold: Alarm::OFF,
            retransmitted: 0,
        }
    }

    /// The next chunk to send again, if any.
    pub fn next_again(&mut self) -> Option<Chunk> {
        let chunk = self.again.pop_front()?;
        self.retransmitted += 1;
        Some(chunk)
    }

    /// Whether something waits to be sent again.
    pub fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// Packets on their way, as far as the sender knows.
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// A chunk goes out under this number; the numbers of chunks follow each other, from whichever is the first.
    pub fn on_send(&mut self, now: Time, number: u32, chunk: Chunk) {
        if self.sent.is_empty() {
            self.first = number;
        }
        if self.outstanding == 0 {
            (self.now.first_sent, self.now.delivered_at) = (now, now);
        }
        self.outstanding += 1;
        let record = Record { at: now, ..self.now };
        self.sent.push_back(Sent {
            chunk,
            before: self.end,
            answered: false,
            record,
        });
        self.end = self.end.max(chunk.end());
    }

    /// An answer: transmission `number` arrived, and the receiver has every byte before `received`. What it has beyond
    /// is known as if each answer listed it, as selective acknowledgements do. Calls `lost` with the number of each
    /// packet that is now taken for lost, and how many are then on their way.
    pub fn on_answer(&mut self, now: Time, number: u32, received: u64, mut lost: impl FnMut(u32, u32)) -> News {
        self.backoff = 0;
        let mut news = News {
            acked: 0,
            gap: false,
            delivery: None,
        };
        let Some(index) = number.checked_sub(self.first) else {
            news.acked = self.take_late(received);
            return news;
        };
        let mut answered = None;
        if let Some(sent) = self.sent.get_mut(index as usize) {
            news.gap = received < sent.before;
            if !sent.answered {
                sent.answered = true;
                self.outstanding -= 1;
                news.acked += 1;
                answered = Some(sent.record);
            }
        }
        while let Some(front) = self.sent.front() {
            let &Sent { chunk, answered, .. } = front;
            // The receiver may have more by now; this answer lists what came before the packet that it answers.
            let listed = self.first < number && self.beyond.contains_key(&chunk.offset);
            let arrived = answered || chunk.end() <= received || listed;
            if !arrived && number < self.first + REORDERING {
                break;
            }
            self.sent.pop_front();
            self.first += 1;
            if !answered {
                self.outstanding -= 1;
                if arrived {
                    news.acked += 1;
                } else {
                    self.again.push_back(chunk);
                    lost(self.first - 1, self.outstanding);
                }
            }
        }
        self.now.delivered = self.now.delivered.wrapping_add(news.acked);
        if news.acked > 0 {
            self.now.delivered_at = now;
        }
        if let Some(record) = answered {
            self.now.first_sent = record.at;
            news.delivery = Some(Delivery {
                total: self.now.delivered,
                prior: record.delivered,
                interval: (record.at - record.first_sent).max(now - record.delivered_at),
            });
        }
        news
    }

    /// An answer to a packet that was given up: whatever the receiver has need not be sent again. Gives how many packets
    /// are now known to have arrived.
    fn take_late(&mut self, received: u64) -> u32 {
        self.again.retain(|chunk| chunk.end() > received);
        let mut acked = 0;
        while self.sent.front().is_some_and(|front| front.chunk.end() <= received) {
            let front = self.sent.pop_front().expect("just seen");
            self.first += 1;
            if !front.answered {
                self.outstanding -= 1;
                acked += 1;
            }
        }
        acked
    }

    /// The timer ran out: everything outstanding is sent again.
    pub fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(6);
        self.first += self.sent.len() as u32;
        self.outstanding = 0;
        let lost = self.sent.drain(..).filter(|s| !s.answered).map(|s| s.chunk);
        self.again.extend(lost);
    }

    /// Whether the sender still has to hear of something.
    pub fn is_waiting(&self) -> bool {
        !self.sent.is_empty() || !self.again.is_empty()
    }

    /// How long to wait for an answer (RFC 6298).
    pub fn timeout(&self) -> Duration {
        let base = match self.srtt {
            None => FIRST_TIMEOUT,
            Some(srtt) => Duration::from_secs_f64(srtt + (4.0 * self.rttvar).max(TICK))
                .unwrap_or(FIRST_TIMEOUT)
                .max(self.min_timeout),
        };
        base.checked_mul(1 << self.backoff).unwrap_or(Duration::MAX)
    }

    /// An answer to data or to the opening took this long.
    pub fn on_round_trip(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        match self.srtt {
            None => (self.srtt, self.rttvar) = (Some(rtt), rtt / 2.0),
            Some(srtt) => {
                self.rttvar += ((srtt - rtt).abs() - self.rttvar) / 4.0;
                self.srtt = Some(srtt + (rtt - srtt) / 8.0);
            }
        }
    }

    /// A chunk reaches the receiver; gives how many of its bytes are new.
    pub fn on_arrival(&mut self, chunk: Chunk) -> u64 {
        if chunk.offset == self.received && self.beyond.is_empty() {
            self.received = chunk.end();
            return u64::from(chunk.length);
        }
        if chunk.offset < self.received || self.beyond.insert(chunk.offset, chunk.end()).is_some() {
            return 0;
        }
        while let Some(run) = self.beyond.first_entry().filter(|run| *run.key() == self.received) {
            self.received = run.remove();
        }
        u64::from(chunk.length)
    }

    /// Whether the receiver misses something before what it has.
    pub fn misses(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// Bytes from the start that the receiver has.
    pub fn received(&self) -> u64 {
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chunk(i: u64) -> Chunk {
        Chunk {
            offset: i * 100,
            length: 100,
        }
    }

    #[test]
    fn three_later_answers_make_a_loss() {
        let mut t = Reliable::new(Duration::from_ms(200));
        (0..5).for_each(|i| t.on_send(Time::ZERO, i, chunk(i.into())));
        t.on_answer(Time::ZERO, 0, 100, |_, _| ());
        t.on_answer(Time::ZERO, 2, 100, |_, _| ());
        t.on_answer(Time::ZERO, 3, 100, |_, _| ());
        assert!(!t.has_again());
        t.on_answer(Time::ZERO, 4, 100, |_, _| ());
        assert_eq!(t.next_again(), Some(chunk(1)));
        t.on_send(Time::ZERO, 5, chunk(1));
        t.on_answer(Time::ZERO, 5, 500, |_, _| ());
        assert!(!t.is_waiting());
        assert_eq!(t.retransmitted, 1);
    }

    #[test]
    fn a_gap_is_there_until_all_that_was_sent_before_has_arrived() {
        let mut t = Reliable::new(Duration::from_ms(200));
        let gap = |t: &mut Reliable, number, received| t.on_answer(Time::ZERO, number, received, |_, _| ()).gap;
        (0..7).for_each(|i| t.on_send(Time::ZERO, i, chunk(i.into())));
        assert!(!gap(&mut t, 0, 100));
        assert!((3..7).all(|number| gap(&mut t, number, 100)));
        for number in 7..9 {
            let lost = t.next_again().unwrap();
            t.on_send(Time::ZERO, number, lost);
        }
        assert!(gap(&mut t, 7, 200), "the other packet is still missing");
        assert!(!gap(&mut t, 8, 700));
    }

    #[test]
    fn the_handshake_sets_the_first_timeout() {
        let mut t = Reliable::new(Duration::from_ms(200));
        assert_eq!(t.timeout(), FIRST_TIMEOUT);
        t.on_round_trip(Duration::from_ms(1600));
        assert_eq!(t.timeout(), Duration::from_ms(4800));
    }

    #[test]
    fn a_calm_path_leaves_room_for_a_packet_that_waits() {
        let mut t = Reliable::new(Duration::from_ms(200));
        (0..100).for_each(|_| t.on_round_trip(Duration::from_ms(1600)));
        assert_eq!(t.timeout(), Duration::from_ms(1610));
    }

    #[test]
    fn an_answer_tells_nothing_of_what_arrives_after_it() {
        let mut t = Reliable::new(Duration::from_ms(200));
        (0..8).for_each(|i| t.on_send(Time::ZERO, i, chunk(i.into())));
        (1..8).for_each(|i| assert_eq!(t.on_arrival(chunk(i)), 100));
        for number in 1..8 {
            assert_eq!(t.on_answer(Time::ZERO, number, 0, |_, _| ()).acked, 1);
        }
        assert_eq!((t.outstanding(), t.next_again()), (0, Some(chunk(0))));
    }

    #[test]
    fn a_lost_answer_is_not_a_loss() {
        let mut t = Reliable::new(Duration::from_ms(200));
        (0..6).for_each(|i| t.on_send(Time::ZERO, i, chunk(i.into())));
        t.on_answer(Time::ZERO, 5, 600, |_, _| ());
        assert!(!t.is_waiting() && t.retransmitted == 0);
    }

    proptest! {
        #[test]
        fn every_byte_is_counted_once_in_any_order(order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle(),
                                                   twice in prop::collection::vec(0..40u64, 0..20)) {
            let mut t = Reliable::new(Duration::from_ms(200));
            let new: u64 = order.iter().chain(&twice).map(|&i| t.on_arrival(chunk(i))).sum();
            prop_assert_eq!((new, t.received()), (4000, 4000));
        }

        /// Whatever is lost, the sender asks for exactly what is missing until the receiver has it all.
        #[test]
        fn a_lossy_channel_delivers_everything(losses in prop::collection::vec(any::<bool>(), 400)) {
            let (mut t, mut number, mut next) = (Reliable::new(Duration::from_ms(200)), 0u32, 0u64);
            let mut lost = losses.into_iter().chain(std::iter::repeat(false));
            for _ in 0..2000 {
                let c = match t.next_again() {
                    Some(c) => c,
                    None if next < 30 => { next += 1; chunk(next - 1) }
                    None if t.is_waiting() => { t.on_timeout(); continue; }
                    None => break,
                };
                t.on_send(Time::ZERO, number, c);
                if !lost.next().unwrap() {
                    t.on_arrival(c);
                    if !lost.next().unwrap() {
                        t.on_answer(Time::ZERO, number, t.received(), |_, _| ());
                    }
                }
                number += 1;
            }
            prop_assert_eq!(t.received(), 3000);
            prop_assert!(!t.is_waiting());
        }
    }
}
