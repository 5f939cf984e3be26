//! Output of `send`: progress during a run, and its summary.

use std::collections::HashMap;
use std::io::Write as _;

use levelflow_laws::{Any, AnyParams, Protocol as _};
use levelflow_units::Time;
use serde::Serialize;

use super::flows::Flow;
use super::sample::Ended;
use super::send::Progress;
use levelflow_host::format::{bytes, short_rate};
use levelflow_host::terminal;

/// Limit on flows that have their own row in a progress report.
const MAX_FLOWS_SHOWN: usize = 8;
/// Limit on ended flows in the summary.
const MAX_FLOWS_LISTED: usize = 10_000;
/// Minimum length of the last period, s. A shorter period is not shown.
const MIN_REPORT_S: f64 = 0.1;
/// Age from which flows without ACKs, or without a router of the law, cause a warning, s.
const WARNING_DELAY_S: f64 = 2.0;

/// Summary of a run.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// Length of the run, s.
    pub seconds: f64,
    /// Flows that began.
    pub flows: u64,
    /// Flows that delivered all their data.
    pub completed: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes known to have arrived; none if the law has no ACKs.
    pub delivered_bytes: Option<u64>,
    /// Packets lost, as far as ACKs show; none if the law has no ACKs.
    pub lost: Option<u64>,
    /// ACKs rejected.
    pub refused: u64,
    /// Packets that the operating system rejected, or that reached no receiver.
    pub unreachable: u64,
    /// Mean rate of delivered bytes, bit/s; none if the law has no ACKs.
    pub rate: Option<f64>,
    /// Jain's index of the rates in the second half of the run. Only flows that are present in the whole second half
    /// count. None for fewer than two of these flows.
    pub jain: Option<f64>,
    /// Mean completion time, s.
    pub completion_mean: Option<f64>,
    /// 99th percentile of completion times, s.
    pub completion_p99: Option<f64>,
    /// Flows that ended, up to 10 000.
    pub each: Vec<Ended>,
}

/// Collects and shows the results of a run.
#[derive(Debug, Default)]
pub struct Report {
    law: &'static str,
    needs_router: bool,
    /// True if ACKs report deliveries. Otherwise, the report shows sent data.
    acknowledged: bool,
    json: bool,
    quiet: bool,
    /// Start of the second half of the run, s. None if the length of the run is unknown.
    half: Option<f64>,
    at: f64,
    before: HashMap<u32, (u64, u64)>,
    middle: HashMap<u32, (f64, u64)>,
    rates: Vec<f64>,
    completions: Vec<f64>,
    warned: bool,
    summary: Summary,
}

