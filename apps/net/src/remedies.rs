//! Queue disciplines on a measured line, by simulation, and the commands that set them.

use std::fmt::Write as _;

use levelflow_host::Error;
use levelflow_host::format::short_rate;
use levelflow_probe::{Queue, Report};
use levelflow_scenario::Scenario;
use levelflow_sim::Sim;
use serde::Serialize;
use serde_json::{Value, json};

/// Disciplines of the comparison, with the first Linux version that has them.
const QUEUES: [(&str, &str); 3] = [("fq_codel", "3.5"), ("cake", "4.19"), ("dualpi2", "6.17")];
/// Rate of a shaper as a fraction of the line rate. The queue then builds up at the shaper and not at the modem.
const SHAPED: f64 = 0.95;
/// Queue limit at a shaper.
const ROOM: &str = "1000 packets";
/// Bits of both directions that a simulation may carry, and its range of durations, s.
const SIMULATED: (f64, f64, f64) = (4e9, 5.0, 30.0);
/// Longest Ethernet frame without its checksum, bytes.
const FRAME: u64 = 1514;
/// Duration of the bucket of a shaper, s.
const BUCKET_S: f64 = 0.004;

/// Performance of the line with one queue discipline, with an upload, a download and a call at once.
#[derive(Debug, Clone, Serialize)]
pub struct Remedy {
    /// Queue discipline of both directions; `None` for the line as measured.
    pub queue: Option<&'static str>,
    /// Throughput of the upload.
    pub up_bps: f64,
    /// Throughput of the download.
    pub down_bps: f64,
    /// Median round-trip time of the call, s.
    pub call_p50_s: f64,
    /// 99th percentile of the round-trip time of the call, s.
    pub call_p99_s: f64,
    /// Shell commands that set the discipline for uploads; DEVICE is the interface to the line.
    pub commands: Vec<String>,
}

/// Simulates the line as measured, and with each queue discipline behind a shaper. Returns no rows if the capacity of a
/// direction is unknown. Omits the row of the line as measured if its queue is not a buffer that drops arrivals.
///
/// # Errors
/// When the measured line is not a valid scenario.
pub fn remedies(report: &Report) -> Result<Vec<Remedy>, Error> {
    let measured = [report.up.queue, report.down.queue];
    if measured.contains(&Queue::Unseen) {
        return Ok(Vec::new());
    }
    let disciplined = measured.iter().any(|queue| matches!(queue, Queue::Aqm | Queue::Fair));
    let line = Scenario::parse(&report.scenario()).map_err(Error::failed)?;
    let rates = [report.up.capacity_bps, report.down.capacity_bps];
    let queues = QUEUES.iter().map(|(name, _)| Some(*name));
    (!disciplined)
        .then_some(None)
        .into_iter()
        .chain(queues)
        .map(|queue| simulate(line.clone(), queue, rates))
        .collect()
}

fn simulate(mut line: Value, queue: Option<&'static str>, rates: [f64; 2]) -> Result<Remedy, Error> {
    let (bits, least, most) = SIMULATED;
    let seconds = (bits / (rates[0] + rates[1])).clamp(least, most).round();
    line["duration"] = json!(format!("{seconds} s"));
    let link = &mut line["link"][0];
    if let Some(queue) = queue {
        let shaped = rates.map(|rate| json!(format!("{} b/s", (rate * SHAPED).round())));
        link["queue"] = json!(queue);
        (link["capacity"], link["buffer"]) = (shaped[0].clone(), json!(ROOM));
        (link["reverse"]["capacity"], link["reverse"]["buffer"]) = (shaped[1].clone(), json!(ROOM));
    }
    let scenario = Scenario::from_value(&line).map_err(Error::failed)?;
    let network = scenario.resolve().map_err(Error::failed)?.network;
    let end = levelflow_units::Time::ZERO + network.duration;
    let mut run = Sim::new(network);
    run.advance(end, u64::MAX).map_err(Error::failed)?;
    let summary = serde_json::to_value(run.summary().map_err(Error::failed)?).map_err(Error::failed)?;
    let flow = |name: &str| {
        summary["flows"]
            .as_array()
            .and_then(|all| all.iter().find(|flow| flow["name"] == name))
    };
    let throughput = |name: &str| {
        let bytes = flow(name).and_then(|flow| flow["delivered_bytes"].as_f64());
        bytes.unwrap_or(0.0) * 8.0 / seconds
    };
    let call = |quantile: &str| {
        flow("call")
            .and_then(|flow| flow["rtt_s"][quantile].as_f64())
            .unwrap_or(0.0)
    };
    Ok(Remedy {
        queue,
        up_bps: throughput("upload"),
        down_bps: throughput("download"),
        call_p50_s: call("p50"),
        call_p99_s: call("p99"),
        commands: queue.map(|queue| commands(queue, rates[0])).unwrap_or_default(),
    })
}

