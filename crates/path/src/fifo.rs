//! A first-in first-out queue in front of a transmitter.

use std::collections::VecDeque;

use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::scheduler::FlowKey;

/// A packet that has been transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<T> {
    /// End of the transmission.
    pub at: Time,
    /// Queueing delay before the transmission.
    pub waited: Duration,
    /// Packet size.
    pub size: Bytes,
    /// Header fields of the packet, as passed on arrival. A [`Fifo`] returns the default value.
    pub class: FlowKey,
    /// The packet.
    pub packet: T,
}

/// Bytes and packets queued or in service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes queued or in service.
    pub bytes: Bytes,
    /// Packets queued or in service.
    pub packets: u32,
    /// Bytes of the packet in service. Zero if the queue does not report them.
    pub in_service: Bytes,
}

/// Drop-tail queue with a transmitter of finite rate.
///
/// The departure time of a packet is computed on arrival, so a departure needs no event. A departed packet stays in the
/// queue until `poll_output` returns it. Callers therefore poll all packets that have departed by now before they add a
/// packet. A rate of zero means that the link is down. Packets then stay queued.
#[derive(Debug)]
pub struct Fifo<T> {
    rate: Option<Rate>,
    limit: Buffer,
    /// Transmission time per byte, ps.
    pace: f64,
    /// Time at which the transmitter becomes idle.
    free_at: Time,
    /// Remaining bytes of the packet in service when the link went down.
    stalled: Option<f64>,
    bytes: u64,
    waiting: VecDeque<Waiting<T>>,
}

#[derive(Debug)]
struct Waiting<T> {
    came: Time,
    /// Start of the transmission.
    begins: Time,
    leaves: Time,
    size: Bytes,
    packet: T,
}

impl<T> Fifo<T> {
    /// Creates an idle transmitter. If `rate` is `None`, transmission takes no time.
    #[must_use]
    pub fn new(rate: Option<Rate>, limit: Buffer) -> Self {
        Self {
            rate,
            limit,
            pace: pace(rate),
            free_at: Time::ZERO,
            stalled: None,
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }

    /// Adds a packet to the queue.
    ///
    /// # Errors
    /// Returns the packet if it does not fit into the queue.
    pub fn handle_input(&mut self, now: Time, size: Bytes, packet: T) -> Result<(), T> {
        if !self.limit.admits(self.bytes, self.waiting.len() as u64, size.get()) {
            return Err(packet);
        }
        let begins = now.max(self.free_at);
        self.free_at = begins.saturating_add(self.transmission(size.get() as f64));
        self.bytes += size.get();
        self.waiting.push_back(Waiting {
            came: now,
            begins,
            leaves: self.free_at,
            size,
            packet,
        });
        Ok(())
    }

    /// Returns the next departure time.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.waiting.front().map(|head| head.leaves)
    }

    /// Removes and returns the next packet if its transmission has ended by now.
    pub fn poll_output(&mut self, now: Time) -> Option<Departure<T>> {
        self.poll_timeout().filter(|&at| at <= now)?;
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size.get();
        Some(Departure {
            at: head.leaves,
            waited: head.begins.since(head.came),
            size: head.size,
            class: FlowKey::default(),
            packet: head.packet,
        })
    }

    /// Changes the queue limit. Queued packets stay, even if they exceed the new limit.
    pub fn set_limit(&mut self, limit: Buffer) {
        self.limit = limit;
    }

    /// Changes the line rate. The packet in service continues at the new rate.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if rate == self.rate {
            return;
        }
        let in_service = match (self.waiting.front(), self.rate) {
            (_, Some(Rate::ZERO)) => self.stalled,
            (Some(head), Some(rate)) => Some(rate.bytes_in(head.leaves.since(now)).min(head.size.get() as f64)),
            _ => None,
        };
        self.stalled = in_service.filter(|_| rate == Some(Rate::ZERO));
        (self.rate, self.pace) = (rate, pace(rate));
        self.free_at = now;
        for place in 0..self.waiting.len() {
            let under_way = in_service.filter(|_| place == 0);
            let waiting = &mut self.waiting[place];
            if under_way.is_none() {
                waiting.begins = self.free_at;
            }
            let left = under_way.unwrap_or(waiting.size.get() as f64);
            self.free_at = self.free_at.saturating_add(self.transmission(left));
            self.waiting[place].leaves = self.free_at;
        }
    }

    /// Returns the number of bytes queued or in service.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// Returns the number of packets queued or in service.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the bytes and packets queued or in service.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes(),
            packets: self.packets() as u32,
            in_service: self.waiting.front().map_or(Bytes::ZERO, |head| head.size),
        }
    }

    /// Returns the transmission time, rounded to the nearest picosecond. The simulator rounds in the same way.
    fn transmission(&self, bytes: f64) -> Duration {
        Duration::from_ps((bytes * self.pace + 0.5) as u64)
    }
}

