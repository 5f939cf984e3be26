//! Counters of one direction of a link, as text and JSON.

use std::fmt;

use hdrhistogram::Histogram;
use levelflow_path::scheduler::FlowKey;
use levelflow_path::{Departure, Hop, HopLaw};
use levelflow_units::{Rate, Time};
use serde::Serialize;

use super::class;
use super::device::{Device, Trouble};

/// Histogram of queueing delays, ns.
#[derive(Debug)]
pub struct Waits(pub Histogram<u64>);

impl HopLaw<Vec<u8>> for Waits {
    fn handle_departure(&mut self, departure: &mut Departure<Vec<u8>>) {
        self.0.saturating_record(departure.waited.as_ps() / 1000);
    }

    fn classify(&self, frame: &Vec<u8>) -> FlowKey {
        class::class(frame)
    }

    fn mark(&mut self, frame: &mut Vec<u8>) -> bool {
        class::mark(frame)
    }
}

/// Percentiles of a delay, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Maximum.
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

/// Counters of one link direction since its start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the receiving device.
    pub from: String,
    /// Name of the sending device.
    pub to: String,
    /// Frames that arrived.
    pub arrived: u64,
    /// Bytes of the frames that arrived, including Ethernet headers.
    pub arrived_bytes: u64,
    /// Frames passed to the sending device.
    pub delivered: u64,
    /// Bytes of the frames passed to the sending device.
    pub delivered_bytes: u64,
    /// Frames dropped by a full buffer or by the queue discipline.
    pub dropped: u64,
    /// Frames that the queue discipline marked.
    pub marked: u64,
    /// Frames lost on the emulated link.
    pub lost: u64,
    /// Frames currently between the two devices.
    pub in_flight: u64,
    /// Bytes currently queued.
    pub queue_bytes: u64,
    /// Frames currently queued.
    pub queue_packets: u64,
    /// Largest backlog, bytes.
    pub queue_peak: u64,
    /// Queueing delay, in seconds.
    pub queueing: Percentiles,
    /// Timer latency of deliveries, in seconds: the error of the emulation.
    pub lateness: Percentiles,
    /// Frames that the receiving device lost or rejected.
    pub input: Trouble,
    /// Frames that the sending device rejected.
    pub output: Trouble,
}

impl Report {
    /// Builds the report from the counters of a hop. `late` contains timer latencies, in nanoseconds.
    pub(super) fn new(
        from: &Device,
        to: &Device,
        hop: &mut Hop<Vec<u8>, Waits>,
        late: &Histogram<u64>,
        now: Time,
    ) -> Self {
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
            in_flight: hop.in_flight() as u64,
            queue_bytes: queue.get(),
            queue_packets: packets as u64,
            queue_peak: counters.peak,
            queueing: Percentiles::of(&hop.law().0),
            lateness: Percentiles::of(late),
            input: from.trouble,
            output: to.trouble,
        }
    }

    /// Returns the average delivery rate since the start.
    #[must_use]
    pub fn rate(&self, seconds: f64) -> Rate {
        rate(self.delivered_bytes, seconds)
    }
}

/// Returns the average rate of `bytes` in `seconds`, rounded to kilobits per second.
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
            "arrived faster than this machine could receive them",
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

/// Formats a time in the most readable unit.
fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.2} ms", seconds * 1e3)
    } else {
        format!("{:.0} us", seconds * 1e6)
    }
}
