//! Output of decisions: a table row for people, or a line of JSON for programs.

use serde::Serialize;

use super::meter::Measured;
use levelflow_host::limit::Unit;
use levelflow_host::tc::Handle;

/// Decision about one queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Reading {
    /// Seconds since the start.
    pub time: f64,
    /// Name of the device.
    pub device: String,
    /// Handle of the queue.
    pub qdisc: Handle,
    /// Duration of the measurement, ns.
    pub elapsed_ns: u64,
    /// Bytes admitted to the queue.
    pub admitted: u64,
    /// Bytes dropped, estimated from the number of packets and their mean size.
    pub dropped: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Mean backlog, bytes.
    pub queue: u64,
    /// Backlog at the end of the interval, in packets.
    pub packets: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Utilisation of the line.
    pub utilisation: f64,
    /// Fraction of bytes dropped.
    pub loss: f64,
    /// Mean queueing delay, s.
    pub wait: f64,
    /// Unit of limits: `packets` or `bytes`.
    pub unit: &'static str,
    /// Limit before the decision.
    pub before: u32,
    /// Limit that the algorithm requests, within bounds.
    pub wanted: u32,
    /// Limit after the decision: the requested limit, or a smaller limit if queues share a memory.
    pub limit: u32,
    /// True if the limit was set.
    pub set: bool,
}

impl Reading {
    /// Creates a reading from a measurement. The caller fills in limits and utilisation.
    #[must_use]
    pub fn of(measured: &Measured, unit: Unit) -> Self {
        let load = &measured.load;
        Self {
            elapsed_ns: load.elapsed.as_ps() / 1000,
            admitted: load.admitted.get(),
            dropped: load.dropped.get(),
            sent: load.sent.get(),
            queue: load.queue.get(),
            packets: load.packets,
            drops: measured.drops,
            loss: load.loss(),
            unit: match unit {
                Unit::Packets => "packets",
                Unit::Bytes => "bytes",
            },
            ..Self::default()
        }
    }

    /// Formats a row of the table below [`head`].
    #[must_use]
    pub fn line(&self, which: bool) -> String {
        let unit = match self.unit {
            "bytes" => Unit::Bytes,
            _ => Unit::Packets,
        };
        let mut limit = unit.text(self.limit);
        if self.limit != self.before {
            let dry = if self.set { "" } else { " (not set)" };
            limit = format!("{} -> {limit}{dry}", unit.text(self.before));
        }
        if self.limit != self.wanted {
            limit = format!("{limit}, wants {}", unit.text(self.wanted));
        }
        let name = if which {
            format!("{:<7}", self.qdisc.to_string())
        } else {
            String::new()
        };
        format!(
            "{name}{:>8.1} s {:>7.2} % {:>7.3} % {:>8.2} ms   {limit}",
            self.time,
            self.utilisation * 100.0,
            self.loss * 100.0,
            self.wait * 1e3
        )
    }
}

/// Returns the heading of the table. If `which` is true, the table has a column for the queue.
#[must_use]
pub fn head(which: bool) -> String {
    let name = if which {
        format!("{:<7}", "queue")
    } else {
        String::new()
    };
    format!(
        "{name}{:>10} {:>9} {:>9} {:>11}   limit",
        "time", "used", "lost", "wait"
    )
}

/// Totals over a run, for the last line of output.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Total {
    seconds: f64,
    sent: f64,
    arrived: f64,
    dropped: f64,
    waited: f64,
}

impl Total {
    /// Adds a decision.
    pub fn add(&mut self, reading: &Reading) {
        let seconds = reading.elapsed_ns as f64 * 1e-9;
        self.seconds += seconds;
        self.sent += reading.utilisation * seconds;
        self.arrived += (reading.admitted + reading.dropped) as f64;
        self.dropped += reading.dropped as f64;
        self.waited += reading.wait * seconds;
    }

    /// Formats the totals.
    #[must_use]
    pub fn text(&self) -> String {
        let mean = |sum: f64, of: f64| if of > 0.0 { sum / of } else { 0.0 };
        format!(
            "{:.2} % used, {:.3} % lost, mean wait {:.2} ms",
            mean(self.sent, self.seconds) * 100.0,
            mean(self.dropped, self.arrived) * 100.0,
            mean(self.waited, self.seconds) * 1e3
        )
    }
}
