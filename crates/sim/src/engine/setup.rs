//! Setup before time zero: first intervals of routers, paths of flow entries and their random streams.

use std::collections::BinaryHeap;

use levelflow_laws::{FlowInfo, Opening, Protocol, RouterLaw};
use levelflow_units::Time;

use super::{RECEIVER, Router, SENDER, Sim};
use crate::counters::{EntryCounters, EntryWindow};
use crate::entry::{FlowEntry, SharedRules};
use crate::events::Target;
use crate::id::{HopId, Id, IdVec, LinkId};
use crate::interner::Interner;
use levelflow_random::{Stream, identity};
use levelflow_scenario::{FlowSpec, IdealPath, Schedule};

impl<P: Protocol> Sim<P> {
    /// Schedules the end of the first interval of each router. The length of the first interval is random.
    pub(super) fn start_routers(&mut self) {
        for (i, link) in self.links.pairs() {
            let mut stream = Stream::new(self.seed, "phase", &self.specs[i].name);
            for (port, router) in link.ports.iter().enumerate() {
                let interval = router.law.interval(&router.params);
                let phase = 1 + (stream.unit() * interval.as_ps() as f64) as u64;
                let index = self.routers.push(Router {
                    link: i,
                    port,
                    since: Time::ZERO,
                });
                if Time::from_ps(phase) <= self.end && self.has_queue(i) {
                    self.events.push(Time::from_ps(phase), Target::Interval(index));
                }
            }
            if !self.has_queue(i) {
                continue;
            }
            if let Some(interval) = link.queue_interval() {
                self.events.push(Time::ZERO + interval, Target::Queue(i));
            }
            if let Some(at) = link.next_change().filter(|&at| at <= self.end) {
                self.events.push(at, Target::Change(i));
            }
            if let Some(interval) = link.sizing_interval() {
                self.events.push(Time::ZERO + interval, Target::Buffer(i));
            }
        }
    }

    pub(super) fn add_entry(&mut self, mut spec: FlowSpec<P>, rules: &mut Interner<SharedRules<P>>) {
        spec.application = spec.application.map(|application| application.clocked(spec.slow));
        let mut hops = IdVec::default();
        for path in &spec.routes.paths {
            hops.push(HopId::of(self.hops.len()));
            self.hops.extend(path.forward.iter().copied().map(LinkId));
            self.hops.push(RECEIVER);
            self.hops.extend(path.reverse.iter().copied().map(LinkId));
            self.hops.push(SENDER);
        }
        let sessions = Stream::new(self.seed, "session", &spec.name);
        let mut schedule = Schedule::new(&spec, self.seed);
        let first = schedule.next(&spec);
        let rules = rules.of(SharedRules::new(&spec));
        let handshake = rules.transport.opening == Opening::Handshake;
        let ideal = |path| IdealPath::new(&self.specs, path, spec.control, handshake);
        let paths = spec.routes.paths.iter().filter(|_| spec.size.is_some());
        let entry = FlowEntry {
            ideal: paths.map(ideal).collect(),
            rules,
            info: FlowInfo::of(spec.packet),
            identity: identity(&spec.name) as u32,
            hops,
            delays: spec.routes.paths.iter().map(|path| path.delays(&self.specs)).collect(),
            spec,
            plan: 0,
            schedule,
            batch: first.map_or(0, |arrival| arrival.flows),
            active: 0,
            free_flows: BinaryHeap::new(),
            free_sessions: Vec::new(),
            counters: EntryCounters::default(),
            window: EntryWindow::default(),
            sessions,
        };
        let index = self.entries.push(entry);
        if let Some(first) = first {
            self.schedule(first.at, Target::Arrival(index));
        }
    }

    /// Schedules the next change of routes.
    pub(super) fn await_routes(&mut self) {
        let later = self.entries.iter().filter_map(FlowEntry::next_plan);
        if let Some(at) = later.min() {
            self.schedule(at, Target::Routes);
        }
    }

    /// Changes routes. Packets sent from now on take the new routes. Packets in flight keep their old routes.
    pub(super) fn change_routes(&mut self) {
        self.events.pop(Target::Routes);
        for entry in self.entries.iter_mut() {
            if entry.next_plan().is_some_and(|at| at <= self.now) {
                entry.plan += 1;
            }
        }
        for flow in self.flows.iter_mut() {
            flow.hop = self.entries[flow.entry].hop(flow.member);
        }
        self.await_routes();
    }
}
