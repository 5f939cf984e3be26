//! Simulator: processes events in order of time.

mod flows;
mod links;
mod memory;
mod receiver;
mod report;
mod sessions;
mod setup;
mod share;
mod tracing;

use std::sync::Arc;

use levelflow_laws::{HeaderOf, Protocol, SenderLaw};
use levelflow_transport::{Ack, Transmit};
use levelflow_units::{Bytes, Duration, Time};

use crate::ackdelay::AckDelay;
use crate::alarm::Fired;
use crate::capture::Capture;
use crate::cut::Cut;
use crate::entry::FlowEntry;
use crate::events::{EventList, Target};
use crate::flow::{Flow, Phase};
use crate::id::{AckDelayId, EntryId, FlowId, HopId, IdVec, LinkId, PacketId, RouterId, SessionId};
use crate::interner::Interner;
use crate::limit::{EventBudget, LimitExceeded, max_packets};
use crate::link::Link;
use crate::packet::{Label, Packet, Slab};
use crate::pipe::Pipes;
use crate::prefetch::prefetch;
use crate::trace::{Fate, Trace};
use levelflow_results::Recorder;
use levelflow_scenario::{LinkSpec, MemorySpec, Network};

use sessions::Session;
pub use share::Crossing;
use share::Share;

const RECEIVER: LinkId = LinkId(u32::MAX);
const SENDER: LinkId = LinkId(u32::MAX - 1);
/// Bit mask for the number of events between two checks of the memory limit. This number is a power of two.
const MEMORY_EVERY: u64 = (1 << 8) - 1;
/// Number of packets (512 KiB) that fit into the second-level cache of a processor. With fewer packets, the simulator
/// does not prefetch.
const IN_CACHE: usize = 8192;

/// Router with a periodic control interval.
#[derive(Debug)]
struct Router {
    link: LinkId,
    port: usize,
    since: Time,
}

/// Simulation in progress.
#[derive(Debug)]
pub struct Sim<P: Protocol> {
    now: Time,
    end: Time,
    sample: Duration,
    seed: u64,
    events: EventList,
    processed: u64,
    memory_limit: Bytes,
    /// Events of all parts in the current second. Only the budget of the first part is used.
    budget: EventBudget,
    /// Largest number of packets that fits the memory limit in addition to the existing flows.
    most_packets: usize,
    packets: Slab<HeaderOf<P>>,
    /// True if a link classifies packets by flow, or polices them.
    classifies: bool,
    specs: IdVec<LinkId, LinkSpec<P>>,
    links: IdVec<LinkId, Link<P>>,
    memories: Vec<MemorySpec>,
    /// Index of the shared memory of each link's buffer. `None` if the buffer shares no memory.
    memory_of: IdVec<LinkId, Option<usize>>,
    /// Hops of all paths. A path consists of forward links, [`RECEIVER`], reverse links and [`SENDER`].
    hops: IdVec<HopId, LinkId>,
    pipes: Pipes,
    ack_delays: IdVec<AckDelayId, AckDelay>,
    routers: IdVec<RouterId, Router>,
    entries: IdVec<EntryId, FlowEntry<P>>,
    flows: IdVec<FlowId, Flow<P>>,
    /// Flows that have stopped sending but may have packets in flight. The next sample frees the slots of flows without
    /// packets.
    ended: Vec<FlowId>,
    sessions: IdVec<SessionId, Session>,
    last_sample: Time,
    /// State for the exchange with other parts of the network, if the network is cut.
    share: Option<Box<Share<HeaderOf<P>>>>,
    /// Packet capture, if requested.
    pub capture: Option<Box<Capture<P>>>,
    /// Arrival and departure times of packets at links, if requested.
    pub trace: Option<Box<Trace>>,
    /// Recorded results that the caller has not yet taken.
    pub recorder: Recorder,
}

impl<P: Protocol> Sim<P> {
    /// Creates a simulation at time zero.
    #[must_use]
    pub fn new(network: Network<P>) -> Self {
        Self::of(network, None)
    }

    /// Creates part `number` of a simulation.
    pub(crate) fn part(network: Network<P>, cut: &Arc<Cut>, number: usize) -> Self {
        Self::of(network, Some(Box::new(Share::new(Arc::clone(cut), number))))
    }

