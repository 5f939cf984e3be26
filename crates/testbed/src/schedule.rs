//! Flows of a run, drawn before the run begins. The simulator draws the same flows from the same seed.

use levelflow_laws::Any;
use levelflow_results::{Outcome, TransferRow};
use levelflow_scenario::{FlowSpec, IdealPath, RoundTrip, Schedule};
use levelflow_units::Time;
use levelflow_wire::framing::Framing;

use levelflow_host::Error;

/// Limit on the number of flows of a flow entry in a run.
const MAX_FLOWS: usize = 100_000;

/// Start of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Start time.
    pub at: Time,
    /// Row of the transfer table, before the transfer ends. `None` for a flow without a size.
    pub transfer: Option<TransferRow>,
    /// Time at which the flow stops sending, even if it has unsent data.
    pub stop: Time,
}

impl Start {
    /// Returns the size of the flow's data, bytes; `None` if it is unlimited.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.transfer.map(|transfer| transfer.bytes)
    }
}

/// Flow entry, and the path of its flows on an idle network.
#[derive(Debug)]
pub struct Source<'a> {
    /// Number of the flow entry in the scenario.
    pub number: usize,
    /// Specification of the flow entry.
    pub spec: &'a FlowSpec<Any>,
    /// Packet sizes of the flows.
    pub framing: Framing,
    /// Path of the flows on an idle network.
    pub path: IdealPath,
    /// Base round-trip time, divided between links and hosts.
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
            ideal_s: self.path.time(bytes, &self.framing, &self.hosts),
            fct_s: f64::NAN,
            slowdown: f64::NAN,
            retransmitted: 0,
            outcome: Outcome::Unfinished.code(),
        }
    }

    /// Returns all flows of the entry that start before `end`, in order of start time.
    ///
    /// # Errors
    /// When there are too many flows.
    pub fn starts(&self, seed: u64, end: Time) -> Result<Vec<Start>, Error> {
        let spec = self.spec;
        let mut schedule = Schedule::new(spec, seed);
        let mut all: Vec<Start> = Vec::new();
        while let Some(arrival) = schedule.next(spec).filter(|arrival| arrival.at < end) {
            if all.len() + arrival.flows as usize > MAX_FLOWS {
                let problem = format!("more than {MAX_FLOWS} arrivals, the maximum of the testbed; shorten the run");
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
