//! The sending ends of a testbed's UDP flows, all in one thread: starts, paces, samples and ends them.

use std::collections::{HashMap, VecDeque};
use std::net::UdpSocket;

use levelflow_laws::{AnyParams, FlowInfo, Opening};
use levelflow_random::Stream;
use levelflow_results::{Outcome, TransferRow};
use levelflow_scenario::{Application, ApplicationSpec, RouteSpec};
use levelflow_transport::{Encoded, Limits};
use levelflow_units::{Bytes, Duration, Rate, Time};
use levelflow_wire::shim::{LONGEST, Shim};

use rustix::event::{PollFd, PollFlags};

use super::meter::{Counted, EntrySample, Part, SentTotal, Task};
use super::schedule::Start;
use levelflow_host::clock::{self, Clock};
use levelflow_host::journal::Sender;
use levelflow_host::sys;

const LARGEST: usize = 1514;
/// Sleep at most so long, so that the end is seen.
const NAP: Duration = Duration::from_ms(20);
/// Packets of a flow before others have their turn.
const BURST: usize = 8;

/// A flow entry's sending end.
#[derive(Debug)]
pub struct Entry {
    /// Its number in the scenario.
    pub number: usize,
    /// The law.
    pub params: AnyParams,
    /// Largest packet on the wire.
    pub packet: Bytes,
    /// What of a packet is not payload of UDP, bytes.
    pub around: u64,
    /// Size of packets that open and close flows.
    pub control: Bytes,
    /// Whether what is lost is sent again.
    pub reliable: bool,
    /// Connected to the receiver, and never waits.
    pub socket: UdpSocket,
    /// Flows to come, in order.
    pub starts: VecDeque<Start>,
    /// Its application, unless there is always something to send.
    pub application: Option<ApplicationSpec>,
    /// Seed of the run.
    pub seed: u64,
    /// Its name.
    pub name: String,
    /// Reverse part of the base round trip.
    pub back: Duration,
    /// Its path.
    pub route: RouteSpec,
}

#[derive(Debug)]
struct Live {
    sender: Sender,
    application: Option<Application>,
    start: Start,
    /// Of its lost packets, how many are in a sample already.
    lost: u64,
}

#[derive(Debug)]
struct Work {
    entry: Entry,
    single: bool,
    live: HashMap<u32, Live>,
    sample: EntrySample,
    total: SentTotal,
    transfers: Vec<TransferRow>,
    buffer: [u8; LARGEST],
}

/// Runs all flows of these entries until told to stop; gives totals by number of the entry.
///
/// # Errors
/// When a socket fails for good.
pub fn run(entries: Vec<Entry>, mut task: Task) -> Counted<SentTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without it, packets are later
    let mut all: Vec<Work> = entries.into_iter().map(Work::new).collect();
    while task.goes_on() {
        for work in &mut all {
            work.listen(&task.clock);
        }
        // A flow that ends at the very time of a sample is in it, as in the simulator.
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
        let next = dues.fold(now + NAP, Time::min);
        let sockets = all.iter().map(|w| &w.entry.socket);
        let mut watched: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        task.clock.ready(&mut watched, next)?;
    }
    Ok(all.into_iter().map(|w| (w.entry.number, w.end())).collect())
}

impl Entry {
    /// The smallest packet has room for shim and header of any law.
    fn limits(&self) -> Limits {
        let least = (self.around + LONGEST as u64) as u16;
        Limits {
            max_rate: Some(Rate::clamped(Limits::MAX_RATE)),
            catch_up: Limits::OWN_THREAD,
            control: (self.control.get() as u16).max(least),
            least,
        }
    }

    /// A packet that the socket refuses is lost, as on any path.
    fn send(&self, packet: Encoded, buffer: &[u8; LARGEST]) {
        let length = (packet.size.get() - self.around) as usize;
        let _ = self.socket.send(&buffer[..length.min(LARGEST)]);
    }
}

impl Work {
    fn new(entry: Entry) -> Self {
        Self {
            single: entry.starts.len() == 1,
            entry,
            live: HashMap::new(),
            sample: EntrySample::default(),
            total: SentTotal::default(),
            transfers: Vec::new(),
            buffer: [0; LARGEST],
        }
    }

    /// Takes all ACKs that have arrived.
    fn listen(&mut self, clock: &Clock) {
        let mut ack = [0; LARGEST];
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

    /// Starts what is to start, sends what is due, ends what is done.
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
            for _ in 0..BURST {
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

    /// The run is over.
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
    fn new(entry: &Entry, flow: u32, start: Start, member: u64) -> Self {
        let name = format!("{}.{member}", entry.name);
        let info = FlowInfo {
            packet_size: entry.packet,
            seed: Stream::new(entry.seed, "law", &name).bits(),
        };
        let mut sender = Sender::new(entry.params.clone(), info, flow)
            .with_limits(entry.limits())
            .with_transfer(start.size(), Some(start.stop), entry.reliable);
        let application = entry.application.as_ref();
        let application = application.map(|spec| Application::new(spec, entry.packet, start.at, entry.seed, &name));
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

    /// Returns true if ACKs show that everything has arrived.
    fn is_delivered(&self, now: Time) -> bool {
        now < self.start.stop && self.sender.transport().acknowledged
    }

    /// The row of its transfer, if it is one.
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

    /// What its application has to send by now.
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
