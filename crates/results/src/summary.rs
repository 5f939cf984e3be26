//! Exact counters at the end of a run, serialised by name.

use derive_more::AddAssign;
use schemars::JsonSchema;
use serde::Serialize;

use crate::histogram::Quantiles;

/// Counts of packets of one kind, by outcome.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, AddAssign, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Counters")]
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
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FlowCounters")]
pub struct FlowSummary {
    /// Name of the entry.
    pub name: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets that reached the receiver.
    pub delivered_packets: u64,
    /// Bytes that reached the receiver.
    pub delivered_bytes: u64,
    /// Packets dropped by queues.
    pub dropped_packets: u64,
    /// Packets lost on wires.
    pub lost_packets: u64,
    /// Packets still in flight at the end.
    pub in_flight: u64,
    /// ACKs.
    pub acks: PacketCounts,
    /// Bytes delivered for the first time; null if the run does not count them.
    pub goodput_bytes: Option<u64>,
    /// Flows started.
    pub started: u64,
    /// Flows that delivered all their data.
    pub finished: u64,
    /// Flows that gave up.
    pub aborted: u64,
    /// Round-trip times, s; null without samples.
    pub rtt_s: Option<Quantiles>,
    /// Counters of a real network.
    #[serde(flatten)]
    pub testbed: Option<TestbedSummary>,
}

/// Counters of a flow entry that only a run on a real network has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestbedSummary {
    /// One-way delay minus the one-way delay of the idle path, s; null without packets.
    pub one_way_excess_s: Option<Quantiles>,
    /// Invalid ACKs.
    pub refused_acks: u64,
}

/// Counters of a link.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LinkCounters")]
pub struct LinkSummary {
    /// Name of the link.
    pub name: String,
    /// Packets that arrived at the queue.
    pub arrived_packets: u64,
    /// Bytes that arrived at the queue.
    pub arrived_bytes: u64,
    /// Packets that reached the far end.
    pub delivered_packets: u64,
    /// Packets dropped by the queue.
    pub dropped_packets: u64,
    /// Bytes dropped by the queue.
    pub dropped_bytes: u64,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// Packets lost on the wire.
    pub lost_packets: u64,
    /// Packets still queued or on the wire at the end.
    pub in_flight: u64,
    /// Bits sent, divided by the bits that the link could have sent.
    pub utilisation: f64,
    /// Backlog over the run.
    pub backlog_bytes: Backlog,
    /// Queueing delay, s; null without packets.
    pub queueing_delay_s: Option<Quantiles>,
    /// Queueing delay of each service class; absent if the queue has no classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSummary>,
    /// Packets queued or in service at the end of the run. Queueing delay statistics exclude these packets.
    pub waiting_packets: u64,
    /// Counters of the policer; absent if the routers do not police headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceSummary>,
}

/// Counters of the policer of a link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "PoliceCounters")]
pub struct PoliceSummary {
    /// Convictions of flows.
    pub convictions: u64,
    /// Largest debt of a watched flow as a fraction of the debt of a conviction, 0 to 1.
    pub largest_debt: f64,
}

/// Backlog of a link over a run, in bytes queued or in service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Backlog {
    /// Mean backlog at packet arrivals; 0 if no packet arrived.
    pub mean: f64,
    /// Largest backlog.
    pub max: u64,
}

/// Queueing delay of one service class of a link.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ClassCounters")]
pub struct ClassSummary {
    /// Name of the class.
    pub name: String,
    /// Queueing delay, s; null without packets.
    pub queueing_delay_s: Option<Quantiles>,
}
