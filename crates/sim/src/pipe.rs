//! Delay lines without a rate limit. A delay line adds the difference between a path's base round-trip time and the
//! propagation delay of its links.

use std::collections::HashMap;

use levelflow_units::{Duration, Time};

use crate::id::{IdVec, PacketId, PipeId};
use crate::prefetch::ahead;
use crate::ring::Ring;

/// Number for a flow without a delay line. The delay of its links equals its base round-trip time.
pub const NO_PIPE: PipeId = PipeId(u32::MAX);

#[derive(Debug)]
struct Pipe {
    delay: Duration,
    users: u32,
    fifo: Ring<(Time, PacketId)>,
}

/// Delay lines, by delay. Flows with equal delays share a line.
#[derive(Debug, Default)]
pub struct Pipes {
    pipes: IdVec<PipeId, Pipe>,
    free: Vec<PipeId>,
    by_delay: HashMap<Duration, PipeId>,
}

impl Pipes {
    /// Adds a flow to the line with this delay. Returns the line.
    pub fn join(&mut self, delay: Duration) -> PipeId {
        if delay == Duration::ZERO {
            return NO_PIPE;
        }
        let Self { pipes, free, by_delay } = self;
        let id = *by_delay.entry(delay).or_insert_with(|| {
            let fresh = Pipe {
                delay,
                users: 0,
                fifo: Ring::default(),
            };
            if let Some(id) = free.pop() {
                pipes[id] = fresh;
                id
            } else {
                pipes.push(fresh)
            }
        });
        pipes[id].users += 1;
        id
    }

    /// Removes a flow from its line. The flow has no packets in flight.
    pub fn leave(&mut self, id: PipeId) {
        if id == NO_PIPE {
            return;
        }
        let pipe = &mut self.pipes[id];
        pipe.users -= 1;
        if pipe.users == 0 {
            self.by_delay.remove(&pipe.delay);
            self.free.push(id);
        }
    }

    /// Adds a packet. Returns its delivery time if no other packet is in the line.
    #[inline]
    pub fn push(&mut self, id: PipeId, now: Time, packet: PacketId) -> Option<Time> {
        let pipe = &mut self.pipes[id];
        let at = now.saturating_add(pipe.delay);
        pipe.fifo.push_back((at, packet));
        (pipe.fifo.len() == 1).then_some(at)
    }

    /// Removes the packet that is due. Returns the packet and the time of the next delivery.
    #[inline]
    pub fn pop(&mut self, id: PipeId) -> (PacketId, Option<Time>) {
        let fifo = &mut self.pipes[id].fifo;
        let ((_, packet), next) = fifo.pop_front().expect("a delivery event has a packet");
        (packet, next.map(|(at, _)| at))
    }

    /// Returns the packets to prefetch; see [`ahead`].
    #[inline]
    pub fn ahead(&self, id: PipeId) -> Option<[PacketId; 2]> {
        ahead(&self.pipes[id].fifo, |&(_, id)| id)
    }

    /// Returns the packets in all lines in arbitrary order.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.pipes.iter().flat_map(|p| p.fifo.iter().map(|&(_, id)| id))
    }

    /// Returns the memory used, bytes.
    pub fn memory(&self) -> usize {
        self.pipes.iter().map(|p| size_of::<Pipe>() + p.fifo.memory()).sum()
    }
}
