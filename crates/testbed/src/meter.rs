//! Reports of a testbed's workers. Each worker reports samples of its own links or flows, and totals at the end of the
//! run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use levelflow_path::scheduler::Classes;
use levelflow_results::{DelaySample, Delays, Histogram, TransferRow};
use levelflow_units::{Bytes, Duration, Time};

use levelflow_host::Error;
use levelflow_host::clock::Clock;

/// Sample of a flow entry's senders. A value is the current state, or a sum since the previous sample.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntrySample {
    /// Active flows.
    pub active: u32,
    /// Sum of the active flows' rates, bit/s.
    pub rate: f64,
    /// Sum of the active flows' congestion windows, packets.
    pub window: f64,
    /// Sum of the rates that senders propose to routers, bit/s.
    pub proposal: f64,
    /// Bottleneck link of the flow. `None` if it is unknown, or if this entry of the scenario has several flows.
    pub bottleneck: Option<u32>,
    /// Bytes sent.
    pub sent: u64,
    /// Packets declared lost.
    pub lost: u64,
    /// Sum of the measured round-trip times, s.
    pub rtt_sum: f64,
    /// Number of round-trip times measured.
    pub rtt_count: u32,
}

/// Sample of a link.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkSample {
    /// Bytes that arrived.
    pub arrived: u64,
    /// Bytes that left the queue.
    pub sent: u64,
    /// Bytes in the queue.
    pub queue: u64,
    /// Packets in the queue.
    pub packets: u32,
    /// Largest backlog since the previous sample, bytes.
    pub most: u64,
    /// Queueing delays; empty if the queue is in the kernel.
    pub delays: DelaySample,
    /// Packets dropped.
    pub dropped: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Largest arrival rate over a control interval of the router, bit/s. The rate is 0 without a router.
    pub peak_rate: f64,
    /// Largest fraction of bytes dropped in a control interval of the router.
    pub peak_loss: f64,
    /// Feedback of the router, or state of the queue discipline. NaN if the link has neither of them.
    pub signal: f64,
}

impl LinkSample {
    /// Ends a control interval of the router and updates the peaks. `arrived` and `dropped` are bytes of this interval.
    pub fn end_interval(&mut self, elapsed: Duration, arrived: Bytes, dropped: Bytes) {
        let (seconds, arrived) = (elapsed.as_secs_f64(), arrived.get() as f64);
        if seconds > 0.0 && arrived > 0.0 {
            self.peak_rate = self.peak_rate.max(arrived * 8.0 / seconds);
            self.peak_loss = self.peak_loss.max(dropped.get() as f64 / arrived);
        }
    }
}

/// Report of one worker about one sample. Numbers identify flow entries and links.
#[derive(Debug)]
pub enum Part {
    /// Samples of senders.
    Sent(Vec<(usize, EntrySample)>, Vec<TransferRow>),
    /// Samples of receivers.
    Delivered(Vec<(usize, Delivered)>),
    /// Samples of links.
    Links(Vec<(usize, LinkSample)>),
}

/// Bytes that reached the receivers of a flow entry.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    /// All bytes on the wire, including headers and retransmissions.
    pub bytes: u64,
    /// Bytes of new data; `None` if the receiver cannot recognise retransmissions.
    pub new: Option<u64>,
}

impl Default for Delivered {
    fn default() -> Self {
        Self { bytes: 0, new: Some(0) }
    }
}

impl Delivered {
    /// Adds `bytes` to all bytes, and `new` to the bytes of new data.
    pub fn add(&mut self, bytes: u64, new: u64) {
        self.bytes += bytes;
        self.new = self.new.map(|sum| sum + new);
    }
}

/// Totals of a flow entry's senders.
#[derive(Debug, Default)]
pub struct SentTotal {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent on the wire.
    pub bytes: u64,
    /// ACKs received.
    pub acks: u64,
    /// Flows started.
    pub started: u64,
    /// Flows that delivered all their data, and unlimited flows that stopped.
    pub finished: u64,
    /// Transfers that stopped before all their data was delivered.
    pub aborted: u64,
    /// Transfers that ended after the final sample, and transfers that were unfinished at the end.
    pub transfers: Vec<TransferRow>,
    /// Round-trip times, ns.
    pub rtt: Histogram,
    /// ACKs rejected.
    pub refused: u64,
}

