//! What happens before time zero: routers get their phases and flow entries their paths and streams.

use std::collections::BinaryHeap;

use levelflow_laws::{FlowInfo, Protocol, RouterLaw};
use levelflow_transport::Limits;
use levelflow_units::Time;

use super::{Entry, RECEIVER, Router, SENDER, Sim};
use crate::counters::{EntryCounters, EntryWindow};
use crate::events::Target;
use crate::flow::LIMITS;
use levelflow_random::Stream;
use levelflow_scenario::{FlowSpec, Schedule};

impl<P: Protocol> Sim<P> {
    /// Each router's first interval ends at a random phase of it.
    pub(super) fn start_routers(&mut self) {
        for (i, link) in self.links.iter().enumerate() {
            let mut stream = Stream::new(self.seed, "phase", &self.specs[i].name);
            for (port, router) in link.ports.iter().enumerate() {
                let interval = router.law.interval(&router.params);
                let phase = 1 + (stream.unit() * interval.as_ps() as f64) as u64;
                let index = self.routers.len() as u32;
                self.routers.push(Router {
                    link: i as u32,
                    port: port as u32,
                    since: Time::ZERO,
                });
                if Time::from_ps(phase) <= self.end {
                    self.events.push(Time::from_ps(phase), Target::Interval(index));
                }
            }
            if let Some(interval) = link.queue_interval() {
                self.events.push(Time::ZERO + interval, Target::Queue(i as u32));
            }
            if let Some(at) = link.next_change().filter(|&at| at <= self.end) {
                self.events.push(at, Target::Change(i as u32));
            }
            if let Some(interval) = link.sizing_interval() {
                self.events.push(Time::ZERO + interval, Target::Buffer(i as u32));
            }
        }
    }

    pub(super) fn add_entry(&mut self, spec: FlowSpec<P>) {
        let hop = self.hops.len() as u32;
        let delays = spec.route.delays(&self.specs);
        self.hops.extend_from_slice(&spec.route.forward);
        self.hops.push(RECEIVER);
        self.hops.extend_from_slice(&spec.route.reverse);
        self.hops.push(SENDER);
        let sessions = Stream::new(self.seed, "session", &spec.name);
        let mut schedule = Schedule::new(&spec, self.seed);
        let first = schedule.next(&spec);
        let entry = Entry {
            info: FlowInfo {
                packet_size: spec.packet,
            },
            transport: P::transport(&spec.params),
            limits: Limits {
                control: spec.control.get() as u16,
                ..LIMITS
            },
            spec,
            hop,
            delays,
            schedule,
            batch: first.map_or(0, |arrival| arrival.flows),
            active: 0,
            free_flows: BinaryHeap::new(),
            free_sessions: Vec::new(),
            counters: EntryCounters::default(),
            window: EntryWindow::default(),
            sessions,
        };
        self.entries.push(entry);
        let index = self.entries.len() as u32 - 1;
        if let Some(first) = first {
            self.schedule(first.at, Target::Arrival(index));
        }
    }
}
