//! The flows of a run, all drawn before it begins: those of the simulator with the same seed.

use levelflow_laws::Any;
use levelflow_scenario::{FlowSpec, Schedule};
use levelflow_units::Time;

use levelflow_host::Error;

/// Most flows of an entry in a run.
const MOST: usize = 100_000;

/// A flow to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// When it starts.
    pub at: Time,
    /// Bytes that it carries; `None`: no end.
    pub size: Option<u64>,
    /// When it stops sending, whatever is left.
    pub stop: Time,
}

/// All flows of an entry that start before `end`, in order of time.
///
/// # Errors
/// When they are too many.
pub fn starts(spec: &FlowSpec<Any>, seed: u64, end: Time) -> Result<Vec<Start>, Error> {
    let mut schedule = Schedule::new(spec, seed);
    let mut all = Vec::new();
    while let Some(arrival) = schedule.next(spec).filter(|arrival| arrival.at < end) {
        if all.len() + arrival.flows as usize > MOST {
            let problem = format!("more than {MOST} arrivals, which the testbed does not take; shorten the run");
            return Err(Error::input(format!("flow {}: {problem}", spec.name)));
        }
        for _ in 0..arrival.flows {
            let flow = schedule.flow(spec, arrival.at);
            all.push(Start {
                at: arrival.at,
                size: flow.size,
                stop: flow.stop.unwrap_or(Time::NEVER),
            });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
