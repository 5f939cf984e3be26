//! Recorded links: capacity, delay, jitter and loss over time from a file. They are converted to [changes](Change).

use levelflow_units::{Duration, Rate};
use serde_json::{Value, json};

use crate::changes::{Change, MOST_CHANGES, Trace};
use crate::context::link_place;
use crate::error::{Fallible, Place, Problem};
use crate::format::Link;
use crate::loss::LossChoice;
use crate::quantity::Share;

/// Bytes delivered per line of a Mahimahi trace.
const MAHIMAHI_PACKET_BYTES: f64 = 1504.0;
/// Averaging interval for the capacity of a Mahimahi trace.
const DEFAULT_TRACE_STEP: Duration = Duration::from_ms(100);
/// Latest time in a Mahimahi trace: 100 days, in milliseconds.
const LAST_MS: u64 = 8_640_000_000;
const COLUMNS: [&str; 5] = ["t_s", "capacity_bps", "delay_s", "jitter_s", "loss"];

/// Contents of a trace.
#[derive(Debug)]
pub enum Recording {
    /// Time series, in order of time.
    Series(Vec<Change>),
    /// Mahimahi trace, which repeats forever.
    Opportunities(Opportunities),
}

/// Delivery opportunities: times in milliseconds at which a packet of 1504 bytes may pass. The sequence repeats.
#[derive(Debug)]
pub struct Opportunities {
    times: Vec<u64>,
    period: Duration,
}

/// Replaces each trace file that a link names by the changes in this file.
///
/// # Errors
/// Returns an error if `read` fails for a path, or if a file is not a trace. The error names the link and the line.
pub fn read_traces(raw: &mut Value, read: impl Fn(&str) -> Result<String, String>) -> Fallible<()> {
    let duration = raw.get("duration").and_then(Value::as_str);
    let duration = duration.and_then(|text| text.parse().ok()).unwrap_or(Duration::ZERO);
    let links = raw.get_mut("link").and_then(Value::as_array_mut);
    for (i, link) in links.into_iter().flatten().enumerate() {
        let place = serde_json::from_value::<Link>(link.clone())
            .map_or_else(|_| Place::from(format!("link {}", i + 1)), |link| link_place(i, &link));
        for (pointer, key) in [("/changes", "changes"), ("/reverse/changes", "reverse, changes")] {
            let Some(changes) = link.pointer_mut(pointer).filter(|changes| changes.is_object()) else {
                continue;
            };
            let wrong = |problem| place.key(key).error(Problem::File(problem));
            let trace: Trace = serde_json::from_value(changes.clone()).map_err(|e| wrong(e.to_string()))?;
            let found = read_trace(&trace, &read).and_then(|recording| recording.until(duration));
            *changes = json!(found.map_err(wrong)?);
        }
    }
    Ok(())
}

/// Reads a trace.
///
/// # Errors
/// Returns an error if `read` fails, or if the file is not a trace. The error names the path and the line.
pub fn read_trace(trace: &Trace, read: impl Fn(&str) -> Result<String, String>) -> Result<Recording, String> {
    let (path, found) = match trace {
        Trace::Csv(path) => (path, read(path).and_then(|text| series(&text)).map(Recording::Series)),
        Trace::Mahimahi(path) => (
            path,
            read(path)
                .and_then(|text| opportunities(&text))
                .map(Recording::Opportunities),
        ),
    };
    found.map_err(|problem| format!("{path}: {problem}"))
}

impl Recording {
    /// Returns the changes of a time series. For a Mahimahi trace, returns the changes until the end of the run.
    fn until(self, duration: Duration) -> Result<Vec<Change>, String> {
        let opportunities = match self {
            Self::Series(changes) => return Ok(changes),
            Self::Opportunities(opportunities) => opportunities,
        };
        check_length(duration.as_ps().div_ceil(DEFAULT_TRACE_STEP.as_ps()) as usize)?;
        let mut changes: Vec<Change> = opportunities
            .changes()
            .take_while(|change| change.at < duration)
            .collect();
        changes.dedup_by(|next, last| next.capacity == last.capacity);
        Ok(changes)
    }
}

impl Opportunities {
    /// Returns an endless sequence of changes, one per 100 ms. The capacity of each change is the mean over the
    /// following 100 ms.
    pub fn changes(self) -> impl Iterator<Item = Change> {
        (0..).map(move |i| {
            let (from, to) = (DEFAULT_TRACE_STEP * i, DEFAULT_TRACE_STEP * (i + 1));
            let count = self.passed(to) - self.passed(from);
            Change {
                capacity: Rate::new(count as f64 * MAHIMAHI_PACKET_BYTES * 8.0 / DEFAULT_TRACE_STEP.as_secs_f64()),
                ..Change::nothing(from)
            }
        })
    }

