//! Words shared with an external data path: remaining feedback and feedback per packet, positive and negative; queue
//! found by packets, bytes; time to search for the smallest queue after such a packet, ps; 1 for the largest round-trip
//! time, 0 for the mean; limit on round-trip times.
//!
//! The data path counts bytes, the sum of inter-packet times, and either the sum of inter-packet time times round-trip
//! time or the largest round-trip time. It keeps across intervals: the persistent queue; the smallest queue since the
//! search began; the end of the search, ps.

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