/// Returns the commands that set a discipline behind a shaper for this capacity, bit/s.
fn commands(queue: &str, capacity: f64) -> Vec<String> {
    let kbit = (SHAPED * capacity / 1e3).floor().max(1.0);
    let root = "tc qdisc replace dev DEVICE root";
    if queue == "cake" {
        return vec![format!("{root} cake bandwidth {kbit}kbit")];
    }
    let burst = (2 * FRAME).max((kbit * 1e3 / 8.0 * BUCKET_S).ceil() as u64);
    vec![
        format!("{root} handle 1: htb default 10"),
        format!("tc class replace dev DEVICE parent 1: classid 1:10 htb rate {kbit}kbit burst {burst} cburst {burst}"),
        format!("tc qdisc replace dev DEVICE parent 1:10 {queue}"),
    ]
}

/// Formats the comparison for the terminal.
pub fn text(remedies: &[Remedy]) -> String {
    if remedies.is_empty() {
        return "\nNo simulation: the load did not saturate both directions, so their capacity is unknown; raise --max-rate\n"
            .to_owned();
    }
    let mut text = "\nAn upload, a download and a call at once, simulated on this line. A queue discipline needs a shaper at 95 % \
                    of\nthe capacity, in both directions:\n"
        .to_owned();
    let _ = writeln!(
        text,
        "{:<12}{:>12}{:>12}{:>16}{:>12}",
        "queue", "upload", "download", "call, median", "99 %"
    );
    for one in remedies {
        let _ = writeln!(
            text,
            "{:<12}{:>12}{:>12}{:>13.0} ms{:>9.0} ms",
            one.queue.unwrap_or("as measured"),
            short_rate(one.up_bps),
            short_rate(one.down_bps),
            one.call_p50_s * 1e3,
            one.call_p99_s * 1e3
        );
    }
    for one in remedies {
        if let Some((queue, since)) = QUEUES.iter().find(|(name, _)| Some(*name) == one.queue) {
            let _ = writeln!(
                text,
                "# {queue} for uploads, Linux {since} or later; DEVICE is the interface to the line"
            );
            for command in &one.commands {
                let _ = writeln!(text, "{command}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use levelflow_probe::probe::Outcome;
    use levelflow_probe::{Idle, Loaded};

    use super::*;

    /// Report on a line with these queues up and down.
    fn report(queues: [Queue; 2]) -> Report {
        let loaded = queues.map(|queue| Loaded {
            capacity: 1e6,
            buffer: Some(30_000),
            queue,
            wait: 0.24,
            trips: None,
            added: 0.24,
            loss: 0.0,
        });
        Report::new(&Outcome {
            idle: Idle::of(&[Some(0.02)]).unwrap(),
            loaded,
            garbage: 0,
        })
    }

    fn rows(queues: [Queue; 2]) -> Vec<Option<&'static str>> {
        let rows = remedies(&report(queues)).unwrap();
        rows.iter().map(|row| row.queue).collect()
    }

    #[test]
    fn a_line_is_simulated_as_measured_only_if_its_queues_are_known() {
        let others = QUEUES.map(|(name, _)| Some(name));
        assert_eq!(rows([Queue::DropTail; 2]), [&[None], &others[..]].concat());
        assert_eq!(rows([Queue::DropTail, Queue::Fair]), others);
        assert_eq!(rows([Queue::Aqm, Queue::DropTail]), others);
        assert!(rows([Queue::DropTail, Queue::Unseen]).is_empty());
    }

    #[test]
    fn an_unsaturated_line_gets_no_commands() {
        let found = remedies(&report([Queue::Unseen; 2])).unwrap();
        let text = text(&found);
        assert!(text.contains("--max-rate") && !text.contains("tc "), "{text}");
    }
}
