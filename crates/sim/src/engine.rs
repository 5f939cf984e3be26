//! The simulator: events in order of time, and what each of them does.

use levelflow_protocols::{Bottleneck, Feedback, FlowInfo, Kind, Opening, Outgoing, Protocol, RouterLaw, SenderLaw};
use levelflow_units::{Bytes, Duration, Time};

use crate::ackdelay::AckDelay;
use crate::counters::{Books, EntryCounters, EntryWindow, FlowSummary, LinkSummary, Summary, Violation};
use crate::events::{EventList, Target};
use crate::flow::{ENDLESS, Fired, Flow, NEVER, Phase, later};
use crate::link::{Admission, Link};
use crate::network::{FlowSpec, LinkSpec, Network};
use crate::packet::{Packet, PacketId, Slab};
use crate::pipe::{NO_PIPE, Pipes};
use crate::record::{CompletionRow, FlowRow, LinkRow, Recorder};
use crate::reliable::Chunk;
use crate::rng::Stream;
use crate::traffic::Arrivals;

const RECEIVER: u32 = u32::MAX;
const SENDER: u32 = u32::MAX - 1;
const NO_DELAY: u32 = u32::MAX;

/// A flow entry at work.
#[derive(Debug)]
struct Entry<P: Protocol> {
    spec: FlowSpec<P>,
    info: FlowInfo,
    opening: Opening,
    /// Position of the path in the table of hops.
    hop: u32,
    forward_delay: Duration,
    reverse_delay: Duration,
    /// Start times still to come, latest first, when they are known in advance.
    starts: Vec<f64>,
    arrivals: u64,
    /// Flows begun whose receivers do not have everything.
    active: u32,
    /// Slots of flows that are over.
    free_flows: Vec<u32>,
    counters: EntryCounters,
    window: EntryWindow,
    streams: Streams,
}

#[derive(Debug)]
struct Streams {
    arrival: Stream,
    size: Stream,
    rtt: Stream,
    lifetime: Stream,
}

/// A router that closes its interval now and then.
#[derive(Debug)]
struct Router {
    link: u32,
    port: u32,
    since: Time,
}

/// A simulation under way.
#[derive(Debug)]
pub struct Sim<P: Protocol> {
    now: Time,
    end: Time,
    sample: Duration,
    seed: u64,
    events: EventList,
    processed: u64,
    packets: Slab<P::Header>,
    specs: Vec<LinkSpec<P>>,
    links: Vec<Link<P>>,
    /// Every path: links forward, [`RECEIVER`], links back, [`SENDER`].
    hops: Vec<u32>,
    pipes: Pipes,
    ack_delays: Vec<AckDelay>,
    routers: Vec<Router>,
    entries: Vec<Entry<P>>,
    flows: Vec<Flow<P>>,
    last_sample: Time,
    /// What has been recorded and not yet taken.
    pub recorder: Recorder,
}

impl<P: Protocol> Sim<P> {
    /// A simulation at time zero.
    #[must_use]
    pub fn new(network: Network<P>) -> Self {
        let Network {
            duration,
            sample,
            seed,
            links: specs,
            flows,
        } = network;
        let links = specs
            .iter()
            .enumerate()
            .map(|(i, l)| Link::new(l, i as u32 + 1, seed))
            .collect();
        let mut sim = Self {
            now: Time::ZERO,
            end: Time::ZERO + duration,
            sample,
            seed,
            events: EventList::default(),
            processed: 0,
            packets: Slab::default(),
            specs,
            links,
            hops: Vec::new(),
            pipes: Pipes::default(),
            ack_delays: Vec::new(),
            routers: Vec::new(),
            entries: Vec::new(),
            flows: Vec::new(),
            last_sample: Time::ZERO,
            recorder: Recorder::default(),
        };
        sim.start_routers();
        flows.into_iter().for_each(|spec| sim.add_entry(spec));
        sim.schedule(Time::ZERO + sample, Target::Sample);
        sim
    }

