//! Exact counters at the end of a run, serialised by name.

use derive_more::AddAssign;
use serde::Serialize;

use crate::histogram::Quantiles;

/// Counts of packets of one kind, by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, AddAssign, Serialize)]
pub struct PacketCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets that reached the receiver.
    pub delivered: u64,
    /// Packets dropped by a queue.
    pub dropped: u64,
    /// Packets lost on a wire.
    pub lost: u64,
}

impl PacketCounts {
    /// Returns the number of packets still in flight.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.sent - self.delivered - self.dropped - self.lost
    }
}

/// Counters at the end of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Simulated time, s.
    pub simulated_s: f64,
    /// Number of links crossed, summed over all packets.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Counters per flow entry, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Counters per link.
    pub links: Vec<LinkSummary>,
}

/// Counters of a flow entry. Packets include those that open or close flows.
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
    pub acks: PacketCounts,
    pub goodput_bytes: Option<u64>,
    pub started: u64,
    pub finished: u64,
    pub aborted: u64,
    pub rtt_s: Option<Quantiles>,
}

/// Counters of a link.
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
    /// Queueing delay of each service class; empty if the queue has no classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSummary>,
    /// Packets queued or in service at the end of the run. Queueing delay statistics exclude these packets.
    pub waiting_packets: u64,
}

/// Backlog of a link over a run, in bytes queued or in service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Backlog {
    /// Mean backlog at packet arrivals; 0 if no packet arrived.
    pub mean: f64,
    /// Largest backlog.
    pub max: u64,
}

/// Queueing delay of one service class of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "names of keys, which docs/guides/results.md explains")]
pub struct ClassSummary {
    pub name: String,
    pub queueing_delay_s: Option<Quantiles>,
}
