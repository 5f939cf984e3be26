//! Senders of a testbed's UDP flows. One thread starts, paces, samples and ends the flows.

use std::collections::{HashMap, VecDeque};
use std::net::UdpSocket;

use levelflow_laws::{AnyParams, FlowInfo, Opening};
use levelflow_random::Stream;
use levelflow_results::{Outcome, TransferRow};
use levelflow_scenario::{Application, ApplicationSpec, RouteSpec};
use levelflow_transport::{Encoded, Limits};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::framing::Framing;
use levelflow_wire::shim::{Shim, prefix_bytes};

use rustix::event::{PollFd, PollFlags};

use super::meter::{Counted, EntrySample, Part, SentTotal, Task};
use super::schedule::Start;
use levelflow_host::clock::{self, Clock};
use levelflow_host::sys;
use levelflow_journal::Sender;

const MAX_PACKET_BYTES: usize = 1514;
/// Longest sleep. It limits the reaction time to the end of the run.
const MAX_SLEEP: Duration = Duration::from_ms(20);
/// Limit on packets that a flow sends before other flows can send.
const MAX_BURST_PACKETS: usize = 8;

/// Sender of a flow entry.
#[derive(Debug)]
pub struct SenderEntry {
    /// Number of the flow entry in the scenario.
    pub number: usize,
    /// Law of the flows, with its parameters.
    pub params: AnyParams,
    /// Packet sizes of the flows.
    pub framing: Framing,
    /// Size of the Ethernet, IP and UDP headers, bytes.
    pub around: u64,
    /// Size of packets that open or close a flow.
    pub control: Bytes,
    /// True if lost data is retransmitted.
    pub reliable: bool,
    /// Non-blocking socket connected to the receiver.
    pub socket: UdpSocket,
    /// Future starts of flows, in order of time.
    pub starts: VecDeque<Start>,
    /// Application that supplies data; `None` if the flow always has data to send.
    pub application: Option<ApplicationSpec>,
    /// Seed of the run.
    pub seed: u64,
    /// Name of the flow entry.
    pub name: String,
    /// One-way delay from receiver to sender: the base round-trip time minus the delay to the receiver.
    pub back: Duration,
    /// Path of the flows.
    pub route: RouteSpec,
}

#[derive(Debug)]
struct Live {
    sender: Sender,
    application: Option<Application>,
    start: Start,
    /// Number of lost packets in earlier samples.
    lost: u64,
}

#[derive(Debug)]
struct Work {
    entry: SenderEntry,
    single: bool,
    live: HashMap<u32, Live>,
    sample: EntrySample,
    total: SentTotal,
    transfers: Vec<TransferRow>,
    buffer: [u8; MAX_PACKET_BYTES],
}

/// Runs all flows of these flow entries until the worker is stopped. Returns totals by number of the flow entry.
///
/// # Errors
/// When a socket fails permanently.
pub fn run(entries: Vec<SenderEntry>, mut task: Task) -> Counted<SentTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without real-time priority, timer latency is larger
    let mut all: Vec<Work> = entries.into_iter().map(Work::new).collect();
    while task.goes_on() {
        for work in &mut all {
            work.listen(&task.clock);
        }
        // As in the simulator, a sample includes a flow that ends at the time of the sample.
        let now = task.clock.now();
        task.sample(now, || {
            let parts = all.iter_mut().map(|w| (w.entry.number, w.sample())).collect();
            let done = all.iter_mut().flat_map(|w| w.transfers.drain(..)).collect();
            Part::Sent(parts, done)
        });
        for work in &mut all {
            work.turn(&task.clock, now);
        }
        let dues = all.iter().filter_map(Work::due).chain(task.due());
        let next = dues.fold(now + MAX_SLEEP, Time::min);
        let sockets = all.iter().map(|w| &w.entry.socket);
        let mut watched: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        task.clock.ready(&mut watched, next)?;
    }
    Ok(all.into_iter().map(|w| (w.entry.number, w.end())).collect())
}

impl SenderEntry {
    /// Returns the limits on rate and packet sizes. The smallest data packet has one byte after its headers.
    fn limits(&self) -> Limits {
        let headers = self.around as u16 + prefix_bytes(self.params.law().signalling) as u16;
        Limits {
            max_rate: Some(Rate::clamped(Limits::MAX_RATE)),
            catch_up: Limits::OWN_THREAD,
            control: (self.control.get() as u16).max(headers),
            headers: self.framing.headers.get() as u16,
            least: headers + 1,
        }
    }

    /// Sends a packet. A packet that the socket rejects is lost.
    fn send(&self, packet: Encoded, buffer: &[u8; MAX_PACKET_BYTES]) {
        let length = (packet.size.get() - self.around) as usize;
        let _ = self.socket.send(&buffer[..length.min(MAX_PACKET_BYTES)]);
    }
}

impl Work {
    fn new(entry: SenderEntry) -> Self {
        Self {
            single: entry.starts.len() == 1,
            entry,
            live: HashMap::new(),
            sample: EntrySample::default(),
            total: SentTotal::default(),
            transfers: Vec::new(),
            buffer: [0; MAX_PACKET_BYTES],
        }
    }

