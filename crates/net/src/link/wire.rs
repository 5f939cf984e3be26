//! One direction of a link: a queue in front of a transmitter, and a wire. It has no clock and no socket.
//!
//! As in the simulator, a packet's departure is known when it arrives, so nothing has to happen at that moment: only the far
//! end is an event. The queue's room includes the packet that is being sent.

use std::collections::{BTreeMap, VecDeque};

use hdrhistogram::Histogram;
use levelflow_scenario::Buffer;
use levelflow_scenario::rng::Stream;
use levelflow_units::{Bytes, Duration, Rate, Time};

/// What one direction of a link is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Line rate; none: packets take no time to send.
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Duration,
    /// Each packet is late by up to this much, uniformly.
    pub jitter: Duration,
    /// Whether a late packet lets others overtake it, instead of holding them up.
    pub reorder: bool,
    /// Room in front of the transmitter, the packet in service included.
    pub buffer: Buffer,
    /// Probability that the wire loses a packet.
    pub loss: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            reorder: false,
            buffer: Buffer::Unlimited,
            loss: 0.0,
        }
    }
}

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came.
    pub arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Packets that the wire lost.
    pub lost: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Most bytes that were in the queue at once.
    pub peak: u64,
}

#[derive(Debug)]
struct Waiting<T> {
    departs: Time,
    size: u64,
    frame: T,
}

/// A direction at work; `T` is what travels.
#[derive(Debug)]
pub struct Wire<T> {
    settings: Settings,
    free_at: Time,
    queue: VecDeque<Waiting<T>>,
    queued: u64,
    flight: BTreeMap<(Time, u64), (u64, T)>,
    /// Tells packets apart that are due at the same time.
    order: u64,
    latest: Time,
    stream: Stream,
    counters: Counters,
    waits: Histogram<u64>,
}

impl<T> Wire<T> {
    /// An idle wire; seed and name choose its random numbers.
    #[must_use]
    pub fn new(settings: Settings, seed: u64, name: &str) -> Self {
        Self {
            settings,
            free_at: Time::ZERO,
            queue: VecDeque::new(),
            queued: 0,
            flight: BTreeMap::new(),
            order: 0,
            latest: Time::ZERO,
            stream: Stream::new(seed, "loss", name),
            counters: Counters::default(),
            waits: super::histogram(),
        }
    }

    /// A packet comes; `false` if there is no room for it.
    pub fn offer(&mut self, now: Time, size: Bytes, frame: T) -> bool {
        self.advance(now);
        let size = size.get();
        self.counters.arrived += 1;
        self.counters.arrived_bytes += size;
        if !self.has_room(size) {
            self.counters.dropped += 1;
            return false;
        }
        let begins = now.max(self.free_at);
        self.waits.saturating_record(begins.since(now).as_ps() / 1000);
        self.free_at = begins + self.transmission(size as f64);
        self.queue.push_back(Waiting {
            departs: self.free_at,
            size,
            frame,
        });
        self.queued += size;
        self.counters.peak = self.counters.peak.max(self.queued);
        self.advance(now);
        true
    }

    /// When the next packet is due at the far end.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let flying = self.flight.keys().next().map(|&(due, _)| due);
        let waiting = self.queue.front().map(|head| head.departs + self.settings.delay);
        flying.into_iter().chain(waiting).min()
    }

    /// Takes the next packet that is due by now, and when it was.
    pub fn take(&mut self, now: Time) -> Option<(Time, T)> {
        self.advance(now);
        let next = self.flight.first_entry().filter(|next| next.key().0 <= now)?;
        let ((due, _), (size, frame)) = next.remove_entry();
        self.counters.delivered += 1;
        self.counters.delivered_bytes += size;
        Some((due, frame))
    }

    /// Changes what it is like from now on: what is being sent goes on at the new rate; what is on the wire stays as it is.
    pub fn set(&mut self, now: Time, settings: Settings) {
        self.advance(now);
        let old = self.settings.rate;
        self.settings = settings;
        if old == settings.rate {
            return;
        }
        let mut free_at = now;
        let mut left = match (self.queue.front(), old) {
            (Some(head), Some(rate)) => rate.bytes_in(head.departs.since(now)).min(head.size as f64),
            _ => 0.0,
        };
        for place in 0..self.queue.len() {
            if place > 0 {
                left = self.queue[place].size as f64;
            }
            free_at += self.transmission(left);
            self.queue[place].departs = free_at;
        }
        self.free_at = free_at;
        self.advance(now);
    }

    /// What it is like.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Bytes and packets in the queue.
    pub fn backlog(&mut self, now: Time) -> (Bytes, usize) {
        self.advance(now);
        (Bytes::new(self.queued), self.queue.len())
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Packets between arrival and delivery.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.queue.len() + self.flight.len()
    }

    /// How long packets waited for the transmitter, ns.
    #[must_use]
    pub fn waits(&self) -> &Histogram<u64> {
        &self.waits
    }

    /// Performs the departures up to now.
    fn advance(&mut self, now: Time) {
        while self.queue.front().is_some_and(|head| head.departs <= now) {
            if let Some(head) = self.queue.pop_front() {
                self.depart(head);
            }
        }
    }

    fn depart(&mut self, head: Waiting<T>) {
        self.queued -= head.size;
        if self.settings.loss > 0.0 && self.stream.unit() < self.settings.loss {
            self.counters.lost += 1;
            return;
        }
        let mut due = head.departs + self.settings.delay;
        if self.settings.jitter > Duration::ZERO {
            let late = self.settings.jitter.as_ps() as f64 * self.stream.unit();
            due += Duration::from_ps(late as u64);
        }
        if !self.settings.reorder {
            due = due.max(self.latest);
        }
        self.latest = self.latest.max(due);
        self.order += 1;
        self.flight.insert((due, self.order), (head.size, head.frame));
    }

    fn has_room(&self, size: u64) -> bool {
        match self.settings.buffer {
            Buffer::Unlimited => true,
            Buffer::Bytes(limit) => self.queued + size <= limit.get(),
            Buffer::Packets(limit) => (self.queue.len() as u64) < limit,
        }
    }

    fn transmission(&self, size: f64) -> Duration {
        let ps = self.settings.rate.map_or(0.0, |rate| size * 8e12 / rate.bps() + 0.5);
        Duration::from_ps(ps as u64)
    }
}

#[cfg(test)]
mod tests;
