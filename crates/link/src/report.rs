//! What one direction of a link did, for people and programs.

use std::fmt;

use hdrhistogram::Histogram;
use levelflow_path::scheduler::Class;
use levelflow_path::{Departure, Hop, HopLaw};
use levelflow_units::{Rate, Time};
use serde::Serialize;

use super::class;
use super::port::{Port, Trouble};

/// How long frames waited for the transmitter, ns.
#[derive(Debug)]
pub struct Waits(pub Histogram<u64>);

impl HopLaw<Vec<u8>> for Waits {
    fn handle_departure(&mut self, departure: &mut Departure<Vec<u8>>) {
        self.0.saturating_record(departure.waited.as_ps() / 1000);
    }

    fn classify(&self, frame: &Vec<u8>) -> Class {
        class::class(frame)
    }

    fn mark(&mut self, frame: &mut Vec<u8>) -> bool {
        class::mark(frame)
    }
}

/// Percentiles of a time, seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// One in a hundred is longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Percentiles {
    fn of(histogram: &Histogram<u64>) -> Self {
        let seconds = |ns: u64| ns as f64 / 1e9;
        Self {
            p50: seconds(histogram.value_at_quantile(0.5)),
            p99: seconds(histogram.value_at_quantile(0.99)),
            max: seconds(histogram.max()),
        }
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "p50 {}, p99 {}, max {}",
            time(self.p50),
            time(self.p99),
            time(self.max)
        )
    }
}

/// One direction, from its start to now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Device where frames come from.
    pub from: String,
    /// Device where they go.
    pub to: String,
    /// Frames that came.
    pub arrived: u64,
    /// Their bytes, from the Ethernet header on.
    pub arrived_bytes: u64,
    /// Frames handed to the far device.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that found the buffer full, or that the queue discipline dropped.
    pub dropped: u64,
    /// Frames that the queue discipline marked.
    pub marked: u64,
    /// Frames that the wire lost on purpose.
    pub lost: u64,
    /// Frames between the two devices now.
    pub under_way: u64,
    /// Bytes in the queue now.
    pub queue_bytes: u64,
    /// Frames in the queue now.
    pub queue_packets: u64,
    /// Most bytes that were in the queue at once.
    pub queue_peak: u64,
    /// How long frames waited for the transmitter, s.
    pub queueing: Percentiles,
    /// How much later than due frames were handed on, s: the error of this emulation.
    pub lateness: Percentiles,
    /// What the device where frames come from did not do.
    pub input: Trouble,
    /// What the device where they go did not do.
    pub output: Trouble,
}

impl Report {
    /// Lateness is in nanoseconds.
    pub(super) fn new(from: &Port, to: &Port, hop: &mut Hop<Vec<u8>, Waits>, late: &Histogram<u64>, now: Time) -> Self {
        let (queue, packets) = hop.backlog(now);
        let counters = hop.counters();
        Self {
            from: from.name().to_owned(),
            to: to.name().to_owned(),
            arrived: counters.arrived,
            arrived_bytes: counters.arrived_bytes,
            delivered: counters.delivered,
            delivered_bytes: counters.delivered_bytes,
            dropped: counters.dropped,
            marked: counters.marked,
            lost: counters.lost,
            under_way: hop.under_way() as u64,
            queue_bytes: queue.get(),
            queue_packets: packets as u64,
            queue_peak: counters.peak,
            queueing: Percentiles::of(&hop.law().0),
            lateness: Percentiles::of(late),
            input: from.trouble,
            output: to.trouble,
        }
    }

    /// Average rate since the start of what was delivered.
    #[must_use]
    pub fn rate(&self, seconds: f64) -> Rate {
        rate(self.delivered_bytes, seconds)
    }
}

/// So many bytes in so many seconds, in whole kilobits.
pub(super) fn rate(bytes: u64, seconds: f64) -> Rate {
    let bps = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
    Rate::clamped((bps / 1000.0).round() * 1000.0)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} -> {}", self.from, self.to)?;
        writeln!(f, "  packets    {} of {} arrived", self.delivered, self.arrived)?;
        writeln!(
            f,
            "             {} dropped by the queue, {} lost on the wire",
            self.dropped, self.lost
        )?;
        if self.marked > 0 {
            writeln!(f, "             {} marked by the queue", self.marked)?;
        }
        writeln!(f, "  queueing   {}; at most {} bytes", self.queueing, self.queue_peak)?;
        write!(f, "  lateness   {}", self.lateness)?;
        warn(
            f,
            &self.from,
            self.input.missed,
            "came faster than this machine could take them",
        )?;
        warn(f, &self.from, self.input.odd, "were super-packets of an unknown kind")?;
        warn(
            f,
            &self.to,
            self.output.oversize,
            "were longer than the device can send (compare the MTUs)",
        )?;
        warn(f, &self.to, self.output.refused, "were refused by the device")?;
        warn(f, &self.to, self.output.down, "were for a device that was down")
    }
}

fn warn(f: &mut fmt::Formatter<'_>, device: &str, count: u64, what: &str) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    write!(f, "\n  WARNING    {device}: {count} packets {what}")
}

/// Seconds in the unit that reads best.
fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.0} us", seconds * 1e6)
    }
}
