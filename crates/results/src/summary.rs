//! Exact counters at the end of a run, by name.

use derive_more::AddAssign;
use serde::Serialize;

use crate::histogram::Quantiles;

/// Where the packets of one kind went.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, AddAssign, Serialize)]
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
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.sent - self.delivered - self.dropped - self.lost
    }
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
#[allow(missing_docs, reason = "names of keys, which docs/guides/results.md explains")]
pub struct FlowSummary {
    pub name: String,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    pub dropped_packets: u64,
    pub lost_packets: u64,
    pub in_flight: u64,
    pub acks: Books,
    pub goodput_bytes: Option<u64>,
    pub started: u64,
    pub finished: u64,
    pub aborted: u64,
    pub rtt_s: Option<Quantiles>,
}

/// See [`Summary`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "names of keys, which docs/guides/results.md explains")]
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
    pub backlog_bytes: Backlog,
    pub queueing_delay_s: Option<Quantiles>,
    /// Queueing delays by class of service; empty without classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSummary>,
    /// Packets waiting or in service at the end, whose queueing delay does not count yet.
    pub waiting_packets: u64,
}

/// Backlog of a link over a run, bytes: waiting or in service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Backlog {
    /// Mean that arriving packets found; 0 if none arrived.
    pub mean: f64,
    /// Largest.
    pub max: u64,
}

/// Queueing delay of one class of service of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "names of keys, which docs/guides/results.md explains")]
pub struct ClassSummary {
    pub name: String,
    pub queueing_delay_s: Option<Quantiles>,
}
