//! Estimation of round-trip times, capacity, buffer and queue type from the measurements.

use serde::Serialize;

use crate::search::Search;

/// Statistics of the round-trip times of small packets, in seconds, on an idle or a loaded line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Idle {
    /// Shortest round-trip time.
    pub min: f64,
    /// Median round-trip time.
    pub median: f64,
    /// 95th percentile of the round-trip times.
    pub p95: f64,
    /// Longest round-trip time.
    pub max: f64,
    /// Mean absolute difference of consecutive round-trip times.
    pub jitter: f64,
    /// Fraction of packets lost.
    pub loss: f64,
}

impl Idle {
    /// Computes the statistics of round-trip times in sending order, in seconds, where `None` is a lost packet. Returns
    /// `None` if all packets were lost.
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

/// Formats a time in milliseconds.
pub(crate) fn ms(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms < 10.0 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.0} ms")
    }
}

/// Type of the queue in front of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// The load never exceeded the capacity, so the queue is unknown.
    Unseen,
    /// A buffer that was not yet full at the end of the measurement.
    Larger,
    /// A buffer that drops arrivals while it is full.
    DropTail,
    /// A queue kept short by active queue management.
    Aqm,
    /// One queue per flow. Load does not delay small packets.
    Fair,
    /// A policer, which drops packets above its rate without queueing them.
    Policer,
}

/// Results of one direction under load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Loaded {
    /// Capacity, bit/s on the wire; a lower bound if the queue is [`Queue::Unseen`].
    pub capacity: f64,
    /// Buffer, bytes on the wire; a lower bound if the queue is [`Queue::Larger`]. `None` if the line was never
    /// saturated.
    pub buffer: Option<u64>,
    /// Type of the queue in front of the line.
    pub queue: Queue,
    /// Largest queueing delay of load packets, s.
    pub wait: f64,
    /// Round-trip times of small packets while the buffer is kept full; `None` if all small packets were lost.
    pub trips: Option<Idle>,
    /// Latency added by load, s: the median round-trip time under load minus the median on the idle line.
    pub added: f64,
    /// Fraction of load packets lost while the buffer was kept full.
    pub loss: f64,
}

/// Threshold of flow queueing: small packets wait for less than this fraction of the load's queueing delay.
const FLOW_QUEUE_RATIO: f64 = 0.25;
/// Threshold of AQM: the steady queueing delay is below this fraction of the peak.
const AQM_RATIO: f64 = 0.6;
/// Smallest buffer that the probe detects, in load packets.
const MIN_BUFFER_PACKETS: f64 = 3.0;

/// Queueing delays from which the queue type is inferred, s.
struct Waits {
    /// True if the load exceeded the capacity.
    behind: bool,
    /// True if the buffer was full.
    full: bool,
    /// Smallest queueing delay that proves a buffer.
    least: f64,
    /// Queueing delay of small packets under load. `None` if all small packets were lost.
    small: Option<f64>,
    /// Median queueing delay of load packets while the buffer was kept full.
    steady: f64,
    /// Queueing delay of load packets when the buffer was fullest.
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
        let passes = steady >= least && small.is_some_and(|small| small < FLOW_QUEUE_RATIO * steady);
        match (behind, full) {
            (false, _) => Self::Unseen,
            (true, true) if peak < least => Self::Policer,
            // If small packets overtake load, each flow has its own queue, even if the load's buffer is not full.
            (true, _) if passes => Self::Fair,
            (true, false) => Self::Larger,
            (true, true) if steady < AQM_RATIO * peak => Self::Aqm,
            (true, true) => Self::DropTail,
        }
    }
}

impl Loaded {
    /// Estimates the results of one direction from a finished search. `trips` are round-trip times of small packets
    /// under load, in seconds. `small` and `load` are the sizes of a small packet and of a load packet on the wire, in
    /// bytes.
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
            least: MIN_BUFFER_PACKETS * packet + idle.jitter,
            small: trips.map(|_| added),
            steady,
            peak,
        });
        let wait = match queue {
            Queue::DropTail | Queue::Fair => steady,
            Queue::Unseen | Queue::Larger => search.longest_wait(),
            Queue::Aqm | Queue::Policer => peak,
        };
        // `wait * capacity` is smaller than the buffer, for two reasons. Delays are measured relative to the delay of a
        // small packet, so one small packet is missing. A full buffer has room for less than one load packet, so half
        // a load packet is missing on average.
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
        assert_eq!(waits(false, None, 0.3, 0.3), Queue::Larger, "all small packets lost");
        assert_eq!(waits(true, None, 0.3, 0.3), Queue::DropTail, "all small packets lost");
        assert_eq!(waits(true, Some(0.1), 0.1, 0.3), Queue::Aqm);
        assert_eq!(waits(true, Some(0.0), 0.001, 0.003), Queue::Policer);
    }
}
