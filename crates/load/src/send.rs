//! Loop of `send`. One thread has one socket and a heap of deadlines.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use levelflow_laws::{Any, Protocol};
use levelflow_transport::Encoded;
use levelflow_units::{Duration, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, Shim};
use nix::errno::Errno;
use rand::RngExt as _;
use rustix::event::{PollFd, PollFlags};

use super::flows::{Flow, Plan};
use levelflow_host::batch::{Batch, MAX_BATCH, MAX_BATCHES_PER_TURN};
use levelflow_host::clock::{Clock, ready, stamp};
use levelflow_host::stop::Stop;
use levelflow_host::udp::{enable_marks, overhead, udp};
use levelflow_host::{Error, sys};

/// Maximum duration of one wait.
const MAX_SLEEP: Duration = Duration::from_ms(100);
const LONGEST_PACKET: usize = 9014;

/// Progress report of a run.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Time since the start.
    pub now: Time,
    /// Flows in progress.
    pub active: &'a [Flow],
    /// Flows that ended since the previous report.
    pub ended: &'a [Flow],
    /// True if the run is over.
    pub last: bool,
    /// Packets that the operating system rejected, or that reached no receiver.
    pub unreachable: u64,
}

/// Sends the flows of a plan to an address.
#[derive(Debug)]
pub struct Send {
    /// Flows to send.
    pub plan: Plan,
    /// Destination.
    pub to: SocketAddr,
    /// True for real-time scheduling, ahead of all ordinary programs. In this case, the thread never polls the clock
    /// before a deadline. It sleeps instead.
    pub realtime: bool,
    /// Time between two progress reports.
    pub every: Duration,
}

impl Send {
    /// Sends until all flows are over or `stop` is signalled. Calls `read` after each period of length `every`.
    ///
    /// # Errors
    /// When the address cannot be reached at all, or `read` fails.
    pub fn run(&self, stop: &Stop, mut read: impl FnMut(&Progress) -> Result<(), Error>) -> Result<(), Error> {
        let mut run = SendRun::new(self)?;
        sys::sharp_timers();
        if self.realtime {
            sys::realtime().map_err(|e| Error::failed(format!("--realtime: {e}; it needs CAP_SYS_NICE")))?;
        }
        run.clock = Clock::start();
        let mut reading = Time::ZERO + self.every;
        loop {
            let now = run.clock.now();
            run.start_flows(now);
            run.take_acks();
            run.send_due();
            let last = run.is_over();
            if now >= reading || last {
                run.read(last, &mut read)?;
                reading = (reading + self.every).max(now);
            }
            if last {
                return Ok(());
            }
            if run.wait(reading, stop, !self.realtime)? {
                run.read(true, &mut read)?;
                return Ok(());
            }
        }
    }
}

struct SendRun<'a> {
    send: &'a Send,
    clock: Clock,
    socket: UdpSocket,
    batch: Batch,
    starts: std::iter::Peekable<Box<dyn Iterator<Item = Time>>>,
    flows: Vec<Flow>,
    /// Index in `flows`, by the random identifier that ACKs carry.
    by_id: HashMap<u32, usize>,
    ended: Vec<Flow>,
    deadlines: BinaryHeap<Reverse<(Time, u32)>>,
    outgoing: Vec<Vec<u8>>,
    overhead: usize,
    begun: u32,
    unreachable: u64,
}

impl<'a> SendRun<'a> {
    fn new(send: &'a Send) -> Result<Self, Error> {
        let any: SocketAddr = if send.to.is_ipv4() {
            ([0, 0, 0, 0], 0).into()
        } else {
            ([0_u16; 8], 0).into()
        };
        let socket = udp(any)?;
        let to = send.to;
        socket
            .connect(to)
            .map_err(|e| Error::failed(format!("cannot reach {to}: {e}")))?;
        let transport = Any::transport(&send.plan.params);
        if transport.ecn {
            enable_marks(&socket, transport.scalable)?;
        }
        let starts: Box<dyn Iterator<Item = Time>> = Box::new(send.plan.starts());
        Ok(Self {
            send,
            clock: Clock::start(),
            socket,
            batch: Batch::default(),
            starts: starts.peekable(),
            flows: Vec::new(),
            by_id: HashMap::new(),
            ended: Vec::new(),
            deadlines: BinaryHeap::new(),
            outgoing: (0..MAX_BATCH).map(|_| vec![0; LONGEST_PACKET]).collect(),
            overhead: overhead(&to),
            begun: 0,
            unreachable: 0,
        })
    }

    fn is_over(&mut self) -> bool {
        self.flows.is_empty() && self.starts.peek().is_none()
    }

