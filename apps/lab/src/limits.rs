//! Limits of a run in a web page.

use levelflow_scenario::{Arrivals, Network};
use levelflow_sim::Any;
use levelflow_units::Bytes;
use serde_json::Value;

/// Limit on memory for flows and packets.
pub const MAX_MEMORY: Bytes = Bytes::new(256_000_000);

/// Limit on the rows of all tables together.
pub const MAX_ROWS: u64 = 1_000_000;

/// Largest integer such that JavaScript represents it and all smaller positive integers exactly.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// Limit on events, about five seconds of computing. A run that reaches the limit ends early.
pub const MAX_EVENTS: u64 = 30_000_000;

/// Rejects a run with lying hosts, and a run whose tables are too large for a page. Lowers the memory limit of others.
///
/// # Errors
/// When a host lies, or the sampling interval is too short. The message then contains the shortest allowed interval.
pub fn apply(network: &mut Network<Any>) -> Result<(), String> {
    if network.has_liars() {
        return Err("lie: hosts in a page are honest; levelflow run simulates lying hosts".to_owned());
    }
    network.memory_limit = network.memory_limit.min(MAX_MEMORY);
    let members = network.flows.iter().map(|flow| match flow.arrivals {
        Arrivals::Once { count } => 1 + u64::from(count),
        _ => 1,
    });
    let each = network.links.len() as u64 + members.sum::<u64>();
    let samples = network.duration.as_ps() / network.sample.as_ps().max(1);
    let rows = samples.saturating_mul(each);
    if rows <= MAX_ROWS {
        return Ok(());
    }
    let shortest = network.duration.as_secs_f64() * each as f64 / MAX_ROWS as f64;
    Err(format!(
        "sample: {} makes {rows} rows of results, and a page holds {MAX_ROWS}; allowed here: {shortest:.2} s or more",
        network.sample
    ))
}

/// Rejects numbers that JavaScript would change: integers that it rounds, and numbers that are not finite.
///
/// # Errors
/// When the scenario has such a number. The message names the first one.
pub fn exact(scenario: &Value) -> Result<(), String> {
    match scenario {
        Value::Number(number) => {
            let size = number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
            match size {
                Some(size) if size > MAX_SAFE_INTEGER => {
                    Err(format!(": {number}; a page rounds integers above {MAX_SAFE_INTEGER}"))
                }
                _ => Ok(()),
            }
        }
        // The inf and nan of TOML are null in JSON.
        Value::Null => Err(": a number must be finite".to_owned()),
        Value::Array(values) => values.iter().try_for_each(exact),
        Value::Object(table) => table.iter().try_for_each(|(key, value)| {
            exact(value)
                .map_err(|problem| format!("{key}{}{problem}", if problem.starts_with(':') { "" } else { ", " }))
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_that_a_page_would_change_is_named() {
        let fine = json!({ "seed": MAX_SAFE_INTEGER, "flow": [{ "count": 3, "start": 1e300 }] });
        assert_eq!(exact(&fine), Ok(()));
        let coarse = json!({ "flow": [{ "name": "x", "count": MAX_SAFE_INTEGER + 2 }] });
        let line = exact(&coarse).expect_err("it is too large");
        assert_eq!(
            exact(&json!({ "link": [{ "loss": null }] })),
            Err("link, loss: a number must be finite".to_owned())
        );
        assert!(
            line.starts_with("flow, count: 9007199254740993; a page rounds"),
            "{line}"
        );
    }
}