    /// Each router's first interval ends at a random phase of it.
    fn start_routers(&mut self) {
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
                self.events.push(Time::from_ps(phase), Target::Interval(index));
            }
        }
    }

    fn add_entry(&mut self, spec: FlowSpec<P>) {
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
            opening: P::opening(&spec.params),
            spec,
            hop,
            forward_delay,
            reverse_delay,
            starts,
            arrivals: 0,
            active: 0,
            free_flows: Vec::new(),
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

    /// Adds an event unless it is after the end.
    #[inline]
    fn schedule(&mut self, at: Time, target: Target) {
        if at <= self.end {
            self.events.push(at, target);
        }
    }

    /// Simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events processed so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.processed
    }

    /// Packets times links they crossed so far.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.links.iter().map(|l| l.counters.delivered + l.counters.lost).sum()
    }

    /// Bytes of memory held for packets, links and flows.
    #[must_use]
    pub fn memory(&self) -> usize {
        let links: usize = self.links.iter().map(Link::memory).sum();
        let flows = self.flows.capacity() * size_of::<Flow<P>>();
        links + flows + self.packets.memory() + self.pipes.memory() + self.hops.capacity() * size_of::<u32>()
    }

    /// Goes on until `until` or for at most `budget` events; true when the end of the run is reached.
    pub fn advance(&mut self, until: Time, budget: u64) -> bool {
        let until = until.min(self.end);
        let stop = self.processed.saturating_add(budget);
        while self.processed < stop {
            let Some((at, target)) = self.events.peek().filter(|&(at, _)| at <= until) else {
                self.now = self.now.max(until);
                return self.now == self.end;
            };
            self.now = at;
            self.processed += 1;
            self.handle(target);
        }
        false
    }

    #[inline]
    fn handle(&mut self, target: Target) {
        match target {
            Target::Link(i) => self.link_delivers(i),
            Target::Pipe(i) => {
                let (packet, next) = self.pipes.pop(i);
                self.reschedule(next, target);
                self.feedback(packet);
            }
            Target::AckDelay(i) => {
                let (packet, next) = self.ack_delays[i as usize].pop(self.now);
                self.reschedule(next, target);
                self.forward(packet);
            }
            Target::Send(i) => {
                self.events.pop();
                match self.flows[i as usize].pace.fire(self.now) {
                    Fired::Now => self.transmit(i),
                    Fired::Later(at) => self.schedule(at, target),
                    Fired::Stale => {}
                }
            }
            Target::Timer(i) => {
                self.events.pop();
                match self.flows[i as usize].timer.fire(self.now) {
                    Fired::Now => self.timeout(i),
                    Fired::Later(at) => self.schedule(at, target),
                    Fired::Stale => {}
                }
            }
            Target::Arrival(i) => {
                self.events.pop();
                self.arrival(i);
            }
            Target::Interval(i) => self.close_interval(i),
            Target::Sample => {
                self.events.pop();
                self.record();
                self.schedule(self.now + self.sample, target);
            }
        }
    }

    /// Turns the event being handled into the next one of its kind.
    #[inline]
    fn reschedule(&mut self, next: Option<Time>, target: Target) {
        match next {
            Some(at) => self.events.replace(at, target),
            None => self.events.pop(),
        }
    }

    fn link_delivers(&mut self, i: u32) {
        let delivery = self.links[i as usize].deliver(&mut self.packets);
        self.reschedule(delivery.next, Target::Link(i));
        if delivery.lost {
            self.discard(delivery.packet, |books| &mut books.lost);
        } else {
            self.packets[delivery.packet].hop += 1;
            self.forward(delivery.packet);
        }
    }

    /// Moves a packet on to where its path says.
    #[inline]
    fn forward(&mut self, id: PacketId) {
        match self.hops[self.packets[id].hop as usize] {
            RECEIVER => self.receive(id),
            SENDER => match self.flows[self.packets[id].flow as usize].pipe {
                NO_PIPE => self.feedback(id),
                pipe => {
                    if let Some(at) = self.pipes.push(pipe, self.now, id) {
                        self.events.push(at, Target::Pipe(pipe));
                    }
                }
            },
            link => match self.links[link as usize].admit(self.now, id, &mut self.packets) {
                Admission::First(at) => self.events.push(at, Target::Link(link)),
                Admission::Follows => {}
                Admission::Dropped => self.discard(id, |books| &mut books.dropped),
            },
        }
    }

    /// A packet is dropped or lost.
    fn discard(&mut self, id: PacketId, cause: impl Fn(&mut Books) -> &mut u64) {
        let packet = &self.packets[id];
        let (flow, answer) = (packet.flow, packet.answer);
        let entry = &mut self.entries[self.flows[flow as usize].entry as usize];
        if answer {
            *cause(&mut entry.counters.answers) += 1;
        } else {
            *cause(&mut entry.counters.data) += 1;
            entry.window.lost += 1;
        }
        self.packets.remove(id);
        self.left_network(flow);
    }

    /// A packet of this flow is no longer in flight.
    #[inline]
    fn left_network(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        flow.in_flight -= 1;
        if flow.phase == Phase::Over && flow.in_flight == 0 {
            flow.phase = Phase::Free;
            self.pipes.leave(flow.pipe);
            self.entries[flow.entry as usize].free_flows.push(i);
            self.no_longer_active(i);
        }
    }

    fn no_longer_active(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if std::mem::take(&mut flow.active) {
            let entry = &mut self.entries[flow.entry as usize];
            entry.active -= 1;
            entry.counters.finished += 1;
        }
    }

    /// A packet reaches its receiver, which answers.
    fn receive(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        let i = packet.flow;
        let flow = &mut self.flows[i as usize];
        let entry = &mut self.entries[flow.entry as usize];
        entry.counters.data.delivered += 1;
        entry.counters.delivered_bytes += u64::from(packet.size);
        entry.window.delivered_bytes += u64::from(packet.size);
        if packet.kind == Kind::Fin {
            self.packets.remove(id);
            return self.left_network(i);
        }
        let mut complete = false;
        if packet.kind == Kind::Data {
            let chunk = Chunk {
                offset: packet.offset,
                length: packet.size,
            };
            complete = match &mut flow.reliable {
                Some(reliable) => {
                    reliable.on_arrival(chunk);
                    packet.offset = reliable.received();
                    reliable.received() == flow.size
                }
                None => chunk.offset + u64::from(chunk.length) == flow.size,
            };
        }
        packet.answer = true;
        packet.size = entry.spec.control.get() as u16;
        packet.header = P::reflect(&packet.header);
        packet.hop += 1;
        entry.counters.answers.sent += 1;
        let delay = flow.ack_delay;
        if complete && flow.active {
            self.complete(i);
        }
        if delay == NO_DELAY {
            self.forward(id);
        } else if let Some(at) = self.ack_delays[delay as usize].push(self.now, id) {
            self.events.push(at, Target::AckDelay(delay));
        }
    }

    /// A receiver has everything.
    fn complete(&mut self, i: u32) {
        self.no_longer_active(i);
        let flow = &self.flows[i as usize];
        let fct = (self.now - flow.started) + flow.host_delay;
        self.recorder.completion(&CompletionRow {
            flow: flow.entry,
            start_s: flow.started.as_secs_f64(),
            fct_s: fct.as_secs_f64(),
            bytes: flow.size,
            rtt_s: flow.base_rtt.as_secs_f64(),
            retransmitted: flow.reliable.as_ref().map_or(0, |r| r.retransmitted),
        });
    }

    /// An answer reaches its sender.
    fn feedback(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        let (i, number, kind, received) = (packet.flow, packet.number, packet.kind, packet.offset);
        let rtt = self.now - packet.sent;
        let feedback = Feedback {
            number,
            kind,
            rtt,
            header: packet.header,
        };
        self.packets.remove(id);
        let flow = &mut self.flows[i as usize];
        let entry = &mut self.entries[flow.entry as usize];
        entry.counters.answers.delivered += 1;
        entry.counters.round_trip(rtt);
        entry.window.rtt_sum += rtt.as_secs_f64();
        entry.window.rtt_count += 1;
        if flow.phase != Phase::Over {
            flow.sender.on_feedback(&entry.spec.params, self.now, &feedback);
            if let Some(reliable) = &mut flow.reliable {
                reliable.on_round_trip(rtt);
                if kind == Kind::Data {
                    reliable.on_answer(number, received);
                }
            }
            if flow.phase == Phase::Opening {
                flow.phase = Phase::Running;
                flow.timer.clear();
                if let Some(at) = flow.pace.set(self.now) {
                    self.schedule(at, Target::Send(i));
                }
            } else {
                self.repace(i);
            }
        }
        self.left_network(i);
    }

    /// Feedback may have changed the rate, or brought something to send again, or been the last.
    #[inline]
    fn repace(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if flow.pace.is_set() || flow.has_data(self.now) {
            flow.timer.clear();
            let due = flow.next_departure(self.now);
            if let Some(at) = flow.pace.set(due) {
                self.schedule(at, Target::Send(i));
            }
        } else {
            self.idle(i);
        }
    }

    /// Sends the next packet and sets the time of the one after it.
    fn transmit(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let params = &self.entries[flow.entry as usize].spec.params;
        let size = flow.sender.packet_size(params);
        let Some(chunk) = flow.next_chunk(self.now, size) else {
            return self.idle(i);
        };
        if let Some(reliable) = &mut flow.reliable {
            reliable.on_send(flow.next_number, chunk);
        }
        self.send(i, Kind::Data, chunk);
        let flow = &mut self.flows[i as usize];
        if let Some(at) = flow.pace.set(flow.next_departure(self.now)) {
            self.schedule(at, Target::Send(i));
        }
    }

    /// Nothing to send now: wait for answers, or end.
    fn idle(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if flow.is_waiting(self.now) {
            let timeout = flow.reliable.as_ref().map_or(Duration::ZERO, |r| r.timeout());
            if let Some(at) = flow.timer.set(later(self.now, timeout)) {
                self.schedule(at, Target::Timer(i));
            }
            return;
        }
        self.end_flow(i);
    }

    fn end_flow(&mut self, i: u32) {
        let entry = &mut self.entries[self.flows[i as usize].entry as usize];
        if entry.opening == Opening::Handshake {
            self.send(i, Kind::Fin, Chunk { offset: 0, length: 0 });
        }
        let flow = &mut self.flows[i as usize];
        flow.phase = Phase::Over;
        flow.timer.clear();
        let stopped = flow.size == ENDLESS || self.now >= flow.stop;
        flow.in_flight += 1;
        if stopped {
            self.no_longer_active(i);
        }
        self.left_network(i);
    }

    /// Puts a packet on its way. Control packets carry no chunk.
    fn send(&mut self, i: u32, kind: Kind, chunk: Chunk) {
        let flow = &mut self.flows[i as usize];
        let entry = &mut self.entries[flow.entry as usize];
        let size = if kind == Kind::Data {
            chunk.length
        } else {
            entry.spec.control.get() as u16
        };
        let number = flow.next_number;
        flow.next_number += 1;
        flow.last_sent = self.now;
        flow.last_size = size;
        flow.in_flight += 1;
        let outgoing = Outgoing {
            number,
            size: Bytes::new(u64::from(size)),
            kind,
        };
        let header = flow.sender.on_send(&entry.spec.params, self.now, &outgoing);
        entry.counters.data.sent += 1;
        entry.counters.sent_bytes += u64::from(size);
        entry.window.sent_bytes += u64::from(size);
        let id = self.packets.insert(Packet {
            header,
            sent: self.now,
            offset: chunk.offset,
            flow: i,
            number,
            hop: entry.hop,
            size,
            kind,
            answer: false,
        });
        self.forward(id);
    }

    /// No answer came in time.
    fn timeout(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        match flow.phase {
            Phase::Opening => {
                flow.retries += 1;
                self.open(i);
            }
            Phase::Running => {
                if let Some(reliable) = &mut flow.reliable {
                    reliable.on_timeout();
                }
                self.transmit(i);
            }
            Phase::Over | Phase::Free => {}
        }
    }

    /// Sends the packet that opens a flow, or gives up after the flow's stop.
    fn open(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if self.now >= flow.stop {
            return self.end_flow(i);
        }
        let timeout = flow.retry_timeout();
        if let Some(at) = flow.timer.set(self.now + timeout) {
            self.schedule(at, Target::Timer(i));
        }
        self.send(i, Kind::Syn, Chunk { offset: 0, length: 0 });
    }

    /// An entry starts flows and says when it will do so again.
    fn arrival(&mut self, i: u32) {
        let entry = &mut self.entries[i as usize];
        if entry.spec.stop.is_some_and(|stop| self.now >= stop) {
            return;
        }
        entry.arrivals += 1;
        let (batch, next) = match &entry.spec.arrivals {
            Arrivals::Once { .. } | Arrivals::Times(_) => {
                entry.starts.pop();
                let next = entry.starts.last().copied().and_then(Duration::from_secs_f64);
                (1, next.map(|start| Time::ZERO + start))
            }
            Arrivals::Process {
                interval, batch, limit, ..
            } => {
                let more = limit.is_none_or(|limit| entry.arrivals < limit);
                let gap = more.then(|| interval.sample(&mut entry.streams.arrival));
                let gap = gap.and_then(Duration::from_secs_f64);
                (*batch, gap.and_then(|gap| self.now.checked_add(gap)))
            }
        };
        (0..batch).for_each(|_| self.start_flow(i));
        if let Some(at) = next {
            self.schedule(at, Target::Arrival(i));
        }
    }

    fn start_flow(&mut self, e: u32) {
        let entry = &mut self.entries[e as usize];
        let Entry { spec, streams, .. } = entry;
        let mut flow = Flow::new(e, &spec.params, &entry.info, self.now);
        if let Some(size) = &spec.size {
            flow.size = (size.sample(&mut streams.size).ceil() as u64).clamp(1, ENDLESS - 1);
        }
        flow.stop = spec.stop.unwrap_or(NEVER);
        if let Some(life) = &spec.lifetime {
            let life = Duration::from_secs_f64(life.sample(&mut streams.lifetime)).unwrap_or(Duration::MAX);
            flow.stop = flow.stop.min(self.now.checked_add(life).unwrap_or(NEVER));
        }
        let on_links = entry.forward_delay + entry.reverse_delay;
        let rtt = spec
            .rtt
            .as_ref()
            .map(|rtt| Duration::from_secs_f64(rtt.sample(&mut streams.rtt)).unwrap_or(Duration::MAX));
        flow.base_rtt = rtt.map_or(on_links, |rtt| rtt.max(on_links));
        let extra = flow.base_rtt - on_links;
        let one_way = Duration::from_ps(flow.base_rtt.as_ps() / 2);
        flow.host_delay = one_way.saturating_sub(entry.forward_delay).min(extra);
        flow.pipe = self.pipes.join(extra);
        if let Some(delay) = &spec.ack_delay {
            let name = format!("{}.{}", spec.name, entry.counters.started);
            flow.ack_delay = self.ack_delays.len() as u32;
            self.ack_delays
                .push(AckDelay::new(delay.clone(), Stream::new(self.seed, "ack delay", &name)));
        }
        if spec.reliable {
            flow.reliable = Some(Box::default());
        }
        entry.counters.started += 1;
        entry.active += 1;
        let opening = entry.opening;
        let i = self.place(flow);
        match opening {
            Opening::Handshake => self.open(i),
            Opening::Immediate => {
                self.flows[i as usize].phase = Phase::Running;
                self.transmit(i);
            }
        }
    }

    /// Puts a flow into a slot that its own entry left, or a new one, so that the order of simultaneous events does not
    /// depend on other entries.
    fn place(&mut self, flow: Flow<P>) -> u32 {
        if let Some(i) = self.entries[flow.entry as usize].free_flows.pop() {
            self.flows[i as usize] = flow;
            return i;
        }
        self.flows.push(flow);
        (self.flows.len() - 1) as u32
    }

    fn close_interval(&mut self, i: u32) {
        let router = &mut self.routers[i as usize];
        let link = &mut self.links[router.link as usize];
        link.catch_up(self.now, &mut self.packets);
        link.close_interval(router.port as usize, self.now - router.since);
        router.since = self.now;
        let port = &link.ports[router.port as usize];
        let next = self.now + port.law.interval(&port.params).max(Duration::from_ps(1));
        self.events.replace(next, Target::Interval(i));
    }

    /// Writes one row per flow entry and link.
    fn record(&mut self) {
        let t = self.now.as_secs_f64();
        let elapsed = (self.now - self.last_sample).as_secs_f64();
        self.last_sample = self.now;
        let mut sums = vec![(0.0, 0.0, Bottleneck::Unknown); self.entries.len()];
        for flow in self
            .flows
            .iter()
            .filter(|f| matches!(f.phase, Phase::Opening | Phase::Running))
        {
            let sum = &mut sums[flow.entry as usize];
            if flow.phase == Phase::Running {
                sum.0 += flow.sender.rate().bps();
                sum.1 += flow.sender.proposal().bps();
            }
            sum.2 = flow.sender.bottleneck();
        }
        for (i, (entry, (rate, proposal, bottleneck))) in self.entries.iter_mut().zip(sums).enumerate() {
            let single = entry.spec.arrivals == Arrivals::Once { count: 1 };
            let window = std::mem::take(&mut entry.window);
            self.recorder.flow(&FlowRow {
                t,
                flow: i as u32,
                active: entry.active,
                rate_bps: rate,
                proposal_bps: proposal,
                sent_bps: window.sent_bytes as f64 * 8.0 / elapsed,
                delivered_bps: window.delivered_bytes as f64 * 8.0 / elapsed,
                rtt_s: window.rtt_sum / f64::from(window.rtt_count),
                lost: window.lost,
                bottleneck: if single { entry.link_of(bottleneck) } else { -1 },
            });
        }
        for (i, link) in self.links.iter_mut().enumerate() {
            link.catch_up(self.now, &mut self.packets);
            let window = std::mem::take(&mut link.window);
            let arrival_bps = window.arrived_bytes as f64 * 8.0 / elapsed;
            self.recorder.link(&LinkRow {
                t,
                link: i as u32,
                arrival_bps,
                peak_bps: if link.ports.is_empty() {
                    arrival_bps
                } else {
                    window.peak_rate
                },
                throughput_bps: window.sent_bytes as f64 * 8.0 / elapsed,
                queue_bytes: link.queue_bytes(),
                queue_packets: link.queue_packets() as u32,
                queue_max_bytes: window.queue_max.max(link.queue_bytes()),
                dropped: window.dropped,
                dropped_bytes: window.dropped_bytes,
                peak_loss: window.peak_loss,
                signal: link.ports.first().map_or(f64::NAN, |p| p.law.signal()),
            });
        }
    }

    /// Counters up to now.
    ///
    /// # Errors
    /// When a packet was counted twice or not at all: the simulator is wrong.
    pub fn summary(&mut self) -> Result<Summary, Violation> {
        let mut in_flight = vec![[0u64; 2]; self.entries.len()];
        let mut everywhere = 0;
        let on_links = self.links.iter().flat_map(Link::packets);
        for id in on_links
            .chain(self.pipes.packets())
            .chain(self.ack_delays.iter().flat_map(AckDelay::packets))
        {
            let packet = &self.packets[id];
            in_flight[self.flows[packet.flow as usize].entry as usize][usize::from(packet.answer)] += 1;
            everywhere += 1;
        }
        balance("the packet store", self.packets.len() as u64, everywhere)?;
        let mut flows = Vec::new();
        for (entry, found) in self.entries.iter().zip(&in_flight) {
            balance(&entry.spec.name, entry.counters.data.outstanding(), found[0])?;
            balance(&entry.spec.name, entry.counters.answers.outstanding(), found[1])?;
            flows.push(FlowSummary::new(&entry.spec.name, &entry.counters, found[0]));
        }
        let mut links = Vec::new();
        for (link, spec) in self.links.iter_mut().zip(&self.specs) {
            link.catch_up(self.now, &mut self.packets);
            let c = &link.counters;
            let found = link.packets().count() as u64;
            balance(&spec.name, c.arrived - c.dropped - c.delivered - c.lost, found)?;
            let sent = (c.arrived_bytes - c.dropped_bytes - link.queue_bytes()) as f64 * 8.0;
            let utilisation = sent / (spec.capacity.bps() * self.now.as_secs_f64().max(f64::MIN_POSITIVE));
            links.push(LinkSummary::new(&spec.name, c, found, utilisation));
        }
        Ok(Summary {
            simulated_s: self.now.as_secs_f64(),
            packet_hops: self.packet_hops(),
            events: self.processed,
            flows,
            links,
        })
    }
}

impl<P: Protocol> Entry<P> {
    /// Index of the link that a sender means, -1 if it means none.
    fn link_of(&self, bottleneck: Bottleneck) -> i32 {
        let link = match bottleneck {
            Bottleneck::Unknown => None,
            Bottleneck::Hop(n) => usize::from(n)
                .checked_sub(1)
                .and_then(|n| self.spec.route.routers.get(n).copied()),
            Bottleneck::Router(id) => id.checked_sub(1).filter(|link| self.spec.route.forward.contains(link)),
        };
        link.map_or(-1, |link| link as i32)
    }
}

fn balance(whose: &str, expected: u64, found: u64) -> Result<(), Violation> {
    if expected == found {
        Ok(())
    } else {
        Err(Violation {
            whose: whose.to_owned(),
            expected,
            found,
        })
    }
}
