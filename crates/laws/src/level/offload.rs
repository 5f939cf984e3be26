//! Words for a data path: level; 1 where proposals exceed the capacity; thresholds of the interval and of the one
//! before; the interval, as headers say it; ps in 2^-10 to transmit a byte; ps of the interval.
//!
//! Counted, of the interval that runs and then of the one before, from their begin: the first packet, as the complement of
//! its time in ps; other bits; bits proposed; gaps; gaps below; bits below; in the low half the largest below, in the high
//! half the least above, as what differs from the largest number. An interval without a packet has zeros. Then when the
//! transmitter has sent all that has arrived, ps.
//!
//! Packets that come between two sets of words belong to the interval before, which is closed one interval later.

use levelflow_units::{Bytes, Time};

use super::router::Sums;
use super::{Params, Router};
use crate::offload::{Counts, Offload, Words};

/// Words of an interval.
const EACH: usize = 7;

impl Offload for Router {
    fn words(&self, params: &Params, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..7].copy_from_slice(&[
            self.level.to_bits().into(),
            self.refuses.into(),
            self.sums.threshold.to_bits().into(),
            self.last.threshold.to_bits().into(),
            self.interval.into(),
            self.byte_time,
            params.interval.as_ps(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &Params, counted: &Counts) {
        let &[_, _, _, ref sums @ .., free_at, idle] = counted;
        let ([newest, before], _) = sums.as_chunks() else {
            unreachable!("two intervals")
        };
        let none = &[0; EACH];
        let (running, last) = match idle {
            0 => (newest, before),
            1 => (none, newest),
            _ => (none, none),
        };
        self.sums = counted_sums(self.sums.threshold, running);
        self.last = counted_sums(self.last.threshold, last);
        self.free_at = Time::from_ps(free_at);
    }
}

fn counted_sums(threshold: f32, words: &[u64; EACH]) -> Sums {
    let &[start, other, proposed, gaps, gaps_below, below, extremes] = words;
    Sums {
        start: (start != 0).then(|| Time::from_ps(!start)),
        threshold,
        other,
        proposed,
        gaps,
        gaps_below,
        below,
        largest: f32::from_bits(extremes as u32),
        least_above: f32::from_bits((extremes >> 32) as u32 ^ f32::MAX.to_bits()),
    }
}
