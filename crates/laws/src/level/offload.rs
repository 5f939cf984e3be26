//! Words and counters of this law for a [data path outside Rust](crate::offload).
//!
//! The words are, in order:
//!
//! - level, and 1 if proposals exceed the capacity,
//! - thresholds of this interval and of the previous interval,
//! - code of the control interval,
//! - transmission time of a byte in 2^-10 ps,
//! - length of the control interval in ps.
//!
//! The counters are seven words for the current interval, seven words for the previous interval, and the time at which
//! the modelled transmitter becomes idle, in ps. All words of an interval without packets are zero. The seven words of
//! an interval are, in order:
//!
//! - complement of the arrival time of its first packet in ps,
//! - bits of other traffic, and proposed bits,
//! - inter-packet times (`gap`), and those of flows below the threshold ([`Census`](super::Census)),
//! - bits of flows below the threshold,
//! - two limits. The low half is the largest limit of flows below the threshold. The high half is the smallest limit of
//!   other flows, XORed with the bits of `f32::MAX`.
//!
//! The sums of an interval are evaluated one interval later, because packets of the next interval still add to them.

use levelflow_units::{Bytes, Time};

use super::router::Sums;
use super::{Router, RouterParams};
use crate::offload::{Counts, Offload, Words};

/// Counters per interval, in words.
const WORDS_PER_INTERVAL: usize = 7;

impl Offload for Router {
    fn words(&self, _params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..7].copy_from_slice(&[
            self.level.to_bits().into(),
            self.refuses.into(),
            self.sums.threshold.to_bits().into(),
            self.last.threshold.to_bits().into(),
            self.code.into(),
            self.byte_time,
            self.intervals[0].as_ps(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &RouterParams, counted: &Counts) {
        let &[_, _, _, ref sums @ .., free_at, idle] = counted;
        let ([newest, before], _) = sums.as_chunks() else {
            unreachable!("two intervals")
        };
        let none = &[0; WORDS_PER_INTERVAL];
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

fn counted_sums(threshold: f32, words: &[u64; WORDS_PER_INTERVAL]) -> Sums {
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
