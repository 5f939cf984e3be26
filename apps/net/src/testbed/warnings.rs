//! Warnings about testbed runs.

use levelflow_host::terminal;
use levelflow_testbed::{Chosen, Outcome};

/// Prints each warning once. If there are several runs, adds the number of runs with the warning.
pub(super) fn print<'a>(runs: impl IntoIterator<Item = (&'a Chosen, &'a Outcome)>) {
    let all: Vec<Vec<String>> = runs.into_iter().map(|(chosen, outcome)| of(chosen, outcome)).collect();
    for line in tally(&all) {
        terminal::warn(format!("warning: {line}"));
    }
}

fn of(chosen: &Chosen, outcome: &Outcome) -> Vec<String> {
    let mut lines = chosen.resolved.warnings();
    for (flow, spec) in chosen.resolved.network.flows.iter().enumerate() {
        let counters = &outcome.counters["flows"][flow];
        let [started, finished, aborted] =
            ["started", "finished", "aborted"].map(|key| counters[key].as_u64().unwrap_or_default());
        if spec.size.is_some() && finished < started {
            lines.push(format!(
                "flow {}: of {started} transfers, {aborted} were aborted and {} did not finish; completion times exclude them",
                spec.name,
                started.saturating_sub(finished + aborted),
            ));
        }
    }
    lines
}

fn tally(runs: &[Vec<String>]) -> Vec<String> {
    let mut counts: Vec<(&String, usize)> = Vec::new();
    for line in runs.iter().flatten() {
        match counts.iter_mut().find(|(other, _)| *other == line) {
            Some((_, count)) => *count += 1,
            None => counts.push((line, 1)),
        }
    }
    let within = |count| match runs.len() {
        1 => String::new(),
        all => format!(" (in {count} of {all} runs)"),
    };
    counts
        .into_iter()
        .map(|(line, count)| format!("{line}{}", within(count)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_several_runs_is_printed_once_with_their_number() {
        let [full, none] = ["full", "none"].map(str::to_owned);
        assert_eq!(tally(&[vec![full.clone()]]), ["full"]);
        let runs = [vec![full.clone(), none.clone()], vec![full], vec![]];
        assert_eq!(tally(&runs), ["full (in 2 of 3 runs)", "none (in 1 of 3 runs)"]);
    }
}
