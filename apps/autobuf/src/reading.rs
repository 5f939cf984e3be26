//! What people and programs see of a decision: a line of a table, a line of JSON.

use serde::Serialize;

use super::meter::Measured;
use levelflow_host::limit::Unit;
use levelflow_host::tc::Handle;

/// One decision about one queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Reading {
    /// Seconds since the start.
    pub time: f64,
    /// The device.
    pub device: String,
    /// The queue.
    pub qdisc: Handle,
    /// How long was measured, ns.
    pub elapsed_ns: u64,
    /// Bytes that came into the queue.
    pub admitted: u64,
    /// Bytes dropped, from the number of packets and the mean size.
    pub dropped: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes waiting, mean.
    pub queue: u64,
    /// Packets waiting at the end.
    pub packets: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Share of the line used.
    pub utilisation: f64,
    /// Share of the bytes dropped.
    pub loss: f64,
    /// Mean wait, s.
    pub wait: f64,
    /// `packets` or `bytes`: what limits count.
    pub unit: &'static str,
    /// The limit until now.
    pub before: u32,
    /// The limit that the algorithm requests, within bounds.
    pub wanted: u32,
    /// The limit from now on: what is wanted, or less where a memory is shared.
    pub limit: u32,
    /// Whether it was set.
    pub set: bool,
}

impl Reading {
    /// Of what was measured; limits and shares are the caller's.
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

    /// As a line of the table below [`head`].
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

/// Heads the table; `which`: there are several queues.
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

/// Sums over a whole run, for its last word.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Total {
    seconds: f64,
    sent: f64,
    arrived: f64,
    dropped: f64,
    waited: f64,
}

impl Total {
    /// One more decision.
    pub fn add(&mut self, reading: &Reading) {
        let seconds = reading.elapsed_ns as f64 * 1e-9;
        self.seconds += seconds;
        self.sent += reading.utilisation * seconds;
        self.arrived += (reading.admitted + reading.dropped) as f64;
        self.dropped += reading.dropped as f64;
        self.waited += reading.wait * seconds;
    }

    /// In words.
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
