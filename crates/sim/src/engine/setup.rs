//! What happens before time zero: routers get their phases and flow entries their paths and streams.

use levelflow_laws::{FlowInfo, Protocol, RouterLaw};
use levelflow_units::{Duration, Time};

use super::{Entry, RECEIVER, Router, SENDER, Sim, Streams};
use crate::counters::{EntryCounters, EntryWindow};
use crate::events::Target;
use levelflow_random::Stream;
use levelflow_scenario::Arrivals;
use levelflow_scenario::FlowSpec;

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
            if let Some(interval) = link.sizing_interval() {
                self.events.push(Time::ZERO + interval, Target::Buffer(i as u32));
            }
        }
    }

    pub(super) fn add_entry(&mut self, spec: FlowSpec<P>) {
        let hop = self.hops.len() as u32;
        let delay = |path: &[u32]| {
            path.iter()
                .fold(Duration::ZERO, |sum, &l| sum + self.specs[l as usize].delay)
        };
        let (forward_delay, reverse_delay) = (delay(&spec.route.forward), delay(&spec.route.reverse));
        self.hops.extend_from_slice(&spec.route.forward);
        self.hops.push(RECEIVER);
        self.hops.extend_from_slice(&spec.route.reverse);
        self.hops.push(SENDER);
        let stream = |purpose| Stream::new(self.seed, purpose, &spec.name);
        let streams = Streams {
            arrival: stream("arrival"),
            size: stream("size"),
            rtt: stream("rtt"),
            lifetime: stream("lifetime"),
            session: stream("session"),
        };
        let mut starting = stream("start");
        let mut starts = match &spec.arrivals {
            Arrivals::Once { count } => (0..*count).map(|_| spec.start.sample(&mut starting)).collect(),
            Arrivals::Times(times) => times.clone(),
            Arrivals::Process { .. } => vec![spec.start.sample(&mut starting)],
        };
        starts.sort_by(|a, b| b.total_cmp(a));
        let mut entry = Entry {
            info: FlowInfo {
                packet_size: spec.packet,
            },
            transport: P::transport(&spec.params),
            spec,
            hop,
            forward_delay,
            reverse_delay,
            starts,
            arrivals: 0,
            active: 0,
            free_flows: Vec::new(),
            free_sessions: Vec::new(),
            counters: EntryCounters::default(),
            window: EntryWindow::default(),
            streams,
        };
        let mut first = entry.starts.last().copied().and_then(Duration::from_secs_f64);
        if let Arrivals::Process {
            at_start: false,
            interval,
            ..
        } = &entry.spec.arrivals
        {
            let gap = Duration::from_secs_f64(interval.sample(&mut entry.streams.arrival));
            first = first.zip(gap).and_then(|(start, gap)| start.checked_add(gap));
        }
        self.entries.push(entry);
        let index = self.entries.len() as u32 - 1;
        if let Some(first) = first {
            self.schedule(Time::ZERO + first, Target::Arrival(index));
        }
    }
}
