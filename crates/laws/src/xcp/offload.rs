//! Words and counters of this law for a [data path outside Rust](crate::offload).
//!
//! The words are, in order:
//!
//! - remaining positive feedback, and positive feedback per second of inter-packet time,
//! - remaining negative feedback, and negative feedback per byte,
//! - backlog at arrivals in bytes, and length of the search window for the smallest backlog in ps,
//! - 1 for the largest round-trip time or 0 for the mean, and the limit on round-trip times.
//!
//! The counters are, in order:
//!
//! - number of bytes, and sum of inter-packet times,
//! - sum of inter-packet time times round-trip time, or largest round-trip time,
//! - persistent queue, smallest backlog in the search window, and end of this window in ps.
//!
//! The last three counters are not reset after an interval.

use levelflow_units::{Bytes, Time};

use super::router::PersistentQueue;
use super::{Router, RouterParams, RttEstimate};
use crate::offload::{Counts, Offload, Words};

impl Offload for Router {
    fn words(&self, params: &RouterParams, queue: Bytes) -> Words {
        [
            self.pools.positive.left.to_bits(),
            self.pools.positive.per_unit.to_bits(),
            self.pools.negative.left.to_bits(),
            self.pools.negative.per_unit.to_bits(),
            queue.get(),
            self.queue_window(queue).as_ps(),
            (params.rtt == RttEstimate::Max).into(),
            params.longest_interval.to_bits(),
        ]
    }

    fn absorb(&mut self, params: &RouterParams, counted: &Counts) {
        let &[bytes, gaps, third, last, least, until, ..] = counted;
        self.arrived = Bytes::new(bytes);
        self.gaps = f64::from_bits(gaps);
        match params.rtt {
            RttEstimate::Mean => self.gap_rtts = f64::from_bits(third),
            RttEstimate::Max => self.longest = f64::from_bits(third),
        }
        self.queue = PersistentQueue {
            last: Bytes::new(last),
            least: Bytes::new(least),
            until: Time::from_ps(until),
        };
    }
}
