//! Display of a running router. On a terminal, the display is a table. Otherwise, each reading is a line or a JSON
//! object.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

use levelflow_host::format::rate;
use levelflow_units::Bytes;

use super::snapshot::Snapshot;

/// Display style of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Table, redrawn in place.
    Table,
    /// One line per reading.
    Lines,
    /// One JSON object per reading, each on a line.
    Json,
    /// The final summary only.
    Quiet,
}

/// Display of successive readings.
#[derive(Debug)]
pub struct Live {
    style: Style,
    before: Option<Snapshot>,
    drawn: usize,
}

impl Live {
    /// Creates a display. Without an option, the style is a table on a terminal, and lines otherwise.
    #[must_use]
    pub fn new(json: bool, quiet: bool) -> Self {
        let style = match (json, quiet) {
            (true, _) => Style::Json,
            (_, true) => Style::Quiet,
            _ if std::io::stdout().is_terminal() => Style::Table,
            _ => Style::Lines,
        };
        let (before, drawn) = (None, 0);
        Self { style, before, drawn }
    }

    /// Shows a reading. Write errors are ignored, so that the router continues when the output is closed.
    pub fn show(&mut self, now: &Snapshot) {
        let load = now.load_since(self.before.as_ref());
        let text = match self.style {
            Style::Table => {
                let table = table(now, load);
                let up = std::mem::replace(&mut self.drawn, table.lines().count());
                if up > 0 {
                    format!("\x1b[{up}A\x1b[J{table}")
                } else {
                    table
                }
            }
            Style::Lines => line(now, load),
            Style::Json => json(now, load),
            Style::Quiet => String::new(),
        };
        self.before = Some(now.clone());
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    /// Prints the final summary.
    pub fn end(&mut self, last: &Snapshot) {
        let text = match self.style {
            Style::Json => json(last, last.load_since(None)),
            _ => summary(last),
        };
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

impl Snapshot {
    /// Returns the mean load since an earlier reading, bit/s. Without an earlier reading, returns the mean load since
    /// the start.
    #[must_use]
    pub fn load_since(&self, before: Option<&Self>) -> f64 {
        let (bytes, time) = before.map_or((0, 0.0), |b| (b.counters.bytes, b.time));
        let seconds = self.time - time;
        if seconds > 0.0 {
            self.counters.bytes.saturating_sub(bytes) as f64 * 8.0 / seconds
        } else {
            0.0
        }
    }

    /// Formats the feedback signal with its unit.
    #[must_use]
    pub fn signal_text(&self) -> String {
        match self.signal_name {
            "rate" => rate(self.signal),
            "change" => format!("{:+.0} B per interval", self.signal),
            _ if self.signal <= f64::from(f32::MIN) => "none yet".into(),
            _ => format!("{:+.4}", self.signal),
        }
    }
}

fn table(now: &Snapshot, load: f64) -> String {
    let mut text = format!(
        "{} on {}, {}, {:.0} s\n",
        now.law,
        now.place,
        rate(now.capacity),
        now.time
    );
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<9} {value}");
    };
    row("load", format!("{} of {}", rate(load), rate(now.target)));
    row(now.signal_name, now.signal_text());
    if let Some(share) = now.share {
        row("share", format!("{} a flow", rate(share)));
    }
    let queue = Bytes::new(now.queue_bytes);
    row(
        "queue",
        format!(
            "{queue}, {} packets; most {}",
            now.queue_packets,
            Bytes::new(now.queue_peak)
        ),
    );
    let c = &now.counters;
    row(
        "packets",
        format!("{}, {} stamped, {} dropped", c.packets, c.stamped, c.dropped),
    );
    row(
        "others",
        format!("{} ACKs, {} foreign, {} refused", c.acks, c.foreign, c.refused),
    );
    row(
        "intervals",
        format!("{}, at most {} late", c.intervals, late(c.worst_late_ns)),
    );
    if let Some(clients) = now.clients {
        let away = now.turned_away;
        let more = if away > 0 {
            format!("; {away} datagrams of new clients dropped, table full")
        } else {
            String::new()
        };
        row("clients", format!("{clients}{more}"));
    }
    text
}

fn late(ns: u64) -> String {
    format!("{:.1} ms", ns as f64 / 1e6)
}

fn line(now: &Snapshot, load: f64) -> String {
    let c = &now.counters;
    let share = now
        .share
        .map_or_else(String::new, |share| format!(", share {}", rate(share)));
    format!(
        "{:.1} s: load {}, {} {}{share}, queue {}, {} packets, {} stamped, {} dropped\n",
        now.time,
        rate(load),
        now.signal_name,
        now.signal_text(),
        Bytes::new(now.queue_bytes),
        c.packets,
        c.stamped,
        c.dropped
    )
}

fn json(now: &Snapshot, load: f64) -> String {
    let mut value = serde_json::to_value(now).unwrap_or_default();
    value["load"] = load.into();
    format!("{value}\n")
}

fn summary(last: &Snapshot) -> String {
    let c = &last.counters;
    format!(
        "{} on {} ran {:.1} s: {} packets, {}; {} stamped, {} foreign, {} refused; {} dropped; {} intervals, \
         at most {} late\n",
        last.law,
        last.place,
        last.time,
        c.packets,
        rate(last.load_since(None)),
        c.stamped,
        c.foreign,
        c.refused,
        c.dropped,
        c.intervals,
        late(c.worst_late_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_is_the_difference_of_two_readings() {
        let at = |time, bytes| {
            let mut s = Snapshot {
                time,
                ..Snapshot::default()
            };
            s.counters.bytes = bytes;
            s
        };
        assert_eq!(at(3.0, 3000).load_since(Some(&at(1.0, 1000))), 8000.0);
        assert_eq!(at(2.0, 1000).load_since(None), 4000.0);
        assert_eq!(at(0.0, 0).load_since(None), 0.0);
    }

    #[test]
    fn a_table_of_a_router_that_saw_nothing_can_be_drawn() {
        let text = table(&Snapshot::default(), 0.0);
        assert!(text.contains("packets"), "{text}");
    }
}
