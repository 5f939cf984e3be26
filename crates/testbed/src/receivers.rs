//! Receivers of a testbed's UDP flows. One thread acknowledges and counts all packets.

use std::collections::{HashMap, hash_map};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration as Span;

use levelflow_laws::Kind;
use levelflow_units::{Bytes, Duration, Time};
use levelflow_wire::shim::Shim;
use rustix::event::{PollFd, PollFlags};

use super::meter::{Counted, Delivered, Part, ReceivedTotal, Task};
use levelflow_host::batch::{Batch, MAX_BATCH, Origin};
use levelflow_host::clock::{self, Clock};
use levelflow_host::sys;
use levelflow_transport::{LONGEST_ACK, Received, Receiver};

/// Longest sleep. It limits the reaction time to the end of the run.
const MAX_SLEEP: Span = Span::from_millis(20);
/// Limit on the number of stored flow states per flow entry.
const MAX_FLOWS: usize = 200_000;

/// Receiver of a flow entry.
#[derive(Debug)]
pub struct ReceiverEntry {
    /// Number of the flow entry in the scenario.
    pub number: usize,
    /// Size of the Ethernet, IP and UDP headers, bytes.
    pub around: u64,
    /// Bytes of a data packet that are not payload.
    pub headers: u64,
    /// Non-blocking socket bound to the receiver's address.
    pub socket: UdpSocket,
    /// One-way delay from sender to receiver on an idle network, without transmission times.
    pub forward: Duration,
    /// True if lost data is retransmitted. The receiver cannot distinguish retransmissions from new data.
    pub retransmits: bool,
}

/// State of a flow entry at its receiver.
#[derive(Debug)]
struct Work {
    socket: UdpSocket,
    arrivals: Arrivals,
}

#[derive(Debug)]
struct Arrivals {
    number: usize,
    around: u64,
    headers: u64,
    forward: Duration,
    flows: HashMap<u32, Receiver>,
    delivered: Delivered,
    /// Value of `delivered` at the start of each sample: no bytes.
    none_delivered: Delivered,
    total: ReceivedTotal,
}

/// ACK in its buffer, its length, and its destination.
type Ack = ([u8; LONGEST_ACK], usize, SocketAddr);

/// Acknowledges packets until the worker is stopped. Returns totals by number of the flow entry.
///
/// # Errors
/// When a socket fails permanently.
pub fn run(entries: Vec<ReceiverEntry>, mut task: Task) -> Counted<ReceivedTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without real-time priority, ACKs may be late
    let mut all: Vec<Work> = entries.into_iter().map(Work::new).collect();
    let mut batch = Batch::default();
    while task.goes_on() {
        for work in &mut all {
            work.ack(&mut batch, &task.clock);
        }
        task.sample(task.clock.now(), || {
            let taken = |arrivals: &mut Arrivals| std::mem::replace(&mut arrivals.delivered, arrivals.none_delivered);
            let parts = all.iter_mut().map(|w| (w.arrivals.number, taken(&mut w.arrivals)));
            Part::Delivered(parts.collect())
        });
        let left = task.due().map_or(MAX_SLEEP, |due| task.clock.until(due).min(MAX_SLEEP));
        let sockets = all.iter().map(|w| &w.socket);
        let mut watched: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        clock::ready(&mut watched, left)?;
    }
    Ok(all.into_iter().map(|w| (w.arrivals.number, w.arrivals.total)).collect())
}

impl Work {
    fn new(entry: ReceiverEntry) -> Self {
        let none_delivered = Delivered {
            bytes: 0,
            new: (!entry.retransmits).then_some(0),
        };
        Self {
            socket: entry.socket,
            arrivals: Arrivals {
                number: entry.number,
                around: entry.around,
                headers: entry.headers,
                forward: entry.forward,
                flows: HashMap::new(),
                delivered: none_delivered,
                none_delivered,
                total: ReceivedTotal {
                    delivered: none_delivered,
                    ..ReceivedTotal::default()
                },
            },
        }
    }

    fn ack(&mut self, batch: &mut Batch, clock: &Clock) {
        let mut acks: Vec<Ack> = Vec::with_capacity(MAX_BATCH);
        loop {
            let take = |wire: &mut [u8], origin| acks.extend(self.arrivals.packet(wire, origin, clock));
            let taken = batch.receive(&self.socket, take);
            let outgoing = acks.iter().map(|(ack, length, to)| (&ack[..*length], Some(*to)));
            let failed = batch.send(&self.socket, outgoing);
            self.arrivals.total.acks += (acks.len() - failed) as u64;
            acks.clear();
            if !matches!(taken, Ok(MAX_BATCH..)) {
                return;
            }
        }
    }
}

impl Arrivals {
    /// Counts a packet. Returns an ACK if the packet needs one.
    fn packet(&mut self, wire: &[u8], origin: Origin, clock: &Clock) -> Option<Ack> {
        let (now, stamp): (Time, u64) = (clock.now(), clock::stamp());
        let (shim, header, _) = Shim::decode(wire).ok()?;
        let size = Bytes::new(self.around + wire.len() as u64);
        let new = match shim.kind {
            Kind::Data => size.get().saturating_sub(self.headers),
            _ => 0,
        };
        self.total.packets += 1;
        self.total.delivered.add(size.get(), new);
        self.delivered.add(size.get(), new);
        let took = stamp.saturating_sub(shim.time);
        self.total
            .excess
            .record(took.saturating_sub(self.forward.as_ps() / 1000));
        if shim.kind == Kind::Fin {
            self.flows.remove(&shim.flow);
            return None;
        }
        if self.flows.len() > MAX_FLOWS {
            self.flows.clear(); // drops the state of all flows; active flows start again with an empty state
        }
        let flow = match self.flows.entry(shim.flow) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(room) => room.insert(Receiver::new(shim.signalling)?),
        };
        let received = Received {
            shim: &shim,
            header,
            size,
            marked: origin.marked(),
        };
        let mut out = [0; LONGEST_ACK];
        let (_, length) = flow.ack(now, received, wire.len(), &mut out).ok()?;
        if shim.unacknowledged {
            return None;
        }
        Some((out, length, origin.from?))
    }
}
