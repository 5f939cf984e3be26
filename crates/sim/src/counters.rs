//! Exact counters, results at the end of a run, and the check that packets are conserved.

use derive_more::{Display, Error};
use levelflow_results::{
    Backlog, ClassSummary, DelaySample, Delays, FlowSummary, Histogram, LinkSummary, PacketCounts, PoliceSummary,
};
use levelflow_units::Duration;

/// Counters of one link. The first fields are updated for every packet.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LinkCounters {
    /// Packets that arrived at the queue.
    pub arrived: u64,
    /// Bytes of the packets that arrived at the queue.
    pub arrived_bytes: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Sum of the backlogs found by packets that arrived since the latest sample, bytes.
    backlog_sum: u64,
    /// Sum of the backlogs found by packets that arrived before the latest sample, bytes.
    backlog_before: u128,
    /// Queueing delays.
    pub delays: Delays,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Bytes of the packets dropped by the queue.
    pub dropped_bytes: u64,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Packets lost on the wire.
    pub lost: u64,
}

impl LinkCounters {
    #[inline]
    pub(crate) fn arrived(&mut self, bytes: u64, backlog: u64) {
        self.arrived += 1;
        self.arrived_bytes += bytes;
        self.backlog_sum += backlog;
    }

    /// Adds the sums of this sampling interval to the totals, because the sums could overflow in a long run.
    pub(crate) fn fold(&mut self) {
        self.backlog_before += u128::from(std::mem::take(&mut self.backlog_sum));
    }

    #[inline]
    pub(crate) fn dropped(&mut self, bytes: u64) {
        self.dropped += 1;
        self.dropped_bytes += bytes;
    }

    /// Returns the number of packets that reached the far end, and the number of lost packets, since the previous call.
    pub(crate) fn arrivals_taken(&mut self) -> (u64, u64) {
        (std::mem::take(&mut self.delivered), std::mem::take(&mut self.lost))
    }

    pub(crate) fn memory(&self) -> usize {
        self.delays.memory()
    }
}

/// Measurements at a link since the latest sample, in addition to [`LinkCounters`].
#[derive(Debug, Default)]
pub struct LinkWindow {
    pub dropped: u32,
    pub marked: u32,
    pub dropped_bytes: u64,
    /// Largest arrival rate over one control interval of a router, bit/s.
    pub peak_rate: f64,
    /// Largest fraction of bytes dropped in one control interval of a router.
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
}

/// Counts of a link since the latest sample.
#[derive(Debug)]
pub struct LinkSample {
    pub window: LinkWindow,
    pub arrived_bytes: u64,
    pub sent_bytes: u64,
    pub backlog_max: u64,
    pub delays: DelaySample,
}

impl LinkSample {
    /// Returns the ratio `dropped/arrived` of bytes, at most 1. A queue may drop packets that arrived before the latest
    /// sample.
    pub(crate) fn loss(&self) -> f64 {
        (self.window.dropped_bytes as f64 / self.arrived_bytes.max(1) as f64).min(1.0)
    }
}

/// Counters of one flow entry. The first fields are updated for every packet.
#[derive(Debug, Default)]
#[repr(C)]
pub struct EntryCounters {
    /// Bytes sent, on the wire.
    pub sent_bytes: u64,
    /// Bytes received, on the wire.
    pub delivered_bytes: u64,
    /// Part of `delivered_bytes` that belongs to headers, control packets and duplicate data.
    pub overhead_bytes: u64,
    /// Packets of senders: data packets, and packets that open or close flows.
    pub data: PacketCounts,
    /// ACKs of receivers.
    pub acks: PacketCounts,
    /// Round-trip times, ns.
    rtt: Histogram,
    /// Flows started.
    pub started: u64,
    /// Flows that delivered all their data. Also flows of unlimited size that stopped.
    pub finished: u64,
    /// Transfers that stopped before all their data was delivered.
    pub aborted: u64,
}

impl EntryCounters {
    #[inline]
    pub(crate) fn round_trip(&mut self, rtt: Duration) {
        self.rtt.record(rtt.as_ps() / 1000);
    }
}

