//! Words and counters of a data path outside Rust.
//!
//! The words are, in order:
//!
//! - level,
//! - upper limit of the sum of all granted increases, modulo 2^64, in bit/s,
//! - thresholds of this interval and of the previous interval,
//! - transmission time of a byte in 2^-10 ps,
//! - length of the control interval in ps.
//!
//! The counters are eight words for the current interval, eight words for the previous interval, the time at which the
//! modelled transmitter becomes idle, in ps, and the sum of all granted increases. All words of an interval without
//! packets are zero. The eight words of an interval are, in order:
//!
//! - complement of the arrival time of its first packet in ps,
//! - bits of other traffic, and proposed bits,
//! - inter-packet times (`gap`), and those of flows below the threshold ([`Census`](super::Census)),
//! - bits of flows below the threshold,
//! - two limits. The low half is the largest limit of flows below the threshold. The high half is the smallest limit of
//!   other flows, XORed with the bits of `f32::MAX`.
//! - two maxima of packets that arrived in the interval. The low half is the longest delay in a header. The high half
//!   is the longest inter-packet time of flows that are not below the threshold.
//!
//! The sums of an interval are evaluated one interval later, because packets of the next interval still add to them.

use levelflow_units::{Bytes, Time};

use super::router::Sums;
use super::{Router, RouterParams};
use crate::offload::{Counts, Offload, Words};

/// Counters per interval, in words.
const WORDS_PER_INTERVAL: usize = 8;

impl Offload for Router {
    fn words(&self, _params: &RouterParams, _queue: Bytes) -> Words {
        let mut words = Words::default();
        words[..6].copy_from_slice(&[
            self.level.to_bits().into(),
            self.grants,
            self.sums.threshold.to_bits().into(),
            self.last.threshold.to_bits().into(),
            self.byte_time,
            self.interval.as_ps(),
        ]);
        words
    }

    fn absorb(&mut self, _params: &RouterParams, counted: &Counts) {
        let &[_, _, _, ref sums @ .., free_at, granted, idle] = counted;
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
        self.granted = granted;
    }
}

fn counted_sums(threshold: f32, words: &[u64; WORDS_PER_INTERVAL]) -> Sums {
    let &[start, other, proposed, gaps, gaps_below, below, extremes, longest] = words;
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
        longest_gap: f32::from_bits((longest >> 32) as u32),
        longest_queued: longest as u32,
    }
}
