//! What the numbers say.

use serde::Serialize;

use crate::search::Search;

/// Small packets of an idle line, or of one under load: times in seconds, shares of 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Idle {
    /// Shortest round trip.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Longest.
    pub max: f64,
    /// Mean difference of two round trips in a row.
    pub jitter: f64,
    /// Share of packets without an answer.
    pub loss: f64,
}

impl Idle {
    /// Of round trips in the order in which they began, s; none for lost packets. None if nothing came back.
    #[must_use]
    pub fn of(trips: &[Option<f64>]) -> Option<Self> {
        let came: Vec<f64> = trips.iter().flatten().copied().collect();
        let mut sorted = came.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            sorted
                .get(((sorted.len() as f64 - 1.0) * share).round() as usize)
                .copied()
        };
        let steps = came.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        Some(Self {
            min: at(0.0)?,
            median: at(0.5)?,
            p95: at(0.95)?,
            max: at(1.0)?,
            jitter: steps.sum::<f64>() / (came.len().max(2) - 1) as f64,
            loss: 1.0 - came.len() as f64 / trips.len() as f64,
        })
    }
}

/// What stands before the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// The load never exceeded what the line carries.
    Unseen,
    /// A buffer that was not full when the time was up.
    Larger,
    /// A buffer that drops what does not fit.
    DropTail,
    /// A queue that an AQM shortens.
    Aqm,
    /// A queue of each flow: small packets do not wait behind load.
    Fair,
    /// What is too much is dropped at once.
    Policer,
}

/// One direction under load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loaded {
    /// What it carries, bit/s on the wire; at least, if its queue is [`Queue::Unseen`].
    pub capacity: f64,
    /// Room of its buffer, bytes on the wire; at least, if its queue is [`Queue::Larger`]; none if it was not seen.
    pub buffer: Option<u64>,
    /// What stands before it.
    pub queue: Queue,
    /// Longest wait of load, s.
    pub wait: f64,
    /// Small packets while the buffer is kept full.
    pub trips: Option<Idle>,
    /// By how much the median of their round trips exceeds that of the idle line, s.
    pub added: f64,
    /// Share of the load that was lost meanwhile.
    pub loss: f64,
}

/// Load waits longer than small packets by so much where each flow has its queue; a queue is shortened if it falls below a part.
const APART: f64 = 0.25;
const SHORTER: f64 = 0.6;
/// A wait of so many packets of load is no buffer.
const NOTHING: f64 = 3.0;

/// Waits from which the kind of a queue follows, s.
struct Waits {
    /// True if the load exceeded what the line carries.
    behind: bool,
    /// True if the buffer was seen to be full.
    full: bool,
    /// Shortest wait that is one.
    least: f64,
    /// Wait of small packets under load; none if none came back.
    small: Option<f64>,
    /// Wait of load while the buffer was kept full.
    steady: f64,
    /// Wait of load when the buffer was fullest.
    peak: f64,
}

impl Queue {
    fn of(waits: &Waits) -> Self {
        let &Waits {
            behind,
            full,
            least,
            small,
            steady,
            peak,
        } = waits;
        let passes = steady >= least && small.is_some_and(|small| small < APART * steady);
        match (behind, full) {
            (false, _) => Self::Unseen,
            (true, true) if peak < least => Self::Policer,
            // Small packets that pass load show a queue of each flow, also before its buffer is full.
            (true, _) if passes => Self::Fair,
            (true, false) => Self::Larger,
            (true, true) if steady < SHORTER * peak => Self::Aqm,
            (true, true) => Self::DropTail,
        }
    }
}

impl Loaded {
    /// From a search that is over, the round trips of small packets meanwhile, and those before, s; sizes are bytes on the wire.
    #[must_use]
    pub fn of(search: &mut Search, trips: &[Option<f64>], idle: &Idle, (small, load): (u64, u64)) -> Self {
        let (behind, full) = search.found();
        let (capacity, peak) = (search.capacity(), search.peak_wait());
        let trips = Idle::of(trips);
        let added = trips.map_or(0.0, |trips| (trips.median - idle.median).max(0.0));
        let steady = search.steady_wait().unwrap_or(peak);
        let packet = load as f64 * 8.0 / capacity.max(1.0);
        let queue = Queue::of(&Waits {
            behind,
            full,
            least: NOTHING * packet + idle.jitter,
            small: trips.map(|_| added),
            steady,
            peak,
        });
        let wait = match queue {
            Queue::DropTail | Queue::Fair => steady,
            Queue::Unseen | Queue::Larger => search.longest_wait(),
            Queue::Aqm | Queue::Policer => peak,
        };
        // A packet that fits finds all others before it, and room for itself to twice itself; an idle line sends a small one in its
        // place.
        let room = (wait * capacity / 8.0 + small as f64 + load as f64 / 2.0).round() as u64;
        Self {
            capacity,
            buffer: behind.then_some(room),
            queue,
            wait,
            trips,
            added,
            loss: search.lost(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_per_flow_is_seen_before_its_buffer_is_full() {
        let waits = |full: bool, small: Option<f64>, steady: f64, peak: f64| {
            Queue::of(&Waits {
                behind: true,
                full,
                least: 0.004,
                small,
                steady,
                peak,
            })
        };
        assert_eq!(waits(false, Some(0.001), 0.3, 0.3), Queue::Fair);
        assert_eq!(waits(true, Some(0.001), 0.3, 0.3), Queue::Fair);
        assert_eq!(waits(false, Some(0.3), 0.3, 0.3), Queue::Larger);
        assert_eq!(waits(false, None, 0.3, 0.3), Queue::Larger, "no small packet came back");
        assert_eq!(
            waits(true, None, 0.3, 0.3),
            Queue::DropTail,
            "no small packet came back"
        );
        assert_eq!(waits(true, Some(0.1), 0.1, 0.3), Queue::Aqm);
        assert_eq!(waits(true, Some(0.0), 0.001, 0.003), Queue::Policer);
    }
}
