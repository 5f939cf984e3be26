//! What a run in a page may take.

use levelflow_scenario::{Arrivals, Network};
use levelflow_sim::Any;
use levelflow_units::Bytes;

/// Most memory of flows and packets.
pub const MEMORY: Bytes = Bytes::new(256_000_000);

/// Most rows of all tables.
pub const ROWS: u64 = 1_000_000;

/// Most events, some five seconds of work; a run that needs more is cut.
pub const EVENTS: u64 = 30_000_000;

/// Refuses a run whose tables would not fit a page, and lowers its limit of memory.
///
/// # Errors
/// Says how long a sample must be.
pub fn apply(network: &mut Network<Any>) -> Result<(), String> {
    network.memory_limit = network.memory_limit.min(MEMORY);
    let members = network.flows.iter().map(|flow| match flow.arrivals {
        Arrivals::Once { count } => 1 + u64::from(count),
        _ => 1,
    });
    let each = network.links.len() as u64 + members.sum::<u64>();
    let samples = network.duration.as_ps() / network.sample.as_ps().max(1);
    let rows = samples.saturating_mul(each);
    if rows <= ROWS {
        return Ok(());
    }
    let shortest = network.duration.as_secs_f64() * each as f64 / ROWS as f64;
    Err(format!(
        "sample: {} makes {rows} rows of results, and a page holds {ROWS}; allowed here: {shortest:.2} s or more",
        network.sample
    ))
}
