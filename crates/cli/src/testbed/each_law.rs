//! `levelflow-net testbed --each-law`: one scenario, a run per law, one table.

use std::path::Path;

use serde_json::{Value, json};

use super::progress::{bar, print, stopped};
use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_load::report::jain;
use levelflow_testbed::{Chosen, Outcome, Plan, run};

/// What a law made of the scenario.
struct Row {
    law: String,
    /// Sum of the flows' rates in the second half, bit/s.
    rate: f64,
    /// Jain's index of these rates.
    jain: f64,
    /// Time that the queue before the busiest link takes to empty, as arriving packets found it: median and p99, s.
    wait: [f64; 2],
    /// Share of the packets that came to this link and found no room.
    loss: f64,
}

/// Runs each of the scenarios, named after their laws, and prints a row of each.
///
/// # Errors
/// When a run fails or is stopped.
pub fn compare(runs: &[(String, Chosen, Plan)], scale: f64, out: &Path, json: bool) -> Result<(), Error> {
    let stop = Stop::on_signals()?;
    if !json {
        print(&head());
    }
    let mut rows = Vec::new();
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
        let row = row(law, chosen, &outcome);
        if !json {
            print(&row.show());
        }
        rows.push(row.json());
    }
    if json {
        print(&format!("{:#}", Value::Array(rows)));
    } else {
        print(&format!(
            "\nRates and Jain's index are those of the second half, waits and losses at the busiest link those of the whole run.\n{}",
            beside(runs, out)
        ));
    }
    Ok(())
}

/// How to see more of the first two.
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

fn row(law: &str, chosen: &Chosen, outcome: &Outcome) -> Row {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let links = outcome.counters["links"].as_array().into_iter().flatten();
    let busiest = links
        .zip(&chosen.resolved.network.links)
        .max_by(|(a, _), (b, _)| number(&a["utilisation"]).total_cmp(&number(&b["utilisation"])));
    let (wait, loss) = busiest.map_or(([0.0; 2], 0.0), |(link, spec)| {
        let wait = |quantile: &str| number(&link["queue_bytes"][quantile]) * 8.0 / spec.capacity.bps();
        let loss = number(&link["dropped_packets"]) / number(&link["arrived_packets"]).max(1.0);
        ([wait("p50"), wait("p99")], loss)
    });
    Row {
        law: law.to_owned(),
        rate: outcome.later_bps.iter().sum(),
        jain: jain(&outcome.later_bps).unwrap_or(1.0),
        wait,
        loss,
    }
}

fn head() -> String {
    format!(
        "{:<10} {:>11} {:>8} {:>10} {:>10} {:>8}",
        "law", "rate", "Jain", "wait p50", "wait p99", "loss"
    )
}

impl Row {
    fn show(&self) -> String {
        format!(
            "{:<10} {:>6.2} Mb/s {:>8.4} {:>7.2} ms {:>7.2} ms {:>6.3} %",
            self.law,
            self.rate * 1e-6,
            self.jain,
            self.wait[0] * 1e3,
            self.wait[1] * 1e3,
            self.loss * 100.0
        )
    }

    fn json(&self) -> Value {
        json!({
            "law": self.law, "rate_bps": self.rate, "jain": self.jain,
            "wait_s": { "p50": self.wait[0], "p99": self.wait[1] }, "loss": self.loss,
        })
    }
}
