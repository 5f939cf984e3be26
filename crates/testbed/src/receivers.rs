//! The receivers of a testbed's UDP flows, all in one thread: they acknowledge and count.

use std::collections::HashMap;
use std::net::UdpSocket;
use std::time::Duration as Span;

use levelflow_laws::Kind;
use levelflow_units::{Bytes, Duration, Time};
use levelflow_wire::shim::Shim;
use rustix::event::{PollFd, PollFlags};

use super::meter::{Counted, Part, ReceivedTotal, Task};
use levelflow_host::clock::{self, Clock};
use levelflow_host::sys;
use levelflow_transport::{LONGEST_ACK, Received, Receiver};

/// Sleep at most so long, so that the end is seen.
const NAP: Span = Span::from_millis(20);
/// Flows of an entry that are remembered.
const MOST: usize = 200_000;

/// A flow entry's receiving end.
#[derive(Debug)]
pub struct Entry {
    /// Its number in the scenario.
    pub number: usize,
    /// What of a packet is not payload of UDP, bytes.
    pub around: u64,
    /// Bound to the receiver's address, and never waits.
    pub socket: UdpSocket,
    /// Time from sender to receiver on an idle network, without that of sending the packet.
    pub forward: Duration,
}

#[derive(Debug)]
struct Work {
    entry: Entry,
    flows: HashMap<u32, Receiver>,
    delivered: u64,
    total: ReceivedTotal,
}

/// Acknowledges until stopped; returns totals by number of the entry.
///
/// # Errors
/// When a socket fails for good.
pub fn run(entries: Vec<Entry>, mut task: Task) -> Counted<ReceivedTotal> {
    sys::sharp_timers();
    let _ = sys::realtime(); // without it, ACKs are later
    let (flows, total) = (HashMap::new, ReceivedTotal::default);
    let start = |entry| Work {
        entry,
        flows: flows(),
        delivered: 0,
        total: total(),
    };
    let mut all: Vec<Work> = entries.into_iter().map(start).collect();
    while task.goes_on() {
        for work in &mut all {
            work.ack(&task.clock);
        }
        task.sample(task.clock.now(), || {
            let parts = all
                .iter_mut()
                .map(|w| (w.entry.number, std::mem::take(&mut w.delivered)));
            Part::Delivered(parts.collect())
        });
        let left = task.due().map_or(NAP, |due| task.clock.until(due).min(NAP));
        let sockets = all.iter().map(|w| &w.entry.socket);
        let mut watched: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        clock::ready(&mut watched, left)?;
    }
    Ok(all.into_iter().map(|w| (w.entry.number, w.total)).collect())
}

impl Work {
    fn ack(&mut self, clock: &Clock) {
        let (mut packet, mut out) = ([0; 2048], [0; LONGEST_ACK]);
        while let Ok((length, from)) = self.entry.socket.recv_from(&mut packet) {
            let (now, stamp): (Time, u64) = (clock.now(), clock::stamp());
            let Ok((shim, header, _)) = Shim::decode(&packet[..length]) else {
                continue;
            };
            let size = Bytes::new(self.entry.around + length as u64);
            (self.total.packets, self.total.bytes) = (self.total.packets + 1, self.total.bytes + size.get());
            self.delivered += size.get();
            let took = stamp.saturating_sub(shim.time);
            self.total
                .waits
                .record(took.saturating_sub(self.entry.forward.as_ps() / 1000));
            let flow = match self.flows.entry(shim.flow) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(_) if shim.kind == Kind::Fin => continue,
                std::collections::hash_map::Entry::Vacant(room) => match Receiver::new(shim.law) {
                    Some(receiver) => room.insert(receiver),
                    None => continue,
                },
            };
            if shim.kind == Kind::Fin {
                self.flows.remove(&shim.flow);
                continue;
            }
            if let Ok((_, length)) = flow.ack(
                now,
                Received {
                    shim: &shim,
                    header,
                    size,
                    marked: false,
                },
                length,
                &mut out,
            ) && self.entry.socket.send_to(&out[..length], from).is_ok()
            {
                self.total.acks += 1;
            }
        }
        if self.flows.len() > MOST {
            self.flows.clear(); // of flows that are over; the others begin anew
        }
    }
}