fn pace(rate: Option<Rate>) -> f64 {
    rate.map_or(0.0, |rate| 8e12 / rate.bps())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Verifies Lindley's recursion for departure times: `departure = max(arrival, previous departure) +
        /// transmission time`.
        #[test]
        fn departures_follow_the_lindley_recursion(
            arrivals in prop::collection::vec((0_u64..3_000, 60_u64..1_600), 1..60), mbps in 1_u32..1000,
        ) {
            let rate = Rate::new(f64::from(mbps) * 1e6).unwrap();
            let mut line = Fifo::new(Some(rate), Buffer::Unlimited);
            let (mut now, mut last, mut due) = (Time::ZERO, Time::ZERO, Vec::new());
            for (gap, size) in arrivals {
                now += Duration::from_us(gap);
                let wait = last.since(now);
                last = last.max(now) + Duration::from_ps((size as f64 * 8e12 / rate.bps()).round() as u64);
                due.push((last, wait, size));
                line.handle_input(now, Bytes::new(size), size).unwrap();
            }
            prop_assert_eq!(line.poll_output(Time::from_ps(due[0].0.as_ps() - 61)), None);
            for (leaves, wait, size) in due {
                let left = line.poll_output(Time::from_ps(u64::MAX)).unwrap();
                prop_assert!(left.waited.as_ps().abs_diff(wait.as_ps()) <= 60, "{} is not {wait}", left.waited);
                prop_assert!(left.at.as_ps().abs_diff(leaves.as_ps()) <= 60, "{} is not {leaves}", left.at);
                prop_assert_eq!((left.size.get(), left.packet), (size, size));
            }
            prop_assert_eq!((line.bytes(), line.packets()), (Bytes::ZERO, 0));
        }

        /// The queueing delay of queued packets includes an outage. The queueing delay of the packet in service does
        /// not.
        #[test]
        fn a_packet_waits_until_the_transmitter_takes_it(dies in 0_u64..2_500, lasts in 1_u64..5_000) {
            let mut line = Fifo::new(Rate::new(8e6), Buffer::Unlimited);
            (0..2).for_each(|n| line.handle_input(Time::ZERO, Bytes::new(1000), n).unwrap());
            let us = |us| Time::ZERO + Duration::from_us(us);
            let mut left: Vec<_> = std::iter::from_fn(|| line.poll_output(us(dies))).collect();
            line.set_rate(us(dies), Some(Rate::ZERO));
            line.handle_input(us(dies), Bytes::new(1000), 2).unwrap();
            prop_assert_eq!(line.poll_output(us(dies + lasts)), None);
            line.set_rate(us(dies + lasts), Rate::new(8e6));
            left.extend(std::iter::from_fn(|| line.poll_output(Time::from_ps(u64::MAX))));
            let second = 1000 + if dies < 1000 { lasts } else { 0 };
            let third = if dies < 2000 { 2000 + lasts } else { dies + lasts };
            let waited: Vec<_> = left.iter().map(|left| (left.waited.as_ps() + 500_000) / 1_000_000).collect();
            prop_assert_eq!(waited, [0, second, third - dies]);
        }

        #[test]
        fn a_line_never_holds_more_than_its_buffer(sizes in prop::collection::vec(1_u64..3_000, 1..60), limit in 1_u64..9_000) {
            let mut line = Fifo::new(Rate::new(1e6), Buffer::Bytes(Bytes::new(limit)));
            for size in sizes {
                let before = line.bytes().get();
                let taken = line.handle_input(Time::ZERO, Bytes::new(size), ()).is_ok();
                prop_assert_eq!(taken, before + size <= limit);
                prop_assert!(line.bytes().get() <= limit);
            }
        }
    }
}