/// Returns Jain's fairness index of `n` rates. It is 1 if all rates are equal, and `1/n` if only one rate is above 0.
#[must_use]
pub fn jain(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates
        .iter()
        .fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
    (rates.len() > 1 && squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

impl Report {
    /// Creates the report of a run that lasts `seconds`. The argument is none if the length of the run is unknown.
    #[must_use]
    pub fn new(params: &AnyParams, seconds: Option<f64>, json: bool, quiet: bool) -> Self {
        let law = params.law();
        Self {
            law: law.name,
            needs_router: law.signalling.is_explicit(),
            acknowledged: Any::transport(params).acknowledged,
            json,
            quiet,
            half: seconds.map(|s| s / 2.0),
            ..Self::default()
        }
    }

    /// Shows the progress since the previous call.
    pub fn read(&mut self, progress: &Progress) {
        let now = progress.now.as_secs_f64();
        if self.half.is_some_and(|half| self.at < half && now >= half) {
            let middle = progress.active.iter().map(|f| (f.index, (now, self.bytes(f))));
            self.middle = middle.collect();
        }
        self.warn(progress, now);
        if !self.quiet {
            self.show(progress, now);
        }
        let cut = if progress.last { progress.active } else { &[] };
        for flow in progress.ended.iter().chain(cut) {
            self.end(flow, now);
        }
        let totals = |f: &Flow| (f.index, (self.bytes(f), f.sender.counters().data.lost));
        self.before = progress.active.iter().map(totals).collect();
        self.at = now;
        self.summary.unreachable = progress.unreachable;
    }

    /// Bytes of a flow so far. These are delivered bytes, or sent bytes if the law has no ACKs.
    fn bytes(&self, flow: &Flow) -> u64 {
        let counters = flow.sender.counters();
        if self.acknowledged {
            counters.data.delivered_bytes
        } else {
            counters.bytes
        }
    }

    fn warn(&mut self, progress: &Progress, now: f64) {
        if self.warned || !self.acknowledged || now < WARNING_DELAY_S || progress.active.is_empty() {
            return;
        }
        let old = |f: &&Flow| progress.now.since(f.started).as_secs_f64() > WARNING_DELAY_S;
        let mut old = progress.active.iter().filter(old).peekable();
        if old.peek().is_none() {
            return;
        }
        let (mut silent, mut unrouted) = (true, self.needs_router);
        for flow in old {
            silent &= flow.sender.counters().acks == 0;
            unrouted &= flow.routed == Some(false);
        }
        if silent {
            terminal::warn(
                "no ACKs arrive; is `levelflow-net recv` running, and does the path work in both directions?",
            );
        } else if unrouted {
            let law = self.law;
            terminal::warn(format!("no router of {law} on the path; flows keep their initial rate"));
        }
        self.warned = silent || unrouted;
    }

    fn show(&self, progress: &Progress, now: f64) {
        let time = now - self.at;
        if time <= 0.0 || (progress.last && time < MIN_REPORT_S) {
            return;
        }
        let mut out = std::io::stdout().lock();
        let (mut bytes, mut lost) = (0, 0);
        let shown = progress.active.len() + progress.ended.len() <= MAX_FLOWS_SHOWN;
        for flow in progress.active.iter().chain(progress.ended) {
            let data = flow.sender.counters().data;
            let (bytes_before, lost_before) = self.before.get(&flow.index).copied().unwrap_or_default();
            let (new, newly_lost) = (self.bytes(flow) - bytes_before, data.lost - lost_before);
            bytes += new;
            lost += newly_lost;
            if shown && !self.json {
                let (sum, count) = flow.round_trips;
                let rtt = (count > 0).then(|| sum / f64::from(count));
                let index = flow.index.to_string();
                let _ = writeln!(out, "{}", self.row(&index, now, new, rtt, newly_lost));
            }
        }
        if self.json {
            let known = self.acknowledged;
            let line = serde_json::json!({
                "kind": "period", "t": now, "flows": progress.active.len(),
                "delivered_bytes": known.then_some(bytes), "sent_bytes": (!known).then_some(bytes),
                "rate": known.then_some(bytes as f64 * 8.0 / time), "lost": known.then_some(lost),
            });
            let _ = writeln!(out, "{line}");
        } else if !shown || progress.active.len() > 1 {
            let _ = writeln!(out, "{}", self.row("all", now, bytes, None, lost));
        }
    }

    fn end(&mut self, flow: &Flow, now: f64) {
        let bytes = self.bytes(flow);
        let (summary, counters) = (&mut self.summary, flow.sender.counters());
        let ended = Ended::new(flow);
        summary.flows += 1;
        summary.packets += counters.packets;
        summary.bytes += counters.bytes;
        if self.acknowledged {
            *summary.delivered_bytes.get_or_insert_default() += counters.data.delivered_bytes;
            *summary.lost.get_or_insert_default() += counters.data.lost - counters.data.spurious;
        }
        summary.refused += counters.refused.total();
        if let Some(time) = ended.completion {
            summary.completed += 1;
            self.completions.push(time);
        }
        let middle = self.middle.get(&flow.index).filter(|(since, _)| now > *since);
        if let Some((since, before)) = middle.filter(|_| self.acknowledged) {
            self.rates.push((bytes - before) as f64 * 8.0 / (now - since));
        }
        if summary.each.len() < MAX_FLOWS_LISTED {
            summary.each.push(ended);
        }
    }

    /// Returns the header of the table.
    #[must_use]
    pub fn head(&self) -> &'static str {
        if self.acknowledged {
            "flow    time            arrived     rate            round trip   lost"
        } else {
            "flow    time            sent        rate"
        }
    }

    /// Formats a row of the table for the period up to `to`.
    fn row(&self, flow: &str, to: f64, sum: u64, rtt: Option<f64>, lost: u64) -> String {
        let time = format!("{:.1} to {to:.1} s", self.at);
        let rate = short_rate(sum as f64 * 8.0 / (to - self.at));
        let row = format!("{flow:<7} {time:<15} {:<11} {rate:<15}", bytes(sum));
        if !self.acknowledged {
            return row.trim_end().to_owned();
        }
        let rtt = rtt.map_or_else(|| "-".to_owned(), |rtt| format!("{:.2} ms", rtt * 1e3));
        format!("{row} {rtt:<12} {lost}")
    }

    /// Prints and returns the summary.
    #[must_use]
    pub fn finish(mut self, now: Time) -> Summary {
        let summary = &mut self.summary;
        summary.seconds = now.as_secs_f64();
        let rate = |bytes| bytes as f64 * 8.0 / summary.seconds.max(1e-9);
        summary.rate = summary.delivered_bytes.map(rate);
        summary.jain = jain(&self.rates);
        self.completions.sort_by(f64::total_cmp);
        if let Some(last) = self.completions.len().checked_sub(1) {
            summary.completion_mean = Some(self.completions.iter().sum::<f64>() / self.completions.len() as f64);
            summary.completion_p99 = Some(self.completions[(0.99 * (last + 1) as f64 - 1e-9).ceil() as usize - 1]);
        }
        let mut out = std::io::stdout().lock();
        let _ = if self.json {
            let text = serde_json::to_string(summary).unwrap_or_default();
            writeln!(out, "{text}")
        } else {
            write!(out, "{summary}")
        };
        self.summary
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (flows, seconds, packets) = (self.flows, self.seconds, self.packets);
        let s = if flows == 1 { "" } else { "s" };
        write!(f, "{flows} flow{s}, {seconds:.2} s: ")?;
        if let (Some(arrived), Some(rate), Some(lost)) = (self.delivered_bytes, self.rate, self.lost) {
            let (arrived, rate) = (bytes(arrived), short_rate(rate));
            writeln!(f, "{arrived} arrived, {rate}; {lost} of {packets} packets lost")?;
        } else {
            let sent = bytes(self.bytes);
            writeln!(
                f,
                "{sent} sent in {packets} packets; without ACKs, only the receiver counts what arrives"
            )?;
        }
        if let Some(jain) = self.jain {
            writeln!(f, "fairness in the second half (Jain): {jain:.4}")?;
        }
        if let (Some(mean), Some(p99)) = (self.completion_mean, self.completion_p99) {
            let (done, flows) = (self.completed, self.flows);
            writeln!(
                f,
                "{done} of {flows} finished, after {:.1} ms on average, p99 {:.1} ms",
                mean * 1e3,
                p99 * 1e3
            )?;
        }
        if self.refused > 0 {
            writeln!(f, "{} ACKs were rejected", self.refused)?;
        }
        if self.unreachable > 0 {
            writeln!(f, "{} packets reached no receiver", self.unreachable)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_that_of_jain() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0])), (None, None));
    }
}
