//! Exact counters, what is derived from them at the end of a run, and the books that must balance.

use std::fmt;

use hdrhistogram::Histogram;
use levelflow_units::Duration;
use serde::Serialize;

/// Percentiles are within this many significant digits.
const DIGITS: u8 = 2;

/// How values are spread: quantiles to two digits, extremes and count exactly.
#[derive(Debug)]
pub struct Spread {
    histogram: Histogram<u64>,
    /// Values of zero, which are common and need no histogram.
    zeros: u64,
    min: u64,
    max: u64,
}

impl Default for Spread {
    fn default() -> Self {
        let histogram = Histogram::new(DIGITS).expect("two digits are supported");
        Self {
            histogram,
            zeros: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Spread {
    /// Adds a value.
    ///
    /// # Panics
    /// Never: the histogram grows.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.histogram.record(value).expect("the histogram grows");
    }

    /// Quantiles in the unit of which a value of 1 is `unit`; `None` without values.
    #[must_use]
    pub fn quantiles(&self, unit: f64) -> Option<Quantiles> {
        let mut all = self.histogram.clone();
        all.record_n(0, self.zeros).expect("zero fits");
        let min = if self.zeros > 0 { 0 } else { self.min };
        let scaled = |value: u64| value as f64 * unit;
        let at = |q| scaled(all.value_at_quantile(q).clamp(min, self.max));
        (!all.is_empty()).then(|| Quantiles {
            min: scaled(min),
            mean: all.mean() * unit,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: scaled(self.max),
        })
    }

    fn memory(&self) -> usize {
        self.histogram.distinct_values() * size_of::<u64>()
    }
}

/// Counters of one link.
#[derive(Debug, Default)]
pub struct LinkCounters {
    /// Packets that came to the queue.
    pub arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Packets that the wire lost.
    pub lost: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Bytes that arriving packets found in the queue.
    queue: Spread,
}

impl LinkCounters {
    #[inline]
    pub(crate) fn arrived(&mut self, bytes: u64, queue: u64) {
        self.arrived += 1;
        self.arrived_bytes += bytes;
        self.queue.record(queue);
    }

    #[inline]
    pub(crate) fn dropped(&mut self, bytes: u64) {
        self.dropped += 1;
        self.dropped_bytes += bytes;
    }

    pub(crate) fn memory(&self) -> usize {
        self.queue.memory()
    }
}

/// What happened at a link since the last sample.
#[derive(Debug, Default)]
pub struct LinkWindow {
    pub arrived_bytes: u64,
    pub sent_bytes: u64,
    pub dropped: u32,
    pub dropped_bytes: u64,
    pub marked: u32,
    pub queue_max: u64,
    /// Largest arrival rate over a router interval, bit/s.
    pub peak_rate: f64,
    /// Largest share of dropped bytes over a router interval.
    pub peak_loss: f64,
}

impl LinkWindow {
    pub(crate) fn interval(&mut self, arrived: u64, dropped: u64, elapsed: Duration) {
        if elapsed > Duration::ZERO {
            self.peak_rate = self.peak_rate.max(arrived as f64 * 8.0 / elapsed.as_secs_f64());
        }
        if arrived > 0 {
            self.peak_loss = self.peak_loss.max(dropped as f64 / arrived as f64);
        }
    }

    /// Share of dropped bytes over the sample, at most 1: a queue may drop what had come before.
    pub(crate) fn loss(&self) -> f64 {
        (self.dropped_bytes as f64 / self.arrived_bytes.max(1) as f64).min(1.0)
    }
}

/// Where the packets of one kind went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Books {
    /// Packets sent.
    pub sent: u64,
    /// Packets that reached the other end.
    pub delivered: u64,
    /// Packets that a queue had no room for.
    pub dropped: u64,
    /// Packets that a wire lost.
    pub lost: u64,
}

impl Books {
    /// Packets that must still be on their way.
    pub(crate) fn outstanding(&self) -> u64 {
        self.sent - self.delivered - self.dropped - self.lost
    }
}

/// Counters of one flow entry.
#[derive(Debug, Default)]
pub struct EntryCounters {
    /// Packets from senders: data, and what opens and closes flows.
    pub data: Books,
    /// Answers of receivers.
    pub answers: Books,
    /// Wire bytes sent.
    pub sent_bytes: u64,
    /// Wire bytes that reached receivers.
    pub delivered_bytes: u64,
    /// Flows begun.
    pub started: u64,
    /// Flows ended.
    pub finished: u64,
    /// Round trips, nanoseconds.
    rtt: Spread,
}

impl EntryCounters {
    #[inline]
    pub(crate) fn round_trip(&mut self, rtt: Duration) {
        self.rtt.record(rtt.as_ps() / 1000);
    }
}

/// What happened to a flow entry since the last sample.
#[derive(Debug, Default)]
pub struct EntryWindow {
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    pub lost: u32,
    pub rtt_sum: f64,
    pub rtt_count: u32,
}

/// Quantiles of something.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// The counters of a run, named.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Packets times links they crossed.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Per flow entry, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Per link.
    pub links: Vec<LinkSummary>,
}

/// See [`Summary`]. Packets include those that open and close flows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct FlowSummary {
    pub name: String,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    pub dropped_packets: u64,
    pub lost_packets: u64,
    pub in_flight: u64,
    pub answers: Books,
    pub started: u64,
    pub finished: u64,
    pub rtt_s: Option<Quantiles>,
}

/// See [`Summary`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct LinkSummary {
    pub name: String,
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub delivered_packets: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    pub marked_packets: u64,
    pub lost_packets: u64,
    pub in_flight: u64,
    pub utilisation: f64,
    pub queue_bytes: Option<Quantiles>,
}

impl FlowSummary {
    pub(crate) fn new(name: &str, counters: &EntryCounters, in_flight: u64) -> Self {
        Self {
            name: name.to_owned(),
            sent_packets: counters.data.sent,
            sent_bytes: counters.sent_bytes,
            delivered_packets: counters.data.delivered,
            delivered_bytes: counters.delivered_bytes,
            dropped_packets: counters.data.dropped,
            lost_packets: counters.data.lost,
            in_flight,
            answers: counters.answers,
            started: counters.started,
            finished: counters.finished,
            rtt_s: counters.rtt.quantiles(1e-9),
        }
    }
}

impl LinkSummary {
    pub(crate) fn new(name: &str, counters: &LinkCounters, in_flight: u64, utilisation: f64) -> Self {
        Self {
            name: name.to_owned(),
            arrived_packets: counters.arrived,
            arrived_bytes: counters.arrived_bytes,
            delivered_packets: counters.delivered,
            dropped_packets: counters.dropped,
            dropped_bytes: counters.dropped_bytes,
            marked_packets: counters.marked,
            lost_packets: counters.lost,
            in_flight,
            utilisation,
            queue_bytes: counters.queue.quantiles(1.0),
        }
    }
}

/// Books that do not balance: a bug in the simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The flow entry or link.
    pub whose: String,
    /// Packets that the counters say are on their way.
    pub expected: u64,
    /// Packets found on their way.
    pub found: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { whose, expected, found } = self;
        write!(
            f,
            "packet conservation fails at {whose}: {expected} packets should be in flight, {found} are"
        )
    }
}

impl std::error::Error for Violation {}