    fn of(network: Network<P>, share: Option<Box<Share<HeaderOf<P>>>>) -> Self {
        let budget = EventBudget::new(&network);
        let Network {
            duration,
            sample,
            seed,
            memory_limit,
            event_limit: _,
            links: specs,
            flows,
            memories,
        } = network;
        let mut params = Interner::default();
        let links = specs
            .iter()
            .enumerate()
            .map(|(i, l)| Link::new(l, i as u32 + 1, seed, &mut params))
            .collect();
        let mut sim = Self {
            now: Time::ZERO,
            end: Time::ZERO + duration,
            sample,
            seed,
            events: EventList::new(specs.len()),
            processed: 0,
            memory_limit,
            budget,
            most_packets: max_packets(0, memory_limit),
            packets: Slab::default(),
            classifies: specs.iter().any(|spec| spec.police || spec.queue.schedules()),
            memory_of: memory::of_links(&memories, specs.len()),
            memories,
            specs: specs.into(),
            links,
            hops: IdVec::default(),
            pipes: Pipes::default(),
            ack_delays: IdVec::default(),
            routers: IdVec::default(),
            entries: Vec::with_capacity(flows.len()).into(),
            flows: IdVec::default(),
            ended: Vec::new(),
            sessions: IdVec::default(),
            last_sample: Time::ZERO,
            share,
            capture: None,
            trace: None,
            recorder: Recorder::default(),
        };
        sim.lead_elsewhere();
        sim.start_routers();
        (0..sim.memories.len()).for_each(|m| sim.share_memory(m));
        let mut rules = Interner::default();
        flows.into_iter().for_each(|spec| sim.add_entry(spec, &mut rules));
        sim.await_routes();
        if sim.share.is_none() {
            sim.schedule(Time::ZERO + sample, Target::Sample);
        }
        sim
    }

    /// Adds an event unless it is after the end of the run.
    #[inline]
    fn schedule(&mut self, at: Time, target: Target) {
        if at <= self.end {
            self.events.push(at, target);
        }
    }

    /// Returns the simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the current law of a flow, or `None` if the flow does not exist yet.
    #[must_use]
    pub fn law(&self, flow: usize) -> Option<&P::Sender> {
        self.flows
            .get(u32::try_from(flow).ok().map(FlowId)?)
            .map(|flow| flow.sender.law())
    }