    /// Returns the number of opportunities before the time `until`, over all repetitions of the trace. The last
    /// opportunity of a repetition occurs when the next repetition begins.
    fn passed(&self, until: Duration) -> u64 {
        let over = until.as_ps().saturating_sub(1) / self.period.as_ps();
        let within = until - self.period * over;
        let passed = self.times.partition_point(|&time| Duration::from_ms(time) < within);
        over * self.times.len() as u64 + passed as u64
    }
}

/// Returns the lines that are neither empty nor comments, and their line numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let bare = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    (1..).zip(bare).filter(|(_, line)| !line.is_empty())
}

/// Parses a time series with the columns `t_s` and some of `capacity_bps`, `delay_s`, `jitter_s` and `loss`.
fn series(text: &str) -> Result<Vec<Change>, String> {
    let mut lines = lines(text);
    let (_, head) = lines
        .next()
        .ok_or("is empty; needs a line of column names, t_s first")?;
    let columns: Vec<&str> = head.split(',').map(str::trim).collect();
    let known = (1..)
        .zip(&columns)
        .all(|(next, column)| COLUMNS.contains(column) && !columns[next..].contains(column));
    if columns.first() != Some(&COLUMNS[0]) || columns.len() < 2 || !known {
        return Err(format!(
            "its first line does not name the columns; allowed: t_s first, then some of {}, each once",
            COLUMNS[1..].join(", ")
        ));
    }
    let mut changes: Vec<Change> = Vec::new();
    for (number, line) in lines {
        let change = row(&columns, line).map_err(|problem| format!("line {number}: {problem}"))?;
        if changes.last().is_some_and(|last| last.at >= change.at) {
            return Err(format!(
                "line {number}: {} s is not after the time in the previous line",
                change.at.as_secs_f64()
            ));
        }
        changes.push(change);
        check_length(changes.len())?;
    }
    if changes.is_empty() {
        return Err("has a line of column names, but no rows".to_owned());
    }
    Ok(changes)
}

fn row(columns: &[&str], line: &str) -> Result<Change, String> {
    let mut change = Change::nothing(Duration::ZERO);
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(format!("{} values for {} columns", cells.len(), columns.len()));
    }
    for (&column, &cell) in columns.iter().zip(&cells) {
        let number: f64 = cell.parse().map_err(|_| format!("{column} is not a number"))?;
        let wrong = || format!("{column} is {cell}; needs a finite number of at least 0");
        match column {
            "t_s" => change.at = Duration::from_secs_f64(number).ok_or_else(wrong)?,
            "capacity_bps" => change.capacity = Some(Rate::new(number).ok_or_else(wrong)?),
            "delay_s" => change.delay = Some(Duration::from_secs_f64(number).ok_or_else(wrong)?),
            "jitter_s" => change.jitter = Some(Duration::from_secs_f64(number).ok_or_else(wrong)?),
            _ => change.loss = Some(LossChoice::Share(Share(number))),
        }
    }
    change.check().map_err(|(key, problem)| format!("{key}: {problem}"))?;
    Ok(change)
}

/// Parses a Mahimahi trace. Each line is a time in milliseconds at which a packet may pass.
fn opportunities(text: &str) -> Result<Opportunities, String> {
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in lines(text) {
        let time = line
            .parse()
            .map_err(|_| format!("line {number}: needs a whole number of milliseconds"))?;
        if time > LAST_MS {
            return Err(format!(
                "line {number}: {time} ms; allowed: up to {LAST_MS} ms after the start of the trace"
            ));
        }
        if times.last().is_some_and(|&last| last > time) {
            return Err(format!(
                "line {number}: {time} ms is before the time in the previous line"
            ));
        }
        times.push(time);
    }
    let period = times.last().copied().filter(|&last| last > 0);
    let period = Duration::from_ms(period.ok_or("needs lines of milliseconds, the last above 0")?);
    Ok(Opportunities { times, period })
}

