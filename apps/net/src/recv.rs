//! Command `levelflow-net recv`.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use levelflow_units::Duration;
use serde::Serialize;

use super::options::{self, address};
use levelflow_host::Error;
use levelflow_host::format::{bytes, short_rate};
use levelflow_host::stop::Stop;
use levelflow_load::flow_table::{Arriving, Counts};
use levelflow_load::receiver::{Delays, LoadReceiver, Progress, Total};
use levelflow_load::sample::Samples;

const EXAMPLES: &str = "Examples:
  levelflow-net recv 127.0.0.1:9001
  levelflow-net recv :9001 --flows 3 --json
  levelflow-net recv [::]:9001 --for \"1 min\" --samples arrived.jsonl

Delays are one-way. They are exact if sender and receiver run on one machine; otherwise they are
relative to the fastest packet of the flow.";

/// Options of `recv`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Recv {
    /// Address to listen at; ":9001" is every IPv4 address of the machine, "[::]:9001" every address.
    at: String,
    /// Stops after this time.
    #[arg(long = "for", value_name = "TIME")]
    time: Option<Duration>,
    /// Stops after this number of flows have ended.
    #[arg(long)]
    flows: Option<u64>,
    /// Time between two readings.
    #[arg(long, value_name = "TIME", default_value = "1 s")]
    every: Duration,
    /// Writes readings of each flow to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    samples: Option<PathBuf>,
    /// Prints each reading and the final summary as a JSON line.
    #[arg(long)]
    json: bool,
    /// Prints only the final summary.
    #[arg(long)]
    quiet: bool,
    /// Runs with priority over all ordinary programs (SCHED_FIFO), so that measured delays are those of the network.
    /// Needs privileges.
    #[arg(long)]
    realtime: bool,
}

/// Reading of a flow in the file of `--samples`.
#[derive(Serialize)]
struct Line {
    kind: &'static str,
    t: f64,
    /// Random identifier of the flow, as in the sender's file.
    id: u32,
    from: SocketAddr,
    #[serde(flatten)]
    counts: Counts,
    /// Time from the departure of the first packet to the arrival of the newest packet, s. Valid only if both ends are
    /// on one machine.
    lasted: f64,
}

impl Line {
    fn new(kind: &'static str, t: f64, flow: &Arriving) -> Self {
        let (id, from, counts) = (flow.id, flow.from, flow.counts);
        let lasted = flow.last_came.saturating_sub(flow.first_sent) as f64 / 1e9;
        Self {
            kind,
            t,
            id,
            from,
            counts,
            lasted,
        }
    }
}

#[derive(Default)]
struct Shown {
    at: f64,
    /// Counts at the previous reading, by address and identifier of the flow.
    before: HashMap<(SocketAddr, u32), Counts>,
}

impl Recv {
    /// Receives until stopped.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(self) -> Result<(), Error> {
        options::every(self.every)?;
        let receiver = LoadReceiver {
            at: address("LISTEN", &self.at)?,
            time: self.time,
            flows: self.flows,
            every: self.every,
            realtime: self.realtime,
        };
        let mut samples = self.samples.as_deref().map(Samples::create).transpose()?;
        let stop = Stop::on_signals()?;
        let mut shown = Shown::default();
        let ready = |at: SocketAddr| {
            if !self.json && !self.quiet {
                println!("listening at {at}");
                println!("{HEAD}");
            }
        };
        if let Some(samples) = &mut samples {
            samples.start("", &self.at, levelflow_host::clock::stamp())?;
        }
        options::drop_rights(false)?;
        let total = receiver.run(&stop, ready, |progress| {
            shown.read(progress, self.json, self.quiet);
            samples.as_mut().map_or(Ok(()), |samples| keep(samples, progress))
        })?;
        let mut out = std::io::stdout().lock();
        let _ = if self.json {
            writeln!(out, "{}", serde_json::to_string(&total).unwrap_or_default())
        } else {
            write!(out, "{}", summary(&total))
        };
        Ok(())
    }
}

fn keep(samples: &mut Samples, progress: &Progress) -> Result<(), Error> {
    let t = progress.now.as_secs_f64();
    for flow in progress.table.iter() {
        samples.write(&Line::new("sample", t, flow))?;
    }
    for flow in progress.ended {
        samples.write(&Line::new("flow", t, flow))?;
    }
    if let Some(delays) = &progress.delays {
        samples.write(&serde_json::json!({ "kind": "delays", "t": t, "delays": delays }))?;
    }
    samples.flush()
}

const HEAD: &str = "time            flows  arrived     rate            lost    one way: median    p99";

impl Shown {
    fn read(&mut self, progress: &Progress, json: bool, quiet: bool) {
        let now = progress.now.as_secs_f64();
        let (mut bytes, mut lost) = (0, 0);
        for flow in progress.table.iter().chain(progress.ended) {
            let before = self.before.get(&(flow.from, flow.id)).copied().unwrap_or_default();
            bytes += flow.counts.bytes.saturating_sub(before.bytes);
            lost += flow.counts.lost.saturating_sub(before.lost);
        }
        self.before = progress.table.iter().map(|f| ((f.from, f.id), f.counts)).collect();
        let from = std::mem::replace(&mut self.at, now);
        if quiet || now <= from {
            return;
        }
        let flows = progress.table.len() + progress.ended.len();
        let bps = bytes as f64 * 8.0 / (now - from);
        let mut out = std::io::stdout().lock();
        let _ = if json {
            let delays = &progress.delays;
            let line = serde_json::json!({
                "kind": "period", "t": now, "flows": flows, "bytes": bytes, "rate": bps, "lost": lost, "delays": delays,
            });
            writeln!(out, "{line}")
        } else if flows > 0 {
            let (median, p99) = progress
                .delays
                .as_ref()
                .map_or_else(Default::default, |d| (ms(d.p50), ms(d.p99)));
            let time = format!("{from:.1} to {now:.1} s");
            let (arrived, rate) = (self::bytes(bytes), short_rate(bps));
            writeln!(
                out,
                "{time:<15} {flows:<6} {arrived:<11} {rate:<15} {lost:<7} {median:<18} {p99}"
            )
        } else {
            Ok(())
        };
    }
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

fn summary(total: &Total) -> String {
    let Counts {
        packets,
        bytes: count,
        lost,
        reordered,
        duplicates,
        marked,
    } = total.counts;
    let mean = short_rate(count as f64 * 8.0 / total.seconds.max(1e-9));
    let s = if total.flows == 1 { "" } else { "s" };
    let (flows, seconds, arrived) = (total.flows, total.seconds, bytes(count));
    let mut text = format!(
        "{flows} flow{s}, {seconds:.2} s: {arrived} arrived, {mean}; {packets} packets, {lost} lost, {reordered} reordered, {duplicates} duplicates\n"
    );
    if marked > 0 {
        text += &format!("{marked} packets were marked by queues (ECN)\n");
    }
    if let Some(Delays {
        min,
        p50,
        p99,
        p999,
        max,
    }) = total.delays
    {
        let [min, p50, p99, p999, max] = [min, p50, p99, p999, max].map(ms);
        text += &format!("one way: {min} to {max}, median {p50}, p99 {p99}, p99.9 {p999}\n");
    }
    if total.garbage > 0 {
        text += &format!("{} datagrams belonged to no flow\n", total.garbage);
    }
    text
}
