//! `levelflow-net testbed --each-law`: runs one scenario with each law, and prints a table.

use std::path::Path;

use serde_json::{Value, json};

use super::progress::{bar, print, stopped};
use super::warnings;
use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_load::report::jain;
use levelflow_testbed::{Chosen, Outcome, Plan, run};

/// Results of the run with one law.
struct Row {
    /// Name of the law, with `+` and the name of the queue discipline if the command sets one.
    law: String,
    /// Total throughput of all flows in the second half of the run, bit/s.
    throughput: f64,
    /// Jain's index of the throughputs of the flow entries.
    jain: f64,
    /// Queueing delay at the busiest link, median and p99, s; `None` if the queue is in the kernel.
    delay: [Option<f64>; 2],
    /// Packets dropped at the busiest link, divided by packets that arrived there.
    loss: f64,
}

/// Runs the scenario with each law, and prints one row of results per law. The name of a run is its law.
///
/// # Errors
/// When a run fails or is stopped.
pub fn compare(runs: &[(String, Chosen, Plan)], scale: f64, out: &Path, json: bool) -> Result<(), Error> {
    let stop = Stop::on_signals()?;
    if !json {
        print(&head());
    }
    let (mut rows, mut outcomes) = (Vec::new(), Vec::new());
    for (law, chosen, plan) in runs {
        let bar = bar(law, chosen.scenario.duration.as_secs_f64());
        let outcome = run(chosen, plan, scale, &out.join(law), &stop, |t| {
            bar.set_position((t * 1e3) as u64);
        });
        bar.finish_and_clear();
        let outcome = outcome?;
        if outcome.stopped {
            return Err(stopped(&outcome));
        }
        let row = row(law, &outcome);
        if !json {
            print(&row.show());
        }
        rows.push(row.json());
        outcomes.push((chosen, outcome));
    }
    warnings::print(outcomes.iter().map(|(chosen, outcome)| (*chosen, outcome)));
    if json {
        print(&format!("{:#}", Value::Array(rows)));
    } else {
        print(&format!(
            "\nThroughput and Jain's index are of the second half; queueing delay and loss are of the busiest link over the \
             whole run.\n{}",
            beside(runs, out)
        ));
    }
    Ok(())
}

/// Returns the command that compares two runs, or plots more than two.
fn beside(runs: &[(String, Chosen, Plan)], out: &Path) -> String {
    let paths: Vec<String> = runs
        .iter()
        .take(2)
        .map(|(law, ..)| out.join(law).display().to_string())
        .collect();
    match &paths[..] {
        [one, other] => format!("Flow by flow: levelflow compare {one} {other}"),
        _ => format!("Flow by flow: levelflow plot {}", paths.concat()),
    }
}

fn row(law: &str, outcome: &Outcome) -> Row {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let links = outcome.counters["links"].as_array().into_iter().flatten();
    let busiest = links.max_by(|a, b| number(&a["utilisation"]).total_cmp(&number(&b["utilisation"])));
    let (delay, loss) = busiest.map_or(([None; 2], 0.0), |link| {
        let delay = |quantile: &str| link["queueing_delay_s"][quantile].as_f64();
        let loss = number(&link["dropped_packets"]) / number(&link["arrived_packets"]).max(1.0);
        ([delay("p50"), delay("p99")], loss)
    });
    Row {
        law: law.to_owned(),
        throughput: outcome.later_bps.iter().sum(),
        jain: jain(&outcome.later_bps).unwrap_or(1.0),
        delay,
        loss,
    }
}

/// Formats a time in milliseconds, or as "-" if it is unknown.
fn ms(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), |s| format!("{:.2} ms", s * 1e3))
}

fn head() -> String {
    format!(
        "{:<16} {:>11} {:>8} {:>18} {:>10} {:>8}",
        "law", "throughput", "Jain", "queueing delay p50", "p99", "loss"
    )
}

impl Row {
    fn show(&self) -> String {
        format!(
            "{:<16} {:>6.2} Mb/s {:>8.4} {:>18} {:>10} {:>6.3} %",
            self.law,
            self.throughput * 1e-6,
            self.jain,
            ms(self.delay[0]),
            ms(self.delay[1]),
            self.loss * 100.0
        )
    }

    fn json(&self) -> Value {
        json!({
            "law": self.law, "throughput_bps": self.throughput, "jain": self.jain,
            "queueing_delay_s": { "p50": self.delay[0], "p99": self.delay[1] }, "loss": self.loss,
        })
    }
}