impl SentTotal {
    /// Counts a flow that finished or was aborted.
    pub fn count_end(&mut self, finished: bool) {
        self.finished += u64::from(finished);
        self.aborted += u64::from(!finished);
    }
}

/// Totals of a flow entry's receivers.
#[derive(Debug, Default)]
pub struct ReceivedTotal {
    /// Packets received.
    pub packets: u64,
    /// Bytes received.
    pub delivered: Delivered,
    /// ACKs sent.
    pub acks: u64,
    /// One-way delays minus the one-way delay of an idle path, ns.
    pub excess: Histogram,
}

/// Totals of a link.
#[derive(Debug, Default)]
pub struct LinkTotal {
    /// Packets that arrived.
    pub arrived: u64,
    /// Bytes that arrived.
    pub arrived_bytes: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Packets dropped at the queue.
    pub dropped: u64,
    /// Bytes dropped at the queue.
    pub dropped_bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Bytes that left the queue.
    pub sent_bytes: u64,
    /// Sum of the backlogs that arriving packets found, bytes.
    pub backlog_sum: u128,
    /// Largest backlog, bytes.
    pub backlog_max: u64,
    /// Packets in the queue at the end.
    pub waiting: u64,
    /// Queueing delays; empty if the queue is in the kernel.
    pub delays: Delays,
    /// Service classes, and the queueing delays of each class.
    pub classes: (Classes, Vec<Delays>),
    /// Data packets dropped, by flow entry; empty if the packets' flows are unknown.
    pub dropped_of: Vec<u64>,
    /// Timer latency of departures, ns.
    pub late: Histogram,
}

impl LinkTotal {
    /// Combines the totals of a kernel queue with the totals of the wire behind the queue. Without a wire, all packets
    /// that left the queue count as delivered.
    #[must_use]
    pub fn before(mut self, wire: Option<Self>) -> Self {
        if let Some(wire) = wire {
            (self.delivered, self.lost, self.late) = (wire.delivered, wire.lost, wire.late);
        }
        self
    }
}

/// Times of samples.
#[derive(Debug, Clone, Copy)]
pub struct Samples {
    every: Duration,
    end: Time,
    next: u64,
}

impl Samples {
    /// Creates the times of samples. The time between samples is `every`, and the last sample is at `end`.
    #[must_use]
    pub fn new(every: Duration, end: Time) -> Self {
        Self { every, end, next: 1 }
    }

    /// Returns the time of the sample with this number. Numbers start at 1.
    #[must_use]
    pub fn time(&self, number: u64) -> Time {
        let after = self.every.checked_mul(number).unwrap_or(Duration::MAX);
        Time::ZERO.checked_add(after).map_or(self.end, |t| t.min(self.end))
    }

    /// Returns true if the whole sample lies in the second half of the run.
    #[must_use]
    pub fn in_second_half(&self, number: u64) -> bool {
        let begin = self.time(number.saturating_sub(1)).as_secs_f64();
        number > 1 && begin * 2.0 >= self.end.as_secs_f64()
    }

    /// Returns the time of the next sample; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        (self.next == 1 || self.time(self.next - 1) < self.end).then(|| self.time(self.next))
    }

    /// Advances to the next sample. Returns the number of the current sample.
    pub fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// Channel on which a worker sends its reports of samples.
pub type Reports = mpsc::Sender<(u64, Part)>;

/// Totals of a worker, by number of the flow entry or link.
pub type Counted<T> = Result<Vec<(usize, T)>, Error>;

/// Input of every worker.
#[derive(Debug)]
pub struct Task {
    /// Clock of the run.
    pub clock: Clock,
    /// Times of the worker's samples.
    pub samples: Samples,
    /// Channel for the worker's samples.
    pub reports: Reports,
    /// Flag that stops the worker. The worker stops when the flag is true.
    pub stop: Arc<AtomicBool>,
}

impl Task {
    /// Returns true until `stop` is set.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Returns the time of the next sample; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.samples.due()
    }

    /// Sends the worker's report of a sample, if a sample is due.
    pub fn sample(&mut self, now: Time, part: impl FnOnce() -> Part) {
        if self.due().is_some_and(|due| due <= now) {
            let _ = self.reports.send((self.samples.take(), part())); // the receiver is gone only at the end
        }
    }
}
