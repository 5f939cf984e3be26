//! Overhead of the data plane, compared with the same work without Levelflow: `cargo run --release -p
//! levelflow-benches`.
//!
//! Absolute times differ between machines. On a busy machine, they also differ from minute to minute. Each part
//! therefore measures its cases in turn, round by round, and compares the cases of the same round. The first case of a
//! part is the reference for ratios.

mod buffer;
mod intervals;
mod kernel;
mod machine;
mod packets;
mod relay;

use std::time::{Duration, Instant};

use serde::Serialize;

use levelflow_host::Error;
pub use machine::Machine;

/// Size of the measurements.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Limit on the number of rounds per part.
    rounds: usize,
    /// Packets or intervals of a case in one round.
    packets: u32,
    /// Duration of a case that sends for a fixed time.
    span: Duration,
    /// Time after which a part starts no further round.
    budget: Duration,
}

impl Effort {
    /// Quick run for a first look, in less than half a minute.
    pub const QUICK: Self = Self {
        rounds: 3,
        packets: 10_000,
        span: Duration::from_millis(300),
        budget: Duration::from_secs(3),
    };
    /// Full run for published numbers, in about two minutes.
    pub const FULL: Self = Self {
        rounds: 9,
        packets: 60_000,
        span: Duration::from_millis(600),
        budget: Duration::from_secs(18),
    };
}

/// Measurement of a case in one round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// CPU time per unit of work, ns.
    ns: f64,
    /// Units of work per second.
    per_second: f64,
    /// Part of `ns` that the BPF program takes.
    program_ns: Option<f64>,
}

/// Results of a case. Each result is the median over the rounds.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Name of the part, such as `kernel`.
    pub part: &'static str,
    /// Name of the case, such as a law.
    pub case: String,
    /// Unit of work, such as a packet.
    pub unit: &'static str,
    /// CPU time per unit, ns.
    pub ns: f64,
    /// Units per second.
    pub per_second: f64,
    /// Time per unit in the BPF program, ns, as measured by the kernel.
    pub program_ns: Option<f64>,
    /// CPU time divided by the CPU time of the part's first case in the same round.
    pub ratio: f64,
    /// Smallest and largest ratio of CPU times over all rounds.
    pub ratios: (f64, f64),
    /// Units per second divided by the units per second of the part's first case in the same round.
    pub speed_ratio: f64,
    /// Number of rounds measured.
    pub rounds: usize,
}

/// Results of all parts.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Machine that ran the measurements.
    pub machine: Machine,
    /// Skipped parts, each with the reason.
    pub skipped: Vec<String>,
    /// One row per case.
    pub rows: Vec<Row>,
}

type Case<'a> = (String, Box<dyn FnMut() -> Result<Sample, Error> + 'a>);

/// Measures every part. Passes the name of each part to the callback before the part begins.
///
/// # Errors
/// When a part fails, except for `kernel` and `buffer`. If one of these two parts fails, it is skipped. Both need root.
/// The part `kernel` also needs the BPF program, which some builds do not include.
pub fn run(effort: Effort, mut report: impl FnMut(&str)) -> Result<Report, Error> {
    let mut machine = Machine::now();
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    report("packets through the kernel");
    match kernel::measure(effort) {
        Ok(measured) => rows.extend(measured),
        Err(error) => skipped.push(format!("kernel: {error}")),
    }
    report("buffers sized by abs");
    match buffer::measure(effort) {
        Ok(measured) => rows.extend(measured),
        Err(error) => skipped.push(format!("buffer: {error}")),
    }
    report("datagrams through the relay");
    rows.extend(relay::measure(effort)?);
    report("ends of intervals");
    rows.extend(intervals::measure(effort)?);
    machine.finish();
    Ok(Report { machine, skipped, rows })
}

/// Measures the cases in turn, round by round, until all rounds are complete or the budget is spent.
fn in_turn(
    part: &'static str,
    unit: &'static str,
    effort: Effort,
    mut cases: Vec<Case<'_>>,
) -> Result<Vec<Row>, Error> {
    let start = Instant::now();
    let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); cases.len()];
    for round in 0..effort.rounds {
        if round > 0 && start.elapsed() > effort.budget {
            break;
        }
        for ((_, measure), samples) in cases.iter_mut().zip(&mut samples) {
            samples.push(measure()?);
        }
    }
    let first = samples.first().cloned().unwrap_or_default();
    let rows = cases.into_iter().zip(&samples);
    Ok(rows
        .map(|((case, _), samples)| row(part, case, unit, samples, &first))
        .collect())
}

fn row(part: &'static str, case: String, unit: &'static str, samples: &[Sample], first: &[Sample]) -> Row {
    let of = |value: fn(&Sample) -> f64| samples.iter().map(value).collect::<Vec<_>>();
    let over = |value: fn(&Sample) -> f64| {
        let pairs = samples.iter().zip(first);
        pairs.map(|(own, first)| value(own) / value(first)).collect::<Vec<_>>()
    };
    let ratios = over(|s| s.ns);
    let program: Vec<f64> = samples.iter().filter_map(|s| s.program_ns).collect();
    Row {
        part,
        case,
        unit,
        ns: median(of(|s| s.ns)),
        per_second: median(of(|s| s.per_second)),
        program_ns: (!program.is_empty()).then(|| median(program)),
        ratios: (
            ratios.iter().copied().fold(f64::INFINITY, f64::min),
            ratios.iter().copied().fold(0.0, f64::max),
        ),
        ratio: median(ratios),
        speed_ratio: median(over(|s| s.per_second)),
        rounds: samples.len(),
    }
}

/// Returns the median. At least one value is required.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    f64::midpoint(values[(count - 1) / 2], values[count / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_compared_within_their_round() {
        // The machine becomes slower from round to round. The second case always takes three times as long as the
        // first.
        let slow = std::cell::Cell::new(1.0);
        let sample = |ns: f64| Sample {
            ns,
            per_second: 1e9 / ns,
            program_ns: None,
        };
        let one = || Ok(sample(slow.get()));
        let three = || {
            let sample = sample(3.0 * slow.get());
            slow.set(slow.get() * 2.0);
            Ok(sample)
        };
        let cases: Vec<Case<'_>> = vec![("one".into(), Box::new(one)), ("three".into(), Box::new(three))];
        let rows = in_turn("test", "step", Effort::QUICK, cases).unwrap();
        assert_eq!((rows[0].ns, rows[1].ns), (2.0, 6.0));
        assert_eq!((rows[1].ratio, rows[1].ratios, rows[1].rounds), (3.0, (3.0, 3.0), 3));
        assert!((rows[1].speed_ratio - 1.0 / 3.0).abs() < 1e-12);
    }
}