fn check_length(changes: usize) -> Result<(), String> {
    if changes > MOST_CHANGES {
        return Err(format!("more than {MOST_CHANGES} changes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(trace: Value, text: &str) -> Result<Value, String> {
        let mut raw = json!({ "duration": "3 s", "link": [{ "from": "A", "to": "B", "capacity": "1 Mb/s", "delay": "1 ms",
                              "changes": trace }] });
        let file = |path: &str| {
            if path == "f" {
                Ok(text.to_owned())
            } else {
                Err("no such file".to_owned())
            }
        };
        read_traces(&mut raw, file).map_err(|e| e.to_string())?;
        Ok(raw["link"][0]["changes"].take())
    }

    #[test]
    fn a_series_becomes_one_change_a_line() {
        let found = read(
            json!({ "csv": "f" }),
            "# by hand\nt_s,capacity_bps,loss\n0, 1e6, 0\n1.5,2e6,0.5\n",
        )
        .unwrap();
        let first = json!({ "at": "0 s", "capacity": "1 Mb/s", "loss": 0.0 });
        let second = json!({ "at": "1.5 s", "capacity": "2 Mb/s", "loss": 0.5 });
        assert_eq!(found, json!([first, second]));
    }

    #[test]
    fn a_byte_order_mark_is_not_a_column() {
        assert!(read(json!({ "csv": "f" }), "\u{feff}t_s,loss\r\n0,0\r\n").is_ok());
    }

    #[test]
    fn what_a_scenario_lacks_stays_away() {
        let mut raw = json!({ "name": "x" });
        read_traces(&mut raw, |_| Err("no such file".to_owned())).unwrap();
        assert_eq!(raw, json!({ "name": "x" }));
    }

    #[test]
    fn mistakes_name_link_file_and_line() {
        for (kind, text, words) in [
            ("csv", "", "is empty"),
            ("csv", "capacity_bps,t_s\n", "t_s first"),
            ("csv", "t_s,speed\n", "delay_s, jitter_s, loss"),
            ("csv", "t_s,loss\n", "no rows"),
            ("csv", "t_s,loss,loss\n1,0,0\n", "each once"),
            ("csv", "t_s,loss\n1,nan\n", "line 2: loss: NaN is out of range"),
            (
                "csv",
                "t_s,capacity_bps\n1,0.5\n",
                "line 2: capacity: 0.5 b/s is out of range",
            ),
            ("csv", "t_s,delay_s\n1,1e5\n", "line 2: delay: 100000 s is out of range"),
            ("csv", "t_s,loss\n1\n", "line 2: 1 values for 2 columns"),
            ("csv", "t_s,loss\n1,x\n", "line 2: loss is not a number"),
            ("csv", "t_s,capacity_bps\n-1,1\n", "line 2: t_s is -1"),
            ("csv", "t_s,capacity_bps\n1,inf\n", "line 2: capacity_bps is inf"),
            ("csv", "t_s,loss\n1,0\n\n1,0\n", "line 4: 1 s is not after"),
            ("mahimahi", "", "needs lines of milliseconds"),
            ("mahimahi", "0\n", "the last above 0"),
            ("mahimahi", "3\n2\n", "line 2: 2 ms is before"),
            ("mahimahi", "1700000000000\n", "line 1: 1700000000000 ms; allowed"),
            ("mahimahi", "1.5\n", "line 1: needs a whole number"),
        ] {
            let problem = read(json!({ kind: "f" }), text).unwrap_err();
            let place = "link 1 (A->B), changes: f: ";
            assert!(
                problem.starts_with(place) && problem.contains(words),
                "{text:?}: {problem}"
            );
        }
        assert!(read(json!({ "csv": "g" }), "").unwrap_err().contains("g: no such file"));
    }

    proptest! {
        /// Verifies that every opportunity delivers 1504 bytes, in every repetition of the trace.
        #[test]
        fn opportunities_are_conserved(gaps in prop::collection::vec(0_u64..120, 1..200)) {
            let times: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            prop_assume!(times[times.len() - 1] > 0);
            let text = times.iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
            let changes: Vec<Change> = serde_json::from_value(read(json!({ "mahimahi": "f" }), &text).unwrap()).unwrap();
            let ends = changes.iter().skip(1).map(|change| change.at).chain([Duration::from_ms(3000)]);
            let bits: f64 = changes.iter().zip(ends)
                .map(|(change, end)| change.capacity.unwrap().bps() * (end - change.at).as_secs_f64())
                .sum();
            let period = times[times.len() - 1];
            let passed = (0..3000).take_while(|round| round * period < 3000)
                .map(|round| times.iter().filter(|&&time| round * period + time < 3000).count())
                .sum::<usize>();
            prop_assert!((bits / 12032.0 - passed as f64).abs() < 1e-6, "{} of {passed}", bits / 12032.0);
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", kind in prop::sample::select(vec!["csv", "mahimahi"])) {
            let _ = read(json!({ kind: "f" }), &text);
        }
    }
}
