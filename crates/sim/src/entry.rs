//! Flow entries of a scenario: settings shared by the flows of an entry, and the state of the entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use levelflow_laws::{FlowInfo, Protocol, Transport};
use levelflow_random::Stream;
use levelflow_scenario::{FlowSpec, IdealPath, RoundTrip, Schedule};
use levelflow_transport::{Limits, Rules};
use levelflow_units::{Duration, Time};

use crate::counters::{EntryCounters, EntryWindow};
use crate::id::{FlowId, HopId, IdVec, PathId, SessionId};
use crate::packet::Label;

/// Limits of simulated hosts. Hosts handle events exactly when they are due, and do not limit the rate.
pub const LIMITS: Limits = Limits {
    max_rate: None,
    catch_up: Limits::VIRTUAL_TIME,
    control: 0,
    headers: 0,
    least: 0,
};

/// Settings of the flows of an entry. Several entries may share one copy.
#[derive(Debug)]
pub struct SharedRules<P: Protocol> {
    pub params: P::Params,
    pub transport: Transport,
    pub limits: Limits,
    /// ECN flags of data packets.
    pub flags: u8,
}

impl<P: Protocol> SharedRules<P> {
    pub fn new(spec: &FlowSpec<P>) -> Self {
        let transport = P::transport(&spec.params);
        Self {
            params: spec.params.clone(),
            limits: Limits {
                control: spec.control.get() as u16,
                headers: spec.headers.get() as u16,
                least: spec.headers.get() as u16 + 1,
                ..LIMITS
            },
            flags: Label::flags(&transport),
            transport,
        }
    }

    /// Returns the settings for the transport.
    #[inline]
    pub fn lend(&self) -> Rules<'_, P> {
        Rules {
            params: &self.params,
            transport: &self.transport,
            limits: &self.limits,
        }
    }
}

impl<P: Protocol> PartialEq for SharedRules<P> {
    /// Compares only parameters and sizes. All other fields are derived from the parameters.
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params && self.limits == other.limits
    }
}

/// State of a flow entry. The first fields are used for every packet and occupy few cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct FlowEntry<P: Protocol> {
    pub rules: Arc<SharedRules<P>>,
    pub window: EntryWindow,
    pub counters: EntryCounters,
    pub spec: FlowSpec<P>,
    pub info: FlowInfo,
    /// Number derived from the name of the entry. It distinguishes the entry's flows in queue disciplines.
    pub identity: u32,
    /// Position of each path of the entry in the table of hops.
    pub hops: IdVec<PathId, HopId>,
    /// Propagation delay of the forward links and of the reverse links, for each path.
    pub delays: IdVec<PathId, [Duration; 2]>,
    /// Data for ideal completion times, for each path. Empty if the flows have no size.
    pub ideal: IdVec<PathId, IdealPath>,
    /// Index of the entry's current routing plan.
    pub plan: usize,
    pub schedule: Schedule,
    /// Number of flows or sessions that start at the next arrival.
    pub batch: u32,
    /// Number of flows that have started, and neither completed nor stopped.
    pub active: u32,
    /// Slots of ended flows, which later flows reuse.
    pub free_flows: BinaryHeap<Reverse<FlowId>>,
    pub free_sessions: Vec<SessionId>,
    /// Random stream for the numbers of pages and objects, and for think times.
    pub sessions: Stream,
}

impl<P: Protocol> FlowEntry<P> {
    /// Counts delivered bytes that contain no new data: headers, control packets and duplicate data.
    #[inline]
    pub fn count_overhead(&mut self, bytes: u64) {
        self.counters.overhead_bytes += bytes;
        self.window.overhead_bytes += bytes;
    }

    /// Returns true if the flows of the entry have a size.
    pub fn has_transfers(&self) -> bool {
        self.spec.size.is_some()
    }

    /// Returns the path of a flow for a routing plan.
    pub fn path(&self, plan: usize, member: u32) -> PathId {
        let (_, paths) = &self.spec.routes.plans[plan];
        PathId(paths[member as usize % paths.len()])
    }

    /// Returns the first path of a flow that started at this time. At equal times, a flow starts before the routes
    /// change.
    pub fn first_path(&self, started: Time, member: u32) -> PathId {
        let plans = &self.spec.routes.plans;
        let later = plans.partition_point(|&(from, _)| from < started);
        self.path(later.saturating_sub(1), member)
    }

    /// Returns the ideal completion time of a transfer, s: the minimum over all paths that the flow may take. `hosts`
    /// contains the delays at the hosts.
    pub fn ideal_time(&self, member: u32, size: u64, hosts: &RoundTrip) -> f64 {
        let plans = 0..self.spec.routes.plans.len();
        let paths = plans.map(|plan| &self.ideal[self.path(plan, member)]);
        let times = paths.map(|path| path.time(size, &self.spec.framing(), hosts));
        times.fold(f64::INFINITY, f64::min)
    }

    /// Returns the time of the entry's next change of routes.
    pub fn next_plan(&self) -> Option<Time> {
        self.spec.routes.plans.get(self.plan + 1).map(|&(from, _)| from)
    }

    /// Returns the position of a flow's path in the table of hops.
    pub fn hop(&self, member: u32) -> HopId {
        self.hops[self.path(self.plan, member)]
    }
}
