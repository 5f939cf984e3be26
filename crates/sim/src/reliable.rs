//! Reliable delivery under any law: what the sender still has to hear of, and what the receiver has.

use std::collections::{BTreeMap, VecDeque};

use levelflow_units::Duration;

/// A packet counts as lost once this many sent after it have been answered (RFC 5681's three duplicates).
const REORDERING: u32 = 3;
const MIN_TIMEOUT: Duration = Duration::from_ms(200);
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

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
    answered: bool,
}

/// Both ends of a reliable transfer.
#[derive(Debug, Default)]
pub struct Reliable {
    /// Transmissions from `first` on that are neither known to have arrived nor given up.
    outstanding: VecDeque<Sent>,
    first: u32,
    again: VecDeque<Chunk>,
    srtt: Option<f64>,
    rttvar: f64,
    backoff: u32,
    /// Bytes from the start that the receiver has.
    received: u64,
    /// Chunks it has beyond them: start to end. Chunks are sent again as they were cut, so none overlaps another in part.
    beyond: BTreeMap<u64, u64>,
    /// Chunks sent again.
    pub retransmitted: u32,
}

impl Reliable {
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

    /// A chunk goes out under this number; the numbers of chunks follow each other, from whichever is the first.
    pub fn on_send(&mut self, number: u32, chunk: Chunk) {
        if self.outstanding.is_empty() {
            self.first = number;
        }
        self.outstanding.push_back(Sent { chunk, answered: false });
    }

    /// An answer: transmission `number` arrived, and the receiver has every byte before `received`. What it has beyond
    /// is known as if each answer listed it, as selective acknowledgements do.
    pub fn on_answer(&mut self, number: u32, received: u64) {
        self.backoff = 0;
        let Some(index) = number.checked_sub(self.first) else {
            return;
        };
        if let Some(sent) = self.outstanding.get_mut(index as usize) {
            sent.answered = true;
        }
        while let Some(front) = self.outstanding.front() {
            let arrived =
                front.answered || front.chunk.end() <= received || self.beyond.contains_key(&front.chunk.offset);
            if !arrived {
                if number < self.first + REORDERING {
                    break;
                }
                self.again.push_back(front.chunk);
            }
            self.outstanding.pop_front();
            self.first += 1;
        }
    }

    /// The timer ran out: everything outstanding is sent again.
    pub fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(6);
        self.first += self.outstanding.len() as u32;
        self.again
            .extend(self.outstanding.drain(..).filter(|s| !s.answered).map(|s| s.chunk));
    }

    /// Whether the sender still has to hear of something.
    pub fn is_waiting(&self) -> bool {
        !self.outstanding.is_empty() || !self.again.is_empty()
    }

    /// How long to wait for an answer (RFC 6298, with a floor of 200 ms).
    pub fn timeout(&self) -> Duration {
        let base = match self.srtt {
            None => FIRST_TIMEOUT,
            Some(srtt) => Duration::from_secs_f64(srtt + 4.0 * self.rttvar)
                .unwrap_or(FIRST_TIMEOUT)
                .max(MIN_TIMEOUT),
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
        let mut t = Reliable::default();
        (0..5).for_each(|i| t.on_send(i, chunk(i.into())));
        t.on_answer(0, 100);
        t.on_answer(2, 100);
        t.on_answer(3, 100);
        assert!(!t.has_again());
        t.on_answer(4, 100);
        assert_eq!(t.next_again(), Some(chunk(1)));
        t.on_send(5, chunk(1));
        t.on_answer(5, 500);
        assert!(!t.is_waiting());
        assert_eq!(t.retransmitted, 1);
    }

    #[test]
    fn the_handshake_sets_the_first_timeout() {
        let mut t = Reliable::default();
        assert_eq!(t.timeout(), FIRST_TIMEOUT);
        t.on_round_trip(Duration::from_ms(1600));
        assert_eq!(t.timeout(), Duration::from_ms(4800));
    }

    #[test]
    fn a_lost_answer_is_not_a_loss() {
        let mut t = Reliable::default();
        (0..6).for_each(|i| t.on_send(i, chunk(i.into())));
        t.on_answer(5, 600);
        assert!(!t.is_waiting() && t.retransmitted == 0);
    }

    proptest! {
        #[test]
        fn every_byte_is_counted_once_in_any_order(order in Just((0..40u64).collect::<Vec<_>>()).prop_shuffle(),
                                                   twice in prop::collection::vec(0..40u64, 0..20)) {
            let mut t = Reliable::default();
            let new: u64 = order.iter().chain(&twice).map(|&i| t.on_arrival(chunk(i))).sum();
            prop_assert_eq!((new, t.received()), (4000, 4000));
        }

        /// Whatever is lost, the sender asks for exactly what is missing until the receiver has it all.
        #[test]
        fn a_lossy_channel_delivers_everything(losses in prop::collection::vec(any::<bool>(), 400)) {
            let (mut t, mut number, mut next) = (Reliable::default(), 0u32, 0u64);
            let mut lost = losses.into_iter().chain(std::iter::repeat(false));
            for _ in 0..2000 {
                let c = match t.next_again() {
                    Some(c) => c,
                    None if next < 30 => { next += 1; chunk(next - 1) }
                    None if t.is_waiting() => { t.on_timeout(); continue; }
                    None => break,
                };
                t.on_send(number, c);
                if !lost.next().unwrap() {
                    t.on_arrival(c);
                    if !lost.next().unwrap() {
                        t.on_answer(number, t.received());
                    }
                }
                number += 1;
            }
            prop_assert_eq!(t.received(), 3000);
            prop_assert!(!t.is_waiting());
        }
    }
}
