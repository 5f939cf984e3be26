//! What the data plane costs, beside the same work without it: `cargo run --release -p levelflow-benches`.
//!
//! Times of one machine say little about another, and on a busy machine little about the next minute. So each part measures its
//! cases in turn, round by round, and compares within a round; the first case of a part is what the others are divided by.

mod buffer;
mod intervals;
mod kernel;
mod machine;
mod packets;
mod quic;
mod relay;

use std::time::{Duration, Instant};

use serde::Serialize;

use levelflow_host::Error;
pub use machine::Machine;

/// How long and how often to measure.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Rounds of each part, unless its time is up.
    rounds: usize,
    /// Packets or intervals of a case in a round.
    packets: u32,
    /// Size of the file that is copied.
    bytes: usize,
    /// How long a case lasts that is measured by time.
    span: Duration,
    /// No round of a part begins after this.
    budget: Duration,
}

impl Effort {
    /// For a first look: less than half a minute.
    pub const QUICK: Self = Self {
        rounds: 3,
        packets: 10_000,
        bytes: 8 << 20,
        span: Duration::from_millis(300),
        budget: Duration::from_secs(3),
    };
    /// For numbers that are shown around: about two minutes.
    pub const FULL: Self = Self {
        rounds: 9,
        packets: 60_000,
        bytes: 64 << 20,
        span: Duration::from_millis(600),
        budget: Duration::from_secs(18),
    };
}

/// What a case took in a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Processor time of one unit of work, ns.
    ns: f64,
    /// Units of work per second.
    per_second: f64,
    /// Of it, ns in the kernel's program.
    program_ns: Option<f64>,
}

/// Medians of a case.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What is done.
    pub part: &'static str,
    /// How it is done.
    pub case: String,
    /// What is counted.
    pub unit: &'static str,
    /// Processor time of one, ns.
    pub ns: f64,
    /// How many are done in a second.
    pub per_second: f64,
    /// Time in the kernel's program, ns, as the kernel measures it.
    pub program_ns: Option<f64>,
    /// Processor time over that of the part's first case in the same round.
    pub ratio: f64,
    /// The least and the largest such ratio.
    pub ratios: (f64, f64),
    /// How many per second, over the same of the part's first case.
    pub speed_ratio: f64,
    /// Rounds that were measured.
    pub rounds: usize,
}

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// On what.
    pub machine: Machine,
    /// Parts that were left out, with the reason.
    pub skipped: Vec<String>,
    /// One per case.
    pub rows: Vec<Row>,
}

type Case<'a> = (String, Box<dyn FnMut() -> Result<Sample, Error> + 'a>);

/// Measures every part. `tell` hears of each before it begins.
///
/// # Errors
/// When a part fails. Those about the kernel, which take privileges and, one of them, a program that not every build has, are skipped
/// then.
pub fn run(effort: Effort, mut tell: impl FnMut(&str)) -> Result<Report, Error> {
    let mut machine = Machine::now();
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    tell("packets through the kernel");
    match kernel::measure(effort) {
        Ok(measured) => rows.extend(measured),
        Err(error) => skipped.push(format!("kernel: {error}")),
    }
    tell("buffers that are sized");
    match buffer::measure(effort) {
        Ok(measured) => rows.extend(measured),
        Err(error) => skipped.push(format!("buffer: {error}")),
    }
    tell("datagrams through the relay");
    rows.extend(relay::measure(effort)?);
    tell("ends of intervals");
    rows.extend(intervals::measure(effort)?);
    tell("files over QUIC");
    rows.extend(quic::measure(effort)?);
    machine.finish();
    Ok(Report { machine, skipped, rows })
}

/// Measures the cases in turn, round by round, until there are enough rounds or the time is up.
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

/// Of at least one value.
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
        // The machine gets slower from round to round; the second case always takes three times as long.
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
