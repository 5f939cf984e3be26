//! Helpers of the integration tests: they convert the text of a scenario to counters and tables.

use levelflow_results::{Column, Outcome, Summary, Table};
use levelflow_scenario::{Network, Resolved, Scenario, ScenarioError};
use levelflow_sim::{Any, Division, Sim, Stay, Threads, Trace};
use levelflow_units::Time;
use serde_json::Value;

/// Event limit. Only a run with an unlimited sending rate exceeds the limit.
pub const NO_LIMIT: u64 = 4_000_000;

/// Results of a finished run.
pub struct Run {
    pub summary: Summary,
    pub flows: Table,
    pub links: Table,
    pub transfers: Table,
    /// Finished transfers.
    pub completions: Table,
}

impl Run {
    /// Collects the counters and tables of a finished run.
    pub fn of(summary: Summary, tables: [(&'static str, Table); 4]) -> Self {
        let [(_, flows), _, (_, links), (_, transfers)] = tables;
        Self {
            summary,
            flows,
            links,
            completions: only_finished(&transfers),
            transfers,
        }
    }
}

/// Returns the rows of finished transfers.
fn only_finished(transfers: &Table) -> Table {
    let finished = f64::from(Outcome::Finished.code());
    let keep: Vec<bool> = column(transfers, "outcome")
        .iter()
        .map(|&code| code == finished)
        .collect();
    fn rows<T: Copy>(values: &[T], keep: &[bool]) -> Vec<T> {
        let pairs = values.iter().zip(keep);
        pairs.filter(|&(_, &keep)| keep).map(|(&value, _)| value).collect()
    }
    let columns = transfers.columns.iter().map(|(name, column)| {
        let kept = match column {
            Column::F64(v) => Column::F64(rows(v, &keep)),
            Column::U64(v) => Column::U64(rows(v, &keep)),
            Column::U32(v) => Column::U32(rows(v, &keep)),
            Column::I32(v) => Column::I32(rows(v, &keep)),
        };
        (*name, kept)
    });
    Table {
        columns: columns.collect(),
    }
}

/// Resolves a scenario. Unless it sets a profile, the scenario has the profile `paper` with ideal hosts. Closed forms
/// assume hosts without processing times and clock errors.
fn resolve(scenario: &Value) -> Result<Resolved, ScenarioError> {
    let mut scenario = scenario.clone();
    if let Some(keys) = scenario.as_object_mut() {
        keys.entry("profile").or_insert_with(|| "paper".into());
    }
    Scenario::from_value(&scenario)?.resolve()
}

/// Returns the simulation of a scenario at time zero, or the error message.
pub fn try_start(scenario: &Value) -> Result<Sim<Any>, String> {
    resolve(scenario)
        .map(|r| Sim::new(r.network))
        .map_err(|e| e.to_string())
}

pub fn start(text: &str) -> Sim<Any> {
    let scenario = Scenario::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    try_start(&scenario).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

pub fn finish(mut sim: Sim<Any>) -> Run {
    let end = levelflow_units::Time::from_ps(u64::MAX);
    assert!(sim.advance(end, NO_LIMIT).unwrap(), "a law sends without bound");
    sim.record_end();
    Run::of(sim.summary().unwrap(), sim.recorder.take())
}

pub fn network_of(scenario: &Value) -> Network<Any> {
    resolve(scenario).unwrap().network
}

/// Runs a scenario on several threads if its network can be cut into this number of parts. A network with one law runs
/// on the engine of that law if such an engine exists. Also returns true if the network was cut.
pub fn run_on(threads: usize, scenario: &Value) -> (Run, bool) {
    let mut run = levelflow_sim::start(network_of(scenario), Threads::Exactly(threads));
    let end = levelflow_units::Time::from_ps(u64::MAX);
    while !run.advance(end, 1000).unwrap() {
        run.summary().unwrap();
    }
    run.record_end();
    let tables = Run::of(run.summary().unwrap(), run.recorder().take());
    (tables, matches!(run.division(), Division::Parts { .. }))
}

/// Verifies that two runs have equal flow tables. NaN equals NaN.
pub fn assert_same_flows(one: &Run, other: &Run) {
    let printed = |run: &Run| format!("{:?}", run.flows);
    assert!(printed(one) == printed(other), "tables of flows differ");
}

pub fn run(text: &str) -> Run {
    finish(start(text))
}

/// Returns the values of a column as floats.
pub fn column(table: &Table, name: &str) -> Vec<f64> {
    let (_, column) = table.columns.iter().find(|(n, _)| *n == name).expect(name);
    match column {
        Column::F64(v) => v.clone(),
        Column::U64(v) => v.iter().map(|&x| x as f64).collect(),
        Column::U32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Column::I32(v) => v.iter().map(|&x| f64::from(x)).collect(),
    }
}

/// Returns the values in column `name` of one flow or link after `after` seconds. `key` is the column with the index.
pub fn series(table: &Table, key: &str, index: usize, name: &str, after: f64) -> Vec<f64> {
    let (t, who) = (column(table, "t"), column(table, key));
    let value = column(table, name);
    (0..t.len())
        .filter(|&i| who[i] == index as f64 && t[i] > after)
        .map(|i| value[i])
        .collect()
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Verifies an expected value by independent estimates. The mean of the estimates must be within four standard errors
/// of `expected`. The standard error must be at most 5 % of `expected`.
pub fn assert_expectation(estimates: &[f64], expected: f64) {
    let (n, average) = (estimates.len() as f64, mean(estimates));
    let variance = estimates.iter().map(|x| (x - average).powi(2)).sum::<f64>() / (n - 1.0);
    let error = (variance / n).sqrt();
    assert!(
        error < 0.05 * expected,
        "standard error {error} is too large for {expected}"
    );
    assert!(
        (average - expected).abs() < 4.0 * error,
        "{average} +- {error}, expected {expected}"
    );
}

pub fn assert_close(found: f64, expected: f64, relative: f64) {
    assert!(
        (found / expected - 1.0).abs() <= relative,
        "{found} is not within {relative} of {expected}"
    );
}

/// Runs a simulation to its end. Returns the stays of all packets at all links.
pub fn trace(sim: &mut Sim<Any>) -> Vec<Stay> {
    sim.trace = Some(Box::<Trace>::default());
    assert!(sim.advance(Time::from_ps(u64::MAX), NO_LIMIT).unwrap());
    let present = sim.present();
    let mut stays = sim.trace.take().unwrap().take();
    stays.extend(present);
    stays
}
