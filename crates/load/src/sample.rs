//! Samples of flows, as lines of JSON.
//!
//! The first line is `{"kind":"start", ...}` with the time of the machine's monotonic clock at time 0. With this time,
//! files from several programs can be aligned. The first line is followed by one `"sample"` line per flow and period,
//! and one `"flow"` line at the end of each flow. Times are seconds since the start, rates are bit/s with all headers,
//! and counts are totals.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use levelflow_laws::Bottleneck;
use levelflow_units::Time;
use serde::Serialize;

use super::flows::Flow;
use super::send::Progress;
use levelflow_host::Error;
use levelflow_transport::FlowCounters;

/// File of samples.
#[derive(Debug)]
pub struct Samples {
    out: BufWriter<File>,
    name: String,
}

/// State of a flow at the end of a period.
#[derive(Debug, Serialize)]
pub struct Sample {
    kind: &'static str,
    /// Seconds since the start.
    pub t: f64,
    /// Number of the flow, from 1.
    pub flow: u32,
    /// Rate that the flow's law sets, bit/s.
    pub rate: f64,
    /// Next rate that the law proposes, bit/s.
    pub proposal: f64,
    /// Mean round-trip time of the period, s; none without ACKs.
    pub rtt: Option<f64>,
    /// Router that limits the flow: its position on the path or its identifier, depending on the law.
    pub bottleneck: Option<u32>,
    /// Data packets in flight.
    pub outstanding: u32,
    /// Counters of the flow since its start.
    #[serde(flatten)]
    pub counters: FlowCounters,
}

/// Flow that has ended.
#[derive(Debug, Clone, Serialize)]
pub struct Ended {
    kind: &'static str,
    /// Number of the flow, from 1.
    pub flow: u32,
    /// Random identifier of the flow, which ACKs carry and `recv` prints.
    pub id: u32,
    /// Start time, s.
    pub start: f64,
    /// Time from the start to the complete delivery, s. None if the flow is incomplete or has no size.
    pub completion: Option<f64>,
    /// True if an ACK has shown a router of the law on the path. None if no ACK shows whether there is one.
    pub routed: Option<bool>,
    /// Counters of the flow since its start.
    #[serde(flatten)]
    pub counters: FlowCounters,
}

impl Ended {
    /// Creates the record of a flow.
    #[must_use]
    pub fn new(flow: &Flow) -> Self {
        let completion = flow.completed.map(|at| at.since(flow.started).as_secs_f64());
        Self {
            kind: "flow",
            flow: flow.index,
            id: flow.sender.flow(),
            start: flow.started.as_secs_f64(),
            completion,
            routed: flow.routed,
            counters: flow.sender.counters(),
        }
    }
}

impl Sample {
    /// Returns the state of a flow now.
    #[must_use]
    pub fn new(flow: &Flow, now: Time) -> Self {
        let (sum, count) = flow.round_trips;
        Self {
            kind: "sample",
            t: now.as_secs_f64(),
            flow: flow.index,
            rate: flow.sender.rate().bps(),
            proposal: flow.sender.proposal().bps(),
            rtt: (count > 0).then(|| sum / f64::from(count)),
            bottleneck: match flow.sender.bottleneck() {
                Bottleneck::Unknown => None,
                Bottleneck::Hop(hop) => Some(hop.into()),
                Bottleneck::Router(id) => Some(id),
            },
            outstanding: flow.sender.outstanding(),
            counters: flow.sender.counters(),
        }
    }
}

impl Samples {
    /// Creates the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        match File::create(path) {
            Ok(file) => Ok(Self {
                out: BufWriter::new(file),
                name,
            }),
            Err(e) => Err(Error::input(format!("--samples {name}: {e}"))),
        }
    }

    /// Writes the first line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn start(&mut self, law: &str, to: &str, stamp_ns: u64) -> Result<(), Error> {
        self.write(&serde_json::json!({ "kind": "start", "law": law, "to": to, "stamp_ns": stamp_ns }))
    }

    /// Writes one line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self, line: &impl Serialize) -> Result<(), Error> {
        let wrote = serde_json::to_writer(&mut self.out, line).map_err(std::io::Error::from);
        let wrote = wrote.and_then(|()| self.out.write_all(b"\n"));
        wrote.map_err(|e| Error::failed(format!("--samples {}: {e}", self.name)))
    }

    /// Writes a sample of each active flow, and a line for each flow that ended.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn read(&mut self, progress: &Progress) -> Result<(), Error> {
        for flow in progress.active {
            self.write(&Sample::new(flow, progress.now))?;
        }
        let cut = if progress.last { progress.active } else { &[] };
        for flow in progress.ended.iter().chain(cut) {
            self.write(&Ended::new(flow))?;
        }
        self.flush()
    }

    /// Writes buffered lines to the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<(), Error> {
        let name = &self.name;
        self.out
            .flush()
            .map_err(|e| Error::failed(format!("--samples {name}: {e}")))
    }
}
