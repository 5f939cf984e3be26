//! The output queue of a relay: a line of finite rate behind a buffer of finite size. It has no clock: whoever owns it tells
//! the time.

use std::collections::VecDeque;

use levelflow_host::buffer::Buffer;
use levelflow_units::{Bytes, Duration, Rate, Time};

#[derive(Debug)]
struct Waiting<T> {
    leaves: Time,
    size: Bytes,
    packet: T,
}

/// Packets in order, each with the time when its last bit has left.
#[derive(Debug)]
pub struct Queue<T> {
    rate: Rate,
    buffer: Buffer,
    /// When the line is done with what it has.
    free: Time,
    bytes: u64,
    waiting: VecDeque<Waiting<T>>,
}

impl<T> Queue<T> {
    /// An empty queue before a line of this rate, which is above zero.
    #[must_use]
    pub fn new(rate: Rate, buffer: Buffer) -> Self {
        Self {
            rate,
            buffer,
            free: Time::ZERO,
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Takes a packet.
    ///
    /// # Errors
    /// Gives it back if there is no room.
    pub fn push(&mut self, now: Time, size: Bytes, packet: T) -> Result<(), T> {
        let room = match self.buffer {
            Buffer::Bytes(limit) => self.bytes.saturating_add(size.get()) <= limit,
            Buffer::Packets(limit) => (self.waiting.len() as u64) < limit,
        };
        if !room {
            return Err(packet);
        }
        let takes = self.rate.time_to_send(size).unwrap_or(Duration::MAX);
        let leaves = self.free.max(now).checked_add(takes).unwrap_or(Time::from_ps(u64::MAX));
        self.free = leaves;
        self.bytes += size.get();
        self.waiting.push_back(Waiting { leaves, size, packet });
        Ok(())
    }

    /// When the next packet leaves.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.waiting.front().map(|w| w.leaves)
    }

    /// The next packet, if it has left by now: when it did, its size, and itself.
    pub fn pop(&mut self, now: Time) -> Option<(Time, Bytes, T)> {
        self.next().filter(|leaves| *leaves <= now)?;
        let Waiting { leaves, size, packet } = self.waiting.pop_front()?;
        self.bytes -= size.get();
        Some((leaves, size, packet))
    }

    /// Bytes that wait or are in service.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// Packets that wait or are in service.
    #[must_use]
    pub fn packets(&self) -> u32 {
        u32::try_from(self.waiting.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Lindley's recursion: a packet leaves one transmission after the later of its arrival and the one before.
        #[test]
        fn departures_follow_the_recursion_of_lindley(
            arrivals in prop::collection::vec((0_u64..3_000, 60_u64..1_600), 1..60),
            mbps in 1_u32..1000,
        ) {
            let rate = Rate::new(f64::from(mbps) * 1e6).unwrap();
            let mut queue = Queue::new(rate, Buffer::Packets(1000));
            let (mut now, mut last, mut due) = (Time::ZERO, Time::ZERO, Vec::new());
            for (gap, size) in arrivals {
                now += Duration::from_us(gap);
                last = last.max(now) + Duration::from_ps((size as f64 * 8e12 / rate.bps()).round() as u64);
                due.push((last, size));
                prop_assert!(queue.push(now, Bytes::new(size), size).is_ok());
            }
            let first = due[0].0;
            prop_assert!(queue.pop(Time::from_ps(first.as_ps() - 1)).is_none());
            for (leaves, size) in due {
                let (left, bytes, packet) = queue.pop(Time::from_ps(u64::MAX)).unwrap();
                prop_assert!(left.as_ps().abs_diff(leaves.as_ps()) <= 60, "{left} is not {leaves}");
                prop_assert_eq!((bytes.get(), packet), (size, size));
            }
            prop_assert_eq!((queue.bytes(), queue.packets()), (Bytes::ZERO, 0));
        }

        #[test]
        fn a_queue_never_holds_more_than_its_buffer(sizes in prop::collection::vec(1_u64..3_000, 1..60), room in 1_u64..9_000) {
            let mut queue = Queue::new(Rate::new(1e6).unwrap(), Buffer::Bytes(room));
            for size in sizes {
                let before = queue.bytes().get();
                let taken = queue.push(Time::ZERO, Bytes::new(size), ()).is_ok();
                prop_assert_eq!(taken, before + size <= room);
                prop_assert!(queue.bytes().get() <= room);
            }
        }
    }
}
