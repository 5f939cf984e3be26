//! The flows of a run, all drawn before it begins: those of the simulator with the same seed.

use levelflow_laws::Any;
use levelflow_results::{Outcome, TransferRow};
use levelflow_scenario::{FlowSpec, IdealPath, RoundTrip, Schedule};
use levelflow_units::Time;

use levelflow_host::Error;

/// Most flows of an entry in a run.
const MOST: usize = 100_000;

/// A flow to come.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// When it starts.
    pub at: Time,
    /// Its transfer, which goes on; `None`: it has no end.
    pub transfer: Option<TransferRow>,
    /// When it stops sending, whatever is left.
    pub stop: Time,
}

impl Start {
    /// Bytes that it carries; `None`: no end.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.transfer.map(|transfer| transfer.bytes)
    }
}

/// A flow entry, and its path on an idle network.
#[derive(Debug)]
pub struct Source<'a> {
    /// Its number in the scenario.
    pub number: usize,
    /// The entry.
    pub spec: &'a FlowSpec<Any>,
    /// Its path.
    pub path: IdealPath,
    /// Base round trip, and how much of it lies at the hosts.
    pub hosts: RoundTrip,
}

impl Source<'_> {
    fn transfer(&self, member: usize, at: Time, bytes: u64) -> TransferRow {
        TransferRow {
            flow: self.number as u32,
            member: member as u32,
            start_s: at.as_secs_f64(),
            bytes,
            hops: self.path.hops(),
            rtt_s: self.hosts.total.as_secs_f64(),
            ideal_s: self.path.time(bytes, self.spec.packet, &self.hosts),
            fct_s: f64::NAN,
            slowdown: f64::NAN,
            retransmitted: 0,
            outcome: Outcome::Unfinished.code(),
        }
    }

    /// All flows of the entry that start before `end`, in order of time.
    ///
    /// # Errors
    /// When they are too many.
    pub fn starts(&self, seed: u64, end: Time) -> Result<Vec<Start>, Error> {
        let spec = self.spec;
        let mut schedule = Schedule::new(spec, seed);
        let mut all: Vec<Start> = Vec::new();
        while let Some(arrival) = schedule.next(spec).filter(|arrival| arrival.at < end) {
            if all.len() + arrival.flows as usize > MOST {
                let problem = format!("more than {MOST} arrivals, which the testbed does not take; shorten the run");
                return Err(Error::input(format!("flow {}: {problem}", spec.name)));
            }
            for _ in 0..arrival.flows {
                let flow = schedule.flow(spec, arrival.at);
                all.push(Start {
                    at: arrival.at,
                    transfer: flow.size.map(|bytes| self.transfer(all.len(), arrival.at, bytes)),
                    stop: flow.stop.unwrap_or(Time::NEVER),
                });
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
