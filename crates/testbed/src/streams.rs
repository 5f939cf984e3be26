//! Flows of the kernel's TCP in a testbed. One thread sends, and another thread receives.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use levelflow_results::{Outcome, TransferRow};
use levelflow_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags};
use socket2::Socket;

use super::meter::{Counted, Delivered, EntrySample, Part, ReceivedTotal, SentTotal, Task};
use super::schedule::Start;
use levelflow_host::clock::ready;
use levelflow_host::sys::{self, TcpState};

/// Interval between readings of a connection's state. This is also the longest sleep.
const POLL_INTERVAL: Duration = Duration::from_ms(5);
static CHUNK: [u8; 1 << 16] = [0; 1 << 16];

/// Sender of a flow entry.
#[derive(Debug)]
pub struct StreamEntry {
    /// Number of the flow entry in the scenario.
    pub number: usize,
    /// Size of the largest packet on the wire.
    pub packet: u64,
    /// Size of a packet's headers: Ethernet, IP, and TCP with its time stamps, bytes.
    pub around: u64,
    /// Payload of the largest packet, as the scenario counts it, bytes.
    pub payload: u64,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Future starts of flows in order of time, each with the flow's socket.
    pub starts: VecDeque<(Start, Socket)>,
    /// One-way delay from receiver to sender, as in the base round-trip time.
    pub back: Duration,
}

#[derive(Debug)]
struct Live {
    socket: Socket,
    start: Start,
    /// Payload not yet written, bytes.
    left: u64,
    state: TcpState,
}

#[derive(Debug)]
struct Work {
    entry: StreamEntry,
    live: Vec<Live>,
    sample: EntrySample,
    total: SentTotal,
    transfers: Vec<TransferRow>,
    looked: Time,
}

/// Runs all flows of these flow entries until the worker is stopped. Returns totals by number of the flow entry.
///
/// # Errors
/// When waiting for sockets fails.
pub fn send(entries: Vec<StreamEntry>, mut task: Task) -> Counted<SentTotal> {
    let mut all: Vec<Work> = entries.into_iter().map(Work::new).collect();
    while task.goes_on() {
        let now = task.clock.now();
        for work in &mut all {
            work.turn(now);
        }
        task.sample(now, || {
            let parts = all.iter_mut().map(|w| (w.entry.number, w.sample())).collect();
            let done = all.iter_mut().flat_map(|w| w.transfers.drain(..)).collect();
            Part::Sent(parts, done)
        });
        let starts = all.iter().filter_map(|w| w.entry.starts.front().map(|(l, _)| l.at));
        let next = starts.chain(task.due()).fold(now + POLL_INTERVAL, Time::min);
        let flows = all.iter().flat_map(|w| &w.live).filter(|f| f.left > 0);
        let mut watched: Vec<_> = flows.map(|f| PollFd::new(&f.socket, PollFlags::OUT)).collect();
        ready(&mut watched, task.clock.until(next))?;
    }
    Ok(all.into_iter().map(|w| (w.entry.number, w.end())).collect())
}

impl Work {
    fn new(entry: StreamEntry) -> Self {
        let (live, transfers, looked) = (Vec::new(), Vec::new(), Time::ZERO);
        let (sample, total) = (EntrySample::default(), SentTotal::default());
        Self {
            entry,
            live,
            sample,
            total,
            transfers,
            looked,
        }
    }

    fn turn(&mut self, now: Time) {
        while self.entry.starts.front().is_some_and(|(start, _)| start.at <= now) {
            let Some((start, socket)) = self.entry.starts.pop_front() else {
                break;
            };
            let _ = socket.connect(&self.entry.to.into()); // opens in the background; after a failure, no data arrives
            let carried = self.entry.packet - self.entry.around;
            let stream = |size: u64| size.saturating_mul(carried) / self.entry.payload;
            let left = start.size().map_or(u64::MAX, |size| stream(size).max(1));
            self.live.push(Live {
                socket,
                start,
                left,
                state: TcpState::default(),
            });
            self.total.started += 1;
        }
        let look = now.since(self.looked) >= POLL_INTERVAL;
        if look {
            self.looked = now;
        }
        let Self {
            entry,
            live,
            sample,
            total,
            transfers,
            ..
        } = self;
        live.retain_mut(|flow| {
            flow.write();
            let ends = now >= flow.start.stop;
            if look || ends {
                flow.look(entry.around, sample, total);
            }
            let done = flow.left == 0 && flow.state.waiting == 0;
            if !(ends || done) {
                return true;
            }
            let outcome = if done { Outcome::Finished } else { Outcome::Aborted };
            let fct = now.since(flow.start.at).saturating_sub(entry.back);
            transfers.extend(flow.transfer(outcome, done.then_some(fct)));
            total.count_end(done || flow.start.transfer.is_none());
            false
        });
    }

    /// Ends the run. Returns the totals.
    fn end(mut self) -> SentTotal {
        let unfinished = self
            .live
            .iter()
            .filter_map(|flow| flow.transfer(Outcome::Unfinished, None));
        self.total.transfers = self.transfers.drain(..).chain(unfinished).collect();
        self.total
    }

