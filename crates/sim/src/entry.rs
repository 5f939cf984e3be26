//! A flow entry at work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use levelflow_laws::{FlowInfo, Protocol, Transport};
use levelflow_random::Stream;
use levelflow_scenario::{FlowSpec, IdealPath, RoundTrip, Schedule};
use levelflow_transport::{Limits, Rules};
use levelflow_units::{Duration, Time};

use crate::counters::{EntryCounters, EntryWindow};
use crate::packet::Label;

/// Events come when they are due, and the law alone sets the rate.
pub const LIMITS: Limits = Limits {
    max_rate: None,
    catch_up: Limits::VIRTUAL_TIME,
    control: 0,
    least: 0,
};

/// What the flows of an entry have in common, and often with those of other entries.
#[derive(Debug)]
pub struct SharedRules<P: Protocol> {
    pub params: P::Params,
    pub transport: Transport,
    pub limits: Limits,
    /// What their data say of marks.
    pub flags: u8,
}

impl<P: Protocol> SharedRules<P> {
    pub fn new(spec: &FlowSpec<P>) -> Self {
        let transport = P::transport(&spec.params);
        Self {
            params: spec.params.clone(),
            limits: Limits {
                control: spec.control.get() as u16,
                ..LIMITS
            },
            flags: Label::flags(&transport),
            transport,
        }
    }

    /// What the transport needs to know.
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
    /// The rest follows from these.
    fn eq(&self, other: &Self) -> bool {
        self.params == other.params && self.limits.control == other.limits.control
    }
}

/// A flow entry at work. What every packet needs comes first, on as few cache lines as possible.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Entry<P: Protocol> {
    pub rules: Arc<SharedRules<P>>,
    pub window: EntryWindow,
    pub counters: EntryCounters,
    pub spec: FlowSpec<P>,
    pub info: FlowInfo,
    /// A number made of its name.
    pub identity: u32,
    /// Where each of its paths begins in the table of hops.
    pub hops: Vec<u32>,
    /// Propagation delay of the links there and back, by path.
    pub delays: Vec<[Duration; 2]>,
    /// Ideal times over each of its paths; none unless its flows are transfers.
    pub ideal: Vec<IdealPath>,
    /// The plan of its routes in force.
    pub plan: usize,
    pub schedule: Schedule,
    /// Flows, or sessions, of the next arrival.
    pub batch: u32,
    /// Flows begun whose receivers do not have everything.
    pub active: u32,
    /// Slots of flows that are over.
    pub free_flows: BinaryHeap<Reverse<u32>>,
    pub free_sessions: Vec<u32>,
    /// Pages, objects and think times.
    pub sessions: Stream,
}

impl<P: Protocol> Entry<P> {
    /// Counts delivered bytes that are no new data.
    #[inline]
    pub fn count_repeated(&mut self, bytes: u64) {
        self.counters.repeated_bytes += bytes;
        self.window.repeated_bytes += bytes;
    }

    /// Returns true if its flows have a size.
    pub fn has_transfers(&self) -> bool {
        self.spec.size.is_some()
    }

    /// The path that a flow takes under a plan of its routes.
    pub fn path(&self, plan: usize, member: u32) -> usize {
        let (_, paths) = &self.spec.routes.plans[plan];
        paths[member as usize % paths.len()] as usize
    }

    /// The path that a flow which started at this time took first: flows start before routes change at the same time.
    pub fn first_path(&self, started: Time, member: u32) -> usize {
        let plans = &self.spec.routes.plans;
        let later = plans.partition_point(|&(from, _)| from < started);
        self.path(later.saturating_sub(1), member)
    }

    /// Ideal time of a transfer, s: the least over the paths that it may take. Its hosts delay packets by `hosts`.
    pub fn ideal_time(&self, member: u32, size: u64, hosts: &RoundTrip) -> f64 {
        let plans = 0..self.spec.routes.plans.len();
        let paths = plans.map(|plan| &self.ideal[self.path(plan, member)]);
        let times = paths.map(|path| path.time(size, self.spec.packet, hosts));
        times.fold(f64::INFINITY, f64::min)
    }

    /// When its routes change next.
    pub fn next_plan(&self) -> Option<Time> {
        self.spec.routes.plans.get(self.plan + 1).map(|&(from, _)| from)
    }

    /// Where the path of a flow begins in the table of hops.
    pub fn hop(&self, member: u32) -> u32 {
        self.hops[self.path(self.plan, member)]
    }
}
