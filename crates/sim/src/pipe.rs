//! Delay lines without capacity: the part of a path's base round-trip time that exceeds the propagation of its links.

use std::collections::HashMap;

use levelflow_units::{Duration, Time};

use crate::packet::PacketId;
use crate::prefetch::ahead;
use crate::ring::Ring;

/// Marks a flow whose links account for all of its base round-trip time.
pub const NO_PIPE: u32 = u32::MAX;

#[derive(Debug)]
struct Pipe {
    delay: Duration,
    users: u32,
    fifo: Ring<(Time, PacketId)>,
}

/// Delay lines by delay; flows with the same delay share one line.
#[derive(Debug, Default)]
pub struct Pipes {
    pipes: Vec<Pipe>,
    free: Vec<u32>,
    by_delay: HashMap<Duration, u32>,
}

impl Pipes {
    /// Adds a flow to the line with this delay; returns the line.
    pub fn join(&mut self, delay: Duration) -> u32 {
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
                pipes[id as usize] = fresh;
                id
            } else {
                pipes.push(fresh);
                (pipes.len() - 1) as u32
            }
        });
        pipes[id as usize].users += 1;
        id
    }

    /// Removes a flow, which has nothing in flight, from its line.
    pub fn leave(&mut self, id: u32) {
        if id == NO_PIPE {
            return;
        }
        let pipe = &mut self.pipes[id as usize];
        pipe.users -= 1;
        if pipe.users == 0 {
            self.by_delay.remove(&pipe.delay);
            self.free.push(id);
        }
    }

    /// Adds a packet; returns its delivery time if it is the only one.
    #[inline]
    pub fn push(&mut self, id: u32, now: Time, packet: PacketId) -> Option<Time> {
        let pipe = &mut self.pipes[id as usize];
        let at = now.saturating_add(pipe.delay);
        pipe.fifo.push_back((at, packet));
        (pipe.fifo.len() == 1).then_some(at)
    }

    /// Removes the packet that is due; returns it and the time of the next delivery.
    #[inline]
    pub fn pop(&mut self, id: u32) -> (PacketId, Option<Time>) {
        let fifo = &mut self.pipes[id as usize].fifo;
        let ((_, packet), next) = fifo.pop_front().expect("an event per packet");
        (packet, next.map(|(at, _)| at))
    }

    /// Packets to prefetch; see [`ahead`].
    #[inline]
    pub fn ahead(&self, id: u32) -> Option<[PacketId; 2]> {
        ahead(&self.pipes[id as usize].fifo, |&(_, id)| id)
    }

    /// Packets in all lines, in no particular order.
    pub fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.pipes.iter().flat_map(|p| p.fifo.iter().map(|&(_, id)| id))
    }

    /// Bytes of memory held.
    pub fn memory(&self) -> usize {
        self.pipes.iter().map(|p| size_of::<Pipe>() + p.fifo.memory()).sum()
    }
}