    fn sample(&mut self) -> EntrySample {
        let mut sample = std::mem::take(&mut self.sample);
        sample.active = self.live.len() as u32;
        for flow in self.live.iter().filter(|flow| flow.state.rtt_us > 0) {
            let window = f64::from(flow.state.window);
            sample.window += window;
            sample.rate += window * self.entry.packet as f64 * 8e6 / f64::from(flow.state.rtt_us);
        }
        sample.proposal = sample.rate;
        sample
    }
}

impl Live {
    /// Returns the row of the flow's transfer; `None` if the flow has no size.
    fn transfer(&self, outcome: Outcome, fct: Option<Duration>) -> Option<TransferRow> {
        let mut row = self.start.transfer?;
        row.retransmitted = self.state.resent;
        Some(row.ended(outcome, fct.map(Duration::as_secs_f64)))
    }

    fn write(&mut self) {
        while self.left > 0 {
            let size = CHUNK.len().min(usize::try_from(self.left).unwrap_or(CHUNK.len()));
            match self.socket.send(&CHUNK[..size]) {
                Ok(sent) => self.left -= sent as u64,
                Err(_) => return, // the socket buffer is full, or the connection is not yet established
            }
        }
    }

    /// Reads the connection's state, and adds the difference from the previous reading to `sample` and `total`.
    fn look(&mut self, around: u64, sample: &mut EntrySample, total: &mut SentTotal) {
        let Ok(state) = sys::tcp_state(self.socket.as_fd()) else {
            return;
        };
        let old = std::mem::replace(&mut self.state, state);
        let packets = u64::from(state.segments.wrapping_sub(old.segments));
        let bytes = state.bytes.saturating_sub(old.bytes) + packets * around;
        (total.packets, total.bytes) = (total.packets + packets, total.bytes + bytes);
        sample.sent += bytes;
        sample.lost += u64::from(state.resent.wrapping_sub(old.resent));
        if state.rtt_us > 0 && state.segments != old.segments {
            total.rtt.record(u64::from(state.rtt_us) * 1000);
            sample.rtt_sum += f64::from(state.rtt_us) / 1e6;
            sample.rtt_count += 1;
        }
    }
}

/// Receiver of a flow entry.
#[derive(Debug)]
pub struct Listening {
    /// Number of the flow entry in the scenario.
    pub number: usize,
    /// Size of the largest packet on the wire.
    pub packet: u64,
    /// Size of a packet's headers: Ethernet, IP, and TCP with its time stamps, bytes.
    pub around: u64,
    /// Payload of the largest packet, as the scenario counts it, bytes.
    pub payload: u64,
    /// Non-blocking listening socket.
    pub listener: TcpListener,
}

#[derive(Debug)]
struct Sink {
    entry: Listening,
    streams: Vec<TcpStream>,
    /// Payload received since the previous sample, bytes.
    delivered: u64,
    /// Total payload received, bytes.
    total: u64,
}

/// Receives data until the worker is stopped. Returns totals by number of the flow entry.
///
/// # Errors
/// When waiting for sockets fails.
pub fn receive(entries: Vec<Listening>, mut task: Task) -> Counted<ReceivedTotal> {
    let sink = |entry| Sink {
        entry,
        streams: Vec::new(),
        delivered: 0,
        total: 0,
    };
    let mut all: Vec<Sink> = entries.into_iter().map(sink).collect();
    while task.goes_on() {
        all.iter_mut().for_each(Sink::take);
        let now = task.clock.now();
        task.sample(now, || {
            let parts = all
                .iter_mut()
                .map(|s| (s.entry.number, s.on_the_wire(s.delivered)))
                .collect();
            all.iter_mut().for_each(|s| s.delivered = 0);
            Part::Delivered(parts)
        });
        let next = task
            .due()
            .map_or(now + POLL_INTERVAL, |due| due.min(now + POLL_INTERVAL));
        let reading = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let ends = all.iter().flat_map(|s| {
            let streams = s.streams.iter().map(|t| reading(t.as_fd()));
            streams.chain([reading(s.entry.listener.as_fd())])
        });
        let mut watched: Vec<_> = ends.collect();
        ready(&mut watched, task.clock.until(next))?;
    }
    let total = |s: Sink| {
        let delivered = s.on_the_wire(s.total);
        (
            s.entry.number,
            ReceivedTotal {
                packets: delivered.bytes / s.entry.packet,
                delivered,
                ..ReceivedTotal::default()
            },
        )
    };
    Ok(all.into_iter().map(total).collect())
}

impl Sink {
    fn take(&mut self) {
        while let Ok((stream, _)) = self.entry.listener.accept() {
            if stream.set_nonblocking(true).is_ok() {
                self.streams.push(stream);
            }
        }
        let (mut buffer, mut got) = (vec![0; 1 << 16], 0);
        self.streams.retain_mut(|stream| {
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) => return false,
                    Ok(size) => got += size as u64,
                    Err(e) => return matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
                }
            }
        });
        self.delivered += got;
        self.total += got;
    }

    /// Converts bytes of the stream to bytes on the wire and to payload, for full packets with headers. All bytes are
    /// new, because TCP delivers each byte once.
    fn on_the_wire(&self, stream: u64) -> Delivered {
        let packets = stream as f64 / (self.entry.packet - self.entry.around) as f64;
        let of_packets = |size: u64| (packets * size as f64) as u64;
        Delivered {
            bytes: of_packets(self.entry.packet),
            new: Some(of_packets(self.entry.payload)),
        }
    }
}