    /// Receives all pending ACKs.
    fn listen(&mut self, clock: &Clock) {
        let mut ack = [0; MAX_PACKET_BYTES];
        while let Ok(length) = self.entry.socket.recv(&mut ack) {
            let (now, stamp) = (clock.now(), clock::stamp());
            let Ok((shim, header, rest)) = Shim::decode(&ack[..length]) else {
                self.total.refused += 1;
                continue;
            };
            let Some(live) = self.live.get_mut(&shim.flow) else {
                continue;
            };
            match live.sender.handle_ack(now, stamp, &shim, header, rest) {
                Ok(news) => {
                    self.total.acks += 1;
                    self.total.rtt.record(news.rtt.as_ps() / 1000);
                    self.sample.rtt_sum += news.rtt.as_secs_f64();
                    self.sample.rtt_count += 1;
                }
                Err(_) => self.total.refused += 1,
            }
        }
    }

    /// Starts and ends flows that are due, and sends packets that are due.
    fn turn(&mut self, clock: &Clock, now: Time) {
        while let Some(start) = self.entry.starts.front().copied().filter(|l| l.at <= now) {
            self.entry.starts.pop_front();
            let flow = loop {
                let flow = rand::random();
                if !self.live.contains_key(&flow) {
                    break flow;
                }
            };
            self.live
                .insert(flow, Live::new(&self.entry, flow, start, self.total.started));
            self.total.started += 1;
        }
        let Self {
            entry,
            live,
            total,
            sample,
            buffer,
            transfers,
            ..
        } = self;
        live.retain(|_, flow| {
            flow.sender.handle_timeout(now);
            flow.write(now);
            for _ in 0..MAX_BURST_PACKETS {
                let Some(packet) = flow.sender.poll_transmit(clock.now(), clock::stamp(), buffer) else {
                    break;
                };
                entry.send(packet, buffer);
                (total.packets, total.bytes) = (total.packets + 1, total.bytes + packet.size.get());
                sample.sent += packet.size.get();
            }
            let lost = flow.sender.counters().data.lost;
            sample.lost += lost - std::mem::replace(&mut flow.lost, lost);
            let goes_on = !flow.sender.is_done(now);
            if !goes_on {
                if flow.sender.transport().opening == Opening::Handshake {
                    entry.send(flow.sender.transmit_end(now, clock::stamp(), buffer), buffer);
                    total.packets += 1;
                }
                let fct = flow
                    .is_delivered(now)
                    .then(|| now.since(flow.start.at).saturating_sub(entry.back));
                let outcome = fct.map_or(Outcome::Aborted, |_| Outcome::Finished);
                transfers.extend(flow.transfer(outcome, fct));
                total.count_end(fct.is_some() || flow.start.transfer.is_none());
            }
            goes_on
        });
    }

    /// Ends the run. Returns the totals.
    fn end(mut self) -> SentTotal {
        let unfinished = self
            .live
            .values()
            .filter_map(|flow| flow.transfer(Outcome::Unfinished, None));
        self.total.transfers = self.transfers.drain(..).chain(unfinished).collect();
        self.total
    }

    fn due(&self) -> Option<Time> {
        let start = self.entry.starts.front().map(|start| start.at);
        let flows = self.live.values().filter_map(Live::due);
        flows.chain(start).min()
    }

    fn sample(&mut self) -> EntrySample {
        let mut sample = std::mem::take(&mut self.sample);
        sample.active = self.live.len() as u32;
        for flow in self.live.values().filter(|flow| flow.sender.has_data(Time::ZERO)) {
            let windowed = flow.sender.window() < u32::MAX;
            sample.rate += flow.sender.rate().bps();
            sample.proposal += flow.sender.proposal().bps();
            sample.window += if windowed { f64::from(flow.sender.window()) } else { 0.0 };
            if self.single {
                sample.bottleneck = self.entry.route.link_of(flow.sender.bottleneck());
            }
        }
        sample
    }
}

impl Live {
    fn new(entry: &SenderEntry, flow: u32, start: Start, member: u64) -> Self {
        let name = format!("{}.{member}", entry.name);
        let seed = Stream::new(entry.seed, "law", &name).bits();
        let size = start.size().map(|size| entry.framing.wire_size(Bytes::new(size)));
        let info = FlowInfo::of(entry.framing.packet).with(seed, size);
        let mut sender = Sender::new(entry.params.clone(), info, flow)
            .with_limits(entry.limits())
            .with_transfer(start.size(), Some(start.stop), entry.reliable);
        let application = entry.application.as_ref();
        let application =
            application.map(|spec| Application::new(spec, entry.framing.payload(), start.at, entry.seed, &name));
        if application.is_some() {
            sender = sender.with_application();
        }
        Self {
            sender,
            application,
            start,
            lost: 0,
        }
    }

    /// Returns true if all data of a finished flow has arrived. This is false for a flow that was stopped, and for a
    /// flow without ACKs.
    fn is_delivered(&self, now: Time) -> bool {
        now < self.start.stop && self.sender.transport().acknowledged
    }

    /// Returns the row of the flow's transfer; `None` if the flow has no size.
    fn transfer(&self, outcome: Outcome, fct: Option<Duration>) -> Option<TransferRow> {
        let mut row = self.start.transfer?;
        row.retransmitted = self.sender.counters().data.retransmitted;
        Some(row.ended(outcome, fct.map(Duration::as_secs_f64)))
    }

    fn due(&self) -> Option<Time> {
        if self.sender.is_done(Time::ZERO) {
            return Some(Time::ZERO);
        }
        let writes = self.application.as_ref().and_then(Application::due);
        self.sender.poll_timeout().into_iter().chain(writes).min()
    }

    /// Writes the data that the flow's application has supplied until `now`.
    fn write(&mut self, now: Time) {
        let Some(application) = &mut self.application else {
            return;
        };
        if self.sender.is_delivered() {
            application.handle_delivery(now);
        }
        while application.due().is_some_and(|at| at <= now) {
            self.sender.write(application.write());
        }
    }
}
