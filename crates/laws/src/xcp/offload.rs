//! Words for a data path: remaining feedback and that per packet, positive and negative; the
//! queue that packets find, bytes; how long the smallest queue is looked for after such a packet, ps; 1 for the largest
//! round-trip time, 0 for the mean; the longest one that counts.
//!
//! Counted: bytes; sum of gaps; sum of gaps times round-trip times, or the largest of these. And what is kept from interval to
//! interval: persistent queue; smallest queue since; when the search for that ends, ps.

use levelflow_units::{Bytes, Time};

use super::router::PersistentQueue;
use super::{RttEstimate, XcpParams, XcpRouter};
use crate::offload::{Counts, Offload, Words};

impl Offload for XcpRouter {
    fn words(&self, params: &XcpParams, queue: Bytes) -> Words {
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

    fn absorb(&mut self, params: &XcpParams, counted: &Counts) {
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
