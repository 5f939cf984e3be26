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
        let queue = if !behind {
            Queue::Unseen
        } else if !full {
            Queue::Larger
        } else if peak < NOTHING * packet + idle.jitter {
            Queue::Policer
        } else if added < APART * steady {
            Queue::Fair
        } else if steady < SHORTER * peak {
            Queue::Aqm
        } else {
            Queue::DropTail
        };
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
