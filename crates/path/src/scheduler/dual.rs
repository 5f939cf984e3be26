//! The two queues of `DualPI2`: L (low latency) and C (classic). Weighted round robin with a credit selects the queue
//! to serve (RFC 9332, section 2.5.2.1; Linux).

use levelflow_laws::aqm::Verdict;
use levelflow_laws::aqm::dualpi2::{DualPi2, DualPi2Params, Leaving};
use levelflow_random::Stream;
use levelflow_units::{Bytes, Duration, Time};

use super::Store;
use super::pool::{List, Pool, Queued};

/// Packet size from which the initial credit is computed, bytes.
const MAX_PACKET_BYTES: f64 = 1514.0;

/// The queues L and C with their controller.
#[derive(Debug)]
pub struct Dual {
    params: DualPi2Params,
    pi: DualPi2,
    low_latency: List,
    classic: List,
    /// Credit of C, bytes. If both queues have packets, C is served at a positive credit, and L otherwise.
    credit: f64,
}

impl Dual {
    pub fn new(params: DualPi2Params) -> Self {
        let mut dual = Self {
            params,
            pi: DualPi2::default(),
            low_latency: List::EMPTY,
            classic: List::EMPTY,
            credit: 0.0,
        };
        dual.rest();
        dual
    }

    /// Resets the credit. Called when both queues are empty.
    pub fn rest(&mut self) {
        self.credit = MAX_PACKET_BYTES * (2.0 * self.params.share - 1.0);
    }

    pub fn probability(&self) -> f64 {
        self.pi.probability()
    }

    pub fn enqueue<T>(&mut self, store: &mut Store<T>, queued: Queued<T>) {
        let list = match queued.class.ecn.latency_class() {
            0 => &mut self.low_latency,
            _ => &mut self.classic,
        };
        store.push(list, queued);
    }

    /// Removes and returns the next packet, and true if it must be marked.
    pub fn dequeue<T>(&mut self, store: &mut Store<T>, now: Time, stream: &mut Stream) -> Option<(Queued<T>, bool)> {
        loop {
            let (l, c) = (!self.low_latency.is_empty(), !self.classic.is_empty());
            if !l && !c {
                self.rest();
                return None;
            }
            let low_latency = l && (!c || self.credit <= 0.0);
            let list = if low_latency {
                &mut self.low_latency
            } else {
                &mut self.classic
            };
            let queued = store.pop(list)?;
            let leaving = Leaving {
                low_latency,
                waited: now.since(queued.came),
                behind: Bytes::new(store.waiting.bytes),
            };
            let verdict = self.pi.judge(&self.params, &leaving, [stream.unit(), stream.unit()]);
            let marked = verdict == Verdict::Notify && store.can_mark(&queued.class);
            if verdict != Verdict::Pass && !marked {
                store.drop(queued);
                continue;
            }
            let size = f64::from(queued.size);
            self.credit += match (l && c, low_latency) {
                (false, _) => 0.0,
                (true, true) => self.params.share * size,
                (true, false) => -(1.0 - self.params.share) * size,
            };
            return Some((queued, marked));
        }
    }

    /// Updates the controller with the longer queueing delay of the first packets in L and C.
    pub fn update<T>(&mut self, pool: &Pool<T>, now: Time) {
        let waits = |list| pool.head(list).map_or(Duration::ZERO, |head| now.since(head.came));
        self.pi
            .update(&self.params, waits(&self.low_latency).max(waits(&self.classic)));
    }
}