    /// Returns the number of events processed so far. Arrivals from hosts at idle links are not counted.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.processed
    }

    /// Returns the number of packets that arrived at each link.
    pub(crate) fn loads(&self) -> impl Iterator<Item = u64> + '_ {
        self.links.iter().map(|link| link.counters.arrived)
    }

    /// Changes the parameters of a law that reads them only when a flow starts, such as CBR. Restarts the law of all
    /// live flows of an entry. Flows that start later have the parameters of the scenario.
    pub fn restart_law(&mut self, entry: usize, change: impl FnOnce(&mut P::Params)) {
        let Some((id, FlowEntry { rules, info, .. })) = self.entries.pairs().nth(entry) else {
            return;
        };
        let mut params = rules.params.clone();
        change(&mut params);
        for flow in self
            .flows
            .iter_mut()
            .filter(|f| f.entry == id && f.phase == Phase::Live)
        {
            flow.sender.replace_law(P::Sender::new(&params, info));
        }
    }

    /// Returns the number of links crossed so far, summed over all packets.
    #[must_use]
    pub fn packet_hops(&self) -> u64 {
        self.links.iter().map(|l| l.counters.delivered + l.counters.lost).sum()
    }

    /// Returns the memory used for packets, links and flows, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let links: usize = self.links.iter().map(Link::memory).sum();
        let flows = self.flows.capacity() * size_of::<Flow<P>>();
        links + flows + self.packets.memory() + self.pipes.memory() + self.hops.capacity() * size_of::<LinkId>()
    }

    /// Continues up to the time `until`, but processes at most `budget` events. Returns true at the end of the run.
    ///
    /// # Errors
    /// Returns an error if flows and packets exceed the memory limit, or events exceed their limit. Earlier results can
    /// still be recorded and summarised.
    pub fn advance(&mut self, until: Time, budget: u64) -> Result<bool, LimitExceeded> {
        let until = until.min(self.end);
        let stop = self.processed.saturating_add(budget);
        while self.processed < stop {
            if self.is_full() {
                return Err(Self::exceeded(std::slice::from_ref(self)));
            }
            if self.budget.is_exceeded(self.processed) {
                return Err(Self::exceeds_events(std::slice::from_ref(self)));
            }
            // For any budget, memory is checked after the same events.
            let next = (self.processed | MEMORY_EVERY).saturating_add(1).min(stop);
            let last = until.min(self.budget.end());
            let after = last.saturating_add(Duration::from_ps(1));
            while self.processed < next {
                let Some((at, target)) = self.next_event(after) else {
                    Self::check_limits(std::slice::from_mut(self))?;
                    if last < until {
                        self.budget.next_second(self.processed);
                        break;
                    }
                    self.now = self.now.max(until);
                    let over = self.now == self.end;
                    if over && self.last_sample < self.end {
                        Self::record(std::slice::from_mut(self));
                    }
                    return Ok(over);
                };
                self.now = at;
                self.processed += 1;
                self.handle(target);
            }
        }
        Ok(false)
    }

    /// Returns the next event before the time `before`. Prefetches flows that will send soon.
    #[inline(always)] // runs once per event
    fn next_event(&mut self, before: Time) -> Option<(Time, Target)> {
        let Self { events, flows, .. } = self;
        events.next_before(before, |target| {
            if let Target::Send(i) = target {
                prefetch(&flows[i]);
            }
        })
    }

    /// Returns true if flows and packets exceed the memory limit.
    #[inline]
    fn is_full(&self) -> bool {
        self.packets.most() > self.most_packets
    }

    /// Returns an error that names the entry with the most packets in flight.
    #[cold]
    fn exceeded(parts: &[Self]) -> LimitExceeded {
        let Self {
            flows, entries, now, ..
        } = &parts[0];
        let mut found = IdVec::from(vec![(0, 0); entries.len()]);
        for (i, flow) in flows.pairs().filter(|(_, flow)| flow.phase != Phase::Free) {
            let in_flight = parts.iter().map(|part| part.flows[i].in_flight);
            let (packets, flows) = &mut found[flow.entry];
            *packets += u64::from(in_flight.fold(0, u32::wrapping_add));
            *flows += 1;
        }
        let largest = found.ids().max_by_key(|&i| found[i]).unwrap_or_default();
        let (packets, flows) = found[largest];
        let name = &entries[largest].spec.name;
        LimitExceeded::on_the_way(name, packets, flows, *now - Time::ZERO, parts[0].memory_limit)
    }

    /// Returns an error that names the entry that has sent the most packets.
    #[cold]
    fn exceeds_events(parts: &[Self]) -> LimitExceeded {
        let Self { entries, budget, .. } = &parts[0];
        let sent = |&i: &EntryId| parts.iter().map(|part| part.entries[i].counters.data.sent).sum::<u64>();
        let largest = entries.ids().max_by_key(sent);
        let name = largest.map_or("", |i| &entries[i].spec.name);
        LimitExceeded::events(name, budget)
    }

    #[inline(always)] // has one caller, and runs once per event
    fn handle(&mut self, target: Target) {
        match target {
            Target::Link(i) => self.link_delivers(i),
            Target::Pipe(i) => {
                let (packet, next) = self.pipes.pop(i);
                self.reschedule(next, target);
                if self.packets.most() > IN_CACHE {
                    self.prefetch(self.pipes.ahead(i));
                }
                self.feedback(packet);
            }
            Target::AckDelay(i) => {
                let (packet, next) = self.ack_delays[i].pop(self.now);
                self.reschedule(next, target);
                if self.ack_delays[i].withholds() {
                    return self.forget(packet, Fate::Lost);
                }
                self.forward(packet);
            }
            Target::Send(i) => {
                self.events.pop(target);
                match self.flows[i].pace.fire(self.now) {
                    Fired::Now => self.transmit(i),
                    Fired::Later(at) => self.schedule(at, target),
                    Fired::Stale => {}
                }
            }
            Target::Timer(i) => {
                self.events.pop(target);
                match self.flows[i].timer.fire(self.now) {
                    Fired::Now => self.timeout(i),
                    Fired::Later(at) => self.schedule(at, target),
                    Fired::Stale => {}
                }
            }
            Target::Arrival(i) => {
                self.events.pop(target);
                self.arrival(i);
            }
            Target::Interval(i) => self.close_interval(i),
            Target::Queue(i) => self.close_queue_interval(i),
            Target::Buffer(i) => self.size_buffer(i),
            Target::Transmitter(i) => self.transmitted(i),
            Target::Ack(i) => {
                self.events.pop(target);
                self.delayed_ack(i);
            }
            Target::Change(i) => self.change(i),
            Target::Write(i) => self.write(i),
            Target::Session(i) => {
                self.events.pop(target);
                self.next_page(i);
            }
            Target::FlowEntry(i) => {
                self.processed -= 1; // not counted, because a link between two parts has no such events
                self.events.pop(target);
                self.enter(i);
            }
            Target::Routes => self.change_routes(),
            Target::Sample => self.record_sample(),
        }
    }

    fn record_sample(&mut self) {
        self.events.pop(Target::Sample);
        Self::record(std::slice::from_mut(self));
        self.schedule(self.now + self.sample, Target::Sample);
    }

    /// Replaces the current event by the next event with the same target.
    #[inline(always)] // runs once per event
    fn reschedule(&mut self, next: Option<Time>, target: Target) {
        match next {
            Some(at) => self.events.replace(at, target),
            None => self.events.pop(target),
        }
    }

    /// Counts a packet of this flow as no longer in flight.
    #[inline]
    fn left_network(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        flow.in_flight = flow.in_flight.wrapping_sub(1);
    }

    /// Delivers an ACK to its sender.
    fn feedback(&mut self, id: PacketId) {
        let Packet {
            flow: i,
            number,
            label,
            sent,
            header,
            ..
        } = self.packets[id];
        let (kind, rtt) = (label.kind(), self.now - sent);
        let flow = &mut self.flows[i];
        let history = flow.incoming.as_ref().map_or(0, |_| self.packets.history(id));
        self.packets.remove(id);
        let entry = &mut self.entries[flow.entry];
        entry.counters.acks.delivered += 1;
        entry.counters.round_trip(rtt);
        entry.window.rtt_sum += rtt.as_secs_f64();
        entry.window.rtt_count += 1;
        if flow.phase != Phase::Done {
            let ack = Ack {
                number,
                kind,
                rtt,
                header,
                marked: label.is_marked(),
                history,
            };
            let opened = !flow.sender.is_open();
            flow.sender.handle_ack(&entry.rules.lend(), self.now, &ack);
            if opened {
                flow.timer.clear();
            }
            if opened && flow.sender.law().paces() {
                let departure = flow.sender.departure(entry.rules.lend().limits);
                if let Some(at) = flow.pace.set(departure) {
                    self.schedule(at, Target::Send(i));
                }
            } else {
                self.try_send(i);
            }
        }
        self.left_network(i);
    }

    /// Sends a packet.
    #[inline(always)]
    fn launch(&mut self, i: FlowId, packet: Transmit<HeaderOf<P>>) {
        let flow = &mut self.flows[i];
        let entry = &mut self.entries[flow.entry];
        flow.in_flight = flow.in_flight.wrapping_add(1);
        entry.counters.data.sent += 1;
        entry.counters.sent_bytes += u64::from(packet.size);
        entry.window.sent_bytes += u64::from(packet.size);
        let first_hop = flow.hop;
        let id = self.packets.insert(Packet {
            header: packet.header,
            sent: self.now,
            offset: packet.offset,
            flow: i,
            number: packet.number,
            hop: first_hop,
            size: packet.size,
            label: Label::of(packet.kind, entry.rules.flags),
            acks: 1,
        });
        match &mut self.flows[i].host {
            None => self.move_on(id, first_hop, i),
            Some(host) => {
                let (link, at) = (self.hops[first_hop], host.departure(self.now));
                self.admit_pending(link);
                if let Some(at) = self.links[link].expect(at, id) {
                    self.events.push(at, Target::FlowEntry(link));
                }
            }
        }
    }
}
