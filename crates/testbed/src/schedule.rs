//! When flows of an entry start, what they carry and when they stop: drawn as the simulator draws them.

use levelflow_laws::Any;
use levelflow_random::Stream;
use levelflow_scenario::{Arrivals, FlowSpec};
use levelflow_units::{Duration, Time};

use levelflow_host::Error;

/// Arrivals of an entry in a run.
const MOST: usize = 100_000;
const NEVER: Time = Time::from_ps(u64::MAX);

/// A flow to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// When it starts.
    pub at: Time,
    /// Bytes that it carries; `None`: no end.
    pub size: Option<u64>,
    /// When it stops sending, whatever is left.
    pub stop: Time,
}

/// All flows of an entry that start before `end`, in order of time: those of the simulator with the same seed.
///
/// # Errors
/// When they are too many.
pub fn launches(spec: &FlowSpec<Any>, seed: u64, end: Time) -> Result<Vec<Launch>, Error> {
    let stream = |purpose| Stream::new(seed, purpose, &spec.name);
    let (mut sizes, mut lives) = (stream("size"), stream("lifetime"));
    // A flow that lasts longer than the run is still there when it ends.
    let stop = spec.stop.unwrap_or(NEVER);
    let mut all = Vec::new();
    for at in starts(spec, &mut stream("start"), &mut stream("arrival"), end.min(stop)) {
        if all.len() == MOST {
            let problem = format!("more than {MOST} arrivals, which the testbed does not take; shorten the run");
            return Err(Error::input(format!("flow {}: {problem}", spec.name)));
        }
        let unit = spec.size_unit.get();
        let whole = |size: f64| ((size / unit as f64).ceil().max(1.0) as u64).saturating_mul(unit);
        let size = spec.size.as_ref().map(|size| whole(size.sample(&mut sizes)));
        let life = spec.lifetime.as_ref().map(|life| life.sample(&mut lives));
        let dies = life
            .and_then(Duration::from_secs_f64)
            .and_then(|life| at.checked_add(life));
        all.push(Launch {
            at,
            size,
            stop: dies.map_or(stop, |dies| dies.min(stop)),
        });
    }
    Ok(all)
}

fn starts(spec: &FlowSpec<Any>, starting: &mut Stream, arriving: &mut Stream, end: Time) -> Vec<Time> {
    let time = |s: f64| Duration::from_secs_f64(s).and_then(|d| Time::ZERO.checked_add(d));
    let mut all: Vec<Time> = match &spec.arrivals {
        Arrivals::Once { count } => (0..*count).filter_map(|_| time(spec.start.sample(starting))).collect(),
        Arrivals::Times(times) => times.iter().copied().filter_map(time).collect(),
        Arrivals::Process {
            at_start,
            interval,
            batch,
            limit,
        } => {
            let mut next = time(spec.start.sample(starting));
            let mut gap = |from: Time| {
                let gap = Duration::from_secs_f64(interval.sample(arriving));
                gap.and_then(|gap| from.checked_add(gap))
            };
            if !at_start {
                next = next.and_then(&mut gap);
            }
            let mut all = Vec::new();
            let mut left = limit.unwrap_or(u64::MAX);
            while let Some(at) = next.filter(|at| *at < end && left > 0 && all.len() <= MOST) {
                all.extend((0..*batch).map(|_| at));
                left -= 1;
                next = gap(at);
            }
            all
        }
    };
    all.sort();
    all.retain(|at| *at < end);
    all
}

#[cfg(test)]
mod tests;
