//! What workers of a testbed tell: a part of each sample, and totals at the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use levelflow_path::scheduler::Classes;
use levelflow_results::{DelaySample, Delays, Histogram, TransferRow};
use levelflow_units::{Bytes, Duration, Time};

use levelflow_host::Error;
use levelflow_host::clock::Clock;

/// A flow entry at a sample, as its senders see it; sums over the sample unless they are states.
#[derive(Debug, Clone, Copy, Default)]
pub struct EntrySample {
    /// Flows under way.
    pub active: u32,
    /// Sum of their rates, bit/s.
    pub rate: f64,
    /// Sum of their windows, packets.
    pub window: f64,
    /// Sum of the rates they would like next, bit/s.
    pub proposal: f64,
    /// Link that limits the only flow, when that is known.
    pub bottleneck: Option<u32>,
    /// Bytes sent.
    pub sent: u64,
    /// Packets found lost.
    pub lost: u64,
    /// Sum of round trips, s.
    pub rtt_sum: f64,
    /// How many.
    pub rtt_count: u32,
}

/// A link at a sample.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkSample {
    /// Bytes that came.
    pub arrived: u64,
    /// Bytes that left.
    pub sent: u64,
    /// Bytes in the queue.
    pub queue: u64,
    /// Packets in the queue.
    pub packets: u32,
    /// Most bytes in the queue.
    pub most: u64,
    /// Queueing delays; none where the kernel has the queue.
    pub delays: DelaySample,
    /// Packets dropped.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets marked.
    pub marked: u64,
    /// Largest arrival rate over an interval of the router, bit/s; 0 without a router.
    pub peak_rate: f64,
    /// Largest share of dropped bytes over such an interval.
    pub peak_loss: f64,
    /// What the router feeds back, or else the queue discipline says of itself; NaN without either.
    pub signal: f64,
}

impl LinkSample {
    /// An interval of the router ends, in which this many bytes came and were dropped.
    pub fn end_interval(&mut self, elapsed: Duration, arrived: Bytes, dropped: Bytes) {
        let (seconds, arrived) = (elapsed.as_secs_f64(), arrived.get() as f64);
        if seconds > 0.0 && arrived > 0.0 {
            self.peak_rate = self.peak_rate.max(arrived * 8.0 / seconds);
            self.peak_loss = self.peak_loss.max(dropped.get() as f64 / arrived);
        }
    }
}

/// A worker's part of a sample; entries and links by their numbers.
#[derive(Debug)]
pub enum Part {
    /// From senders.
    Sent(Vec<(usize, EntrySample)>, Vec<TransferRow>),
    /// From receivers.
    Delivered(Vec<(usize, Delivered)>),
    /// From links.
    Links(Vec<(usize, LinkSample)>),
}

/// Bytes that reached the receivers of a flow entry.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    /// All bytes on the wire.
    pub bytes: u64,
    /// Bytes of new data; `None` if the receiver cannot separate retransmissions.
    pub new: Option<u64>,
}

impl Default for Delivered {
    fn default() -> Self {
        Self { bytes: 0, new: Some(0) }
    }
}

impl Delivered {
    /// Adds a packet, or several.
    pub fn add(&mut self, bytes: u64, new: u64) {
        self.bytes += bytes;
        self.new = self.new.map(|sum| sum + new);
    }
}

/// What senders of an entry did.
#[derive(Debug, Default)]
pub struct SentTotal {
    /// Packets sent.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// ACKs received.
    pub acks: u64,
    /// Flows begun.
    pub started: u64,
    /// Flows that delivered everything, or that have no size and stopped.
    pub finished: u64,
    /// Transfers that stopped before they had delivered everything.
    pub aborted: u64,
    /// Transfers that ended after the last sample, and those that go on at the end.
    pub transfers: Vec<TransferRow>,
    /// Round trips, ns.
    pub rtt: Histogram,
    /// ACKs that were rejected.
    pub refused: u64,
}

impl SentTotal {
    /// Counts a flow that finished or was aborted.
    pub fn count_end(&mut self, finished: bool) {
        self.finished += u64::from(finished);
        self.aborted += u64::from(!finished);
    }
}

/// What receivers of an entry saw.
#[derive(Debug, Default)]
pub struct ReceivedTotal {
    /// Packets that came.
    pub packets: u64,
    /// Their bytes.
    pub delivered: Delivered,
    /// ACKs sent.
    pub acks: u64,
    /// One-way delay beyond that of an idle path, ns.
    pub excess: Histogram,
}

/// What happened at a link.
#[derive(Debug, Default)]
pub struct LinkTotal {
    /// Packets that came.
    pub arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Packets without room.
    pub dropped: u64,
    /// Their bytes.
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
    /// Queueing delays; none where the kernel has the queue.
    pub delays: Delays,
    /// Classes of service, and their queueing delays.
    pub classes: (Classes, Vec<Delays>),
    /// Data packets dropped, by flow entry; empty where that is not known.
    pub dropped_of: Vec<u64>,
    /// Nanoseconds by which packets left later than they should have.
    pub late: Histogram,
}

impl LinkTotal {
    /// A queue of the kernel, with what happened on the wire behind it; without one, all that left has arrived.
    #[must_use]
    pub fn before(mut self, wire: Option<Self>) -> Self {
        if let Some(wire) = wire {
            (self.delivered, self.lost, self.late) = (wire.delivered, wire.lost, wire.late);
        }
        self
    }
}

/// When samples are due.
#[derive(Debug, Clone, Copy)]
pub struct Samples {
    every: Duration,
    end: Time,
    next: u64,
}

impl Samples {
    /// One every so often, and one at the end.
    #[must_use]
    pub fn new(every: Duration, end: Time) -> Self {
        Self { every, end, next: 1 }
    }

    /// Time of a sample, counted from 1.
    #[must_use]
    pub fn time(&self, number: u64) -> Time {
        let after = self.every.checked_mul(number).unwrap_or(Duration::MAX);
        Time::ZERO.checked_add(after).map_or(self.end, |t| t.min(self.end))
    }

    /// Whether what the sample covers is all in the second half.
    #[must_use]
    pub fn in_second_half(&self, number: u64) -> bool {
        let begin = self.time(number.saturating_sub(1)).as_secs_f64();
        number > 1 && begin * 2.0 >= self.end.as_secs_f64()
    }

    /// When the next one is due; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        (self.next == 1 || self.time(self.next - 1) < self.end).then(|| self.time(self.next))
    }

    /// The number of the next one, which is taken now.
    pub fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

/// Where a worker sends its parts.
pub type Reports = mpsc::Sender<(u64, Part)>;

/// What a worker gives at its end, by numbers of entries or links.
pub type Counted<T> = Result<Vec<(usize, T)>, Error>;

/// What every worker is given.
#[derive(Debug)]
pub struct Task {
    /// The time since the start.
    pub clock: Clock,
    /// When it reports.
    pub samples: Samples,
    /// To whom.
    pub reports: Reports,
    /// Whether it is over.
    pub stop: Arc<AtomicBool>,
}

impl Task {
    /// Until `stop` is set.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// When the next sample is due; `None` after the last.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.samples.due()
    }

    /// Tells this part of a sample, if one is due.
    pub fn sample(&mut self, now: Time, part: impl FnOnce() -> Part) {
        if self.due().is_some_and(|due| due <= now) {
            let _ = self.reports.send((self.samples.take(), part())); // the receiver is gone at the end
        }
    }
}