    fn start_flows(&mut self, now: Time) {
        while self.starts.next_if(|start| *start <= now).is_some() {
            self.begun += 1;
            let id = unused(&self.by_id);
            let flow = Flow::new(&self.send.plan, self.begun, id, self.overhead, now);
            self.by_id.insert(id, self.flows.len());
            self.deadlines.push(Reverse((now, id)));
            self.flows.push(flow);
            if let Some(flow) = self.flows.last_mut() {
                flow.queued = Some(now);
            }
        }
    }

    fn take_acks(&mut self) {
        for _ in 0..MAX_BATCHES_PER_TURN {
            let (flows, by_id, deadlines) = (&mut self.flows, &self.by_id, &mut self.deadlines);
            let (now, stamp) = (self.clock.now(), stamp());
            let taken = self.batch.receive(&self.socket, |wire, _| {
                let Ok((shim, header, rest)) = Shim::decode(wire) else {
                    return;
                };
                let Some(flow) = by_id.get(&shim.flow).and_then(|i| flows.get_mut(*i)) else {
                    return;
                };
                if let Ok(news) = flow.sender.handle_ack(now, stamp, &shim, header, rest) {
                    flow.on_ack(now, &news);
                    queue(deadlines, flow, now);
                }
            });
            match taken {
                Ok(taken) if taken >= MAX_BATCH => {}
                Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => self.unreachable += 1,
                Ok(_) | Err(_) => return,
            }
        }
    }

    /// Sends the packets that are due. Packets that leave at the same time share a system call.
    fn send_due(&mut self) {
        let mut lengths = [0; MAX_BATCH];
        let mut count = 0;
        let now = self.clock.now();
        while let Some(Reverse((at, id))) = self.deadlines.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.deadlines.pop();
            let Some(i) = self.by_id.get(&id).copied() else {
                continue;
            };
            let flow = &mut self.flows[i];
            if flow.queued != Some(at) {
                continue;
            }
            flow.queued = None;
            let mut head = [0; MAX_PREFIX_BYTES];
            if let Some(Encoded { size, prefix }) = flow.act(now, stamp(), &mut head) {
                let payload = (size.get() as usize - self.overhead).clamp(prefix, LONGEST_PACKET);
                self.outgoing[count][..prefix].copy_from_slice(&head[..prefix]);
                lengths[count] = payload;
                count += 1;
            }
            if flow.is_over() {
                self.end(i);
            } else {
                queue(&mut self.deadlines, flow, now);
            }
            if count == MAX_BATCH {
                break;
            }
        }
        let datagrams = self.outgoing.iter().zip(lengths).take(count);
        self.unreachable +=
            self.batch
                .send(&self.socket, datagrams.map(|(wire, length)| (&wire[..length], None))) as u64;
    }

    fn end(&mut self, i: usize) {
        let flow = self.flows.swap_remove(i);
        self.by_id.remove(&flow.sender.flow());
        if let Some(moved) = self.flows.get(i) {
            self.by_id.insert(moved.sender.flow(), i);
        }
        self.ended.push(flow);
    }

    fn read(&mut self, last: bool, read: &mut impl FnMut(&Progress) -> Result<(), Error>) -> Result<(), Error> {
        let progress = Progress {
            now: self.clock.now(),
            active: &self.flows,
            ended: &self.ended,
            last,
            unreachable: self.unreachable,
        };
        read(&progress)?;
        for flow in &mut self.flows {
            flow.round_trips = (0.0, 0);
        }
        self.ended.clear();
        Ok(())
    }

    /// Waits for the next deadline or an ACK. Returns true if `stop` is signalled.
    fn wait(&mut self, reading: Time, stop: &Stop, spin: bool) -> Result<bool, Error> {
        let deadline = self.deadlines.peek().map(|Reverse((at, _))| *at);
        let start = self.starts.peek().copied();
        let now = self.clock.now();
        let nap = now.checked_add(MAX_SLEEP).unwrap_or(now);
        let until = [deadline, start, Some(reading), Some(nap)]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(nap);
        let mut watched = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        ];
        if spin {
            self.clock.ready(&mut watched, until)?;
        } else {
            ready(&mut watched, self.clock.until(until))?;
        }
        Ok(!watched[1].revents().is_empty())
    }
}

/// Returns a random flow identifier that is not in use. Without this check, two flows would have the same identifier in
/// 1 % of the runs with ten thousand flows.
fn unused(taken: &HashMap<u32, usize>) -> u32 {
    let mut random = rand::rng();
    loop {
        let id = random.random();
        if !taken.contains_key(&id) {
            return id;
        }
    }
}

/// Adds the deadline of a flow to the heap, if it has changed.
fn queue(deadlines: &mut BinaryHeap<Reverse<(Time, u32)>>, flow: &mut Flow, now: Time) {
    let due = flow.due().map(|due| due.max(now));
    if due != flow.queued
        && let Some(due) = due
    {
        flow.queued = Some(due);
        deadlines.push(Reverse((due, flow.sender.flow())));
    }
}