/// Counts of a flow entry since the latest sample.
#[derive(Debug, Default)]
pub struct EntryWindow {
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    pub overhead_bytes: u64,
    pub lost: u32,
    pub rtt_sum: f64,
    pub rtt_count: u32,
}

impl EntryWindow {
    /// Adds the counters of another part of the network. Only the part that contains the senders counts round trips.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.overhead_bytes += other.overhead_bytes;
        self.lost += other.lost;
        self.rtt_sum += other.rtt_sum;
        self.rtt_count += other.rtt_count;
    }
}

impl EntryCounters {
    /// Removes and returns the counts of this part of the network. Another part adds them to its own counts. Round
    /// trips and started flows are not included.
    pub(crate) fn taken(&mut self) -> Self {
        Self {
            data: std::mem::take(&mut self.data),
            acks: std::mem::take(&mut self.acks),
            sent_bytes: std::mem::take(&mut self.sent_bytes),
            delivered_bytes: std::mem::take(&mut self.delivered_bytes),
            overhead_bytes: std::mem::take(&mut self.overhead_bytes),
            finished: std::mem::take(&mut self.finished),
            aborted: std::mem::take(&mut self.aborted),
            ..Self::default()
        }
    }

    /// Adds counts from another part of the network.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.data += other.data;
        self.acks += other.acks;
        self.sent_bytes += other.sent_bytes;
        self.delivered_bytes += other.delivered_bytes;
        self.overhead_bytes += other.overhead_bytes;
        self.finished += other.finished;
        self.aborted += other.aborted;
    }

    pub(crate) fn summary(&self, name: &str, in_flight: u64) -> FlowSummary {
        FlowSummary {
            name: name.to_owned(),
            sent_packets: self.data.sent,
            sent_bytes: self.sent_bytes,
            delivered_packets: self.data.delivered,
            delivered_bytes: self.delivered_bytes,
            goodput_bytes: Some(self.delivered_bytes - self.overhead_bytes),
            dropped_packets: self.data.dropped,
            lost_packets: self.data.lost,
            in_flight,
            acks: self.acks,
            started: self.started,
            finished: self.finished,
            aborted: self.aborted,
            rtt_s: self.rtt.quantiles(1e-9),
            testbed: None,
        }
    }
}

/// State of a link at the end of a run, in addition to its counters.
#[derive(Debug)]
pub struct LinkEnd {
    /// Packets in the queue or on the wire.
    pub in_flight: u64,
    /// Ratio of the bits sent to the bits that the link could have sent.
    pub utilisation: f64,
    /// Largest backlog of the run, bytes.
    pub backlog_max: u64,
    /// Queueing delays of each service class.
    pub classes: Vec<ClassSummary>,
    /// Packets queued or in service.
    pub waiting_packets: u64,
    /// Counters of the policers of the routers.
    pub police: Option<PoliceSummary>,
}

impl LinkCounters {
    pub(crate) fn summary(&self, name: &str, end: LinkEnd) -> LinkSummary {
        LinkSummary {
            name: name.to_owned(),
            arrived_packets: self.arrived,
            arrived_bytes: self.arrived_bytes,
            delivered_packets: self.delivered,
            dropped_packets: self.dropped,
            dropped_bytes: self.dropped_bytes,
            marked_packets: self.marked,
            lost_packets: self.lost,
            in_flight: end.in_flight,
            utilisation: end.utilisation,
            backlog_bytes: Backlog {
                mean: (self.backlog_before + u128::from(self.backlog_sum)) as f64 / self.arrived.max(1) as f64,
                max: end.backlog_max,
            },
            queueing_delay_s: self.delays.quantiles(),
            classes: end.classes,
            waiting_packets: end.waiting_packets,
            police: end.police,
        }
    }
}

/// Violation of packet conservation: a bug in the simulator.
#[derive(Debug, Clone, PartialEq, Eq, Display, Error)]
#[display("packet conservation fails at {whose}: {expected} packets should be in flight, {found} are")]
pub struct Violation {
    /// Name of the flow entry or link.
    pub whose: String,
    /// Packets in flight according to the counters.
    pub expected: u64,
    /// Packets found in flight.
    pub found: u64,
}
