//! A first-in first-out queue in front of a transmitter.

use std::collections::VecDeque;

use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

/// A packet whose last bit has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure<T> {
    /// When it did.
    pub at: Time,
    /// Its size.
    pub size: Bytes,
    /// The packet.
    pub packet: T,
}

/// What a queue holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes that wait or are in service.
    pub bytes: Bytes,
    /// Packets that wait or are in service.
    pub packets: u32,
    /// Of `bytes`, those in service; zero where the queue does not count them.
    pub in_service: Bytes,
}

/// A line of finite rate behind a queue that drops arrivals once it is full.
///
/// At rate zero the line is dead, and what it holds waits. The departure of a packet is known when it arrives, so nothing has to happen at that time. Packets that have left take no
/// space: callers poll all output up to now before they hand in more.
#[derive(Debug)]
pub struct Fifo<T> {
    rate: Option<Rate>,
    limit: Buffer,
    /// Picoseconds to send a byte.
    pace: f64,
    /// When the transmitter is done with what it has.
    free_at: Time,
    /// Bytes that were left of the packet in service when the line died.
    stalled: Option<f64>,
    bytes: u64,
    waiting: VecDeque<Departure<T>>,
}

impl<T> Fifo<T> {
    /// An idle line; without a rate, packets take no time to send.
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

    /// Takes a packet; gives how long it waits for the transmitter.
    ///
    /// # Errors
    /// Gives it back if it does not fit.
    pub fn handle_input(&mut self, now: Time, size: Bytes, packet: T) -> Result<Duration, T> {
        if !self.limit.admits(self.bytes, self.waiting.len() as u64, size.get()) {
            return Err(packet);
        }
        let begins = now.max(self.free_at);
        self.free_at = begins.saturating_add(self.transmission(size.get() as f64));
        self.bytes += size.get();
        self.waiting.push_back(Departure {
            at: self.free_at,
            size,
            packet,
        });
        Ok(begins.since(now))
    }

    /// When the next packet leaves.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.waiting.front().map(|head| head.at)
    }

    /// The next packet, if it has left by now.
    pub fn poll_output(&mut self, now: Time) -> Option<Departure<T>> {
        self.poll_timeout().filter(|&at| at <= now)?;
        let head = self.waiting.pop_front()?;
        self.bytes -= head.size.get();
        Some(head)
    }

    /// Changes the limit; packets that no longer fit stay.
    pub fn set_limit(&mut self, limit: Buffer) {
        self.limit = limit;
    }

    /// Changes the rate: the packet in service goes on at the new one.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        if rate == self.rate {
            return;
        }
        let mut left = match (self.waiting.front(), self.rate) {
            (Some(head), Some(Rate::ZERO)) => self.stalled.unwrap_or(head.size.get() as f64),
            (Some(head), Some(rate)) => rate.bytes_in(head.at.since(now)).min(head.size.get() as f64),
            _ => 0.0,
        };
        self.stalled = (rate == Some(Rate::ZERO) && !self.waiting.is_empty()).then_some(left);
        (self.rate, self.pace) = (rate, pace(rate));
        self.free_at = now;
        for place in 0..self.waiting.len() {
            if place > 0 {
                left = self.waiting[place].size.get() as f64;
            }
            self.free_at = self.free_at.saturating_add(self.transmission(left));
            self.waiting[place].at = self.free_at;
        }
    }

    /// Bytes that wait or are in service.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }

    /// Packets that wait or are in service.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// Both, and the packet in service.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog {
            bytes: self.bytes(),
            packets: self.packets() as u32,
            in_service: self.waiting.front().map_or(Bytes::ZERO, |head| head.size),
        }
    }

    /// To the nearest picosecond, as in the simulator.
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
        /// Lindley's recursion: a packet leaves one transmission after the later of its arrival and the departure before it.
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
                due.push((last, size));
                let waits = line.handle_input(now, Bytes::new(size), size).unwrap();
                prop_assert!(waits.as_ps().abs_diff(wait.as_ps()) <= 60, "{waits} is not {wait}");
            }
            prop_assert_eq!(line.poll_output(Time::from_ps(due[0].0.as_ps() - 61)), None);
            for (leaves, size) in due {
                let left = line.poll_output(Time::from_ps(u64::MAX)).unwrap();
                prop_assert!(left.at.as_ps().abs_diff(leaves.as_ps()) <= 60, "{} is not {leaves}", left.at);
                prop_assert_eq!((left.size.get(), left.packet), (size, size));
            }
            prop_assert_eq!((line.bytes(), line.packets()), (Bytes::ZERO, 0));
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
