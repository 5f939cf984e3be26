//! One direction of a link: a queue with a transmitter, a wire, and an optional router law.

use levelflow_laws::Arriving;
use levelflow_laws::aqm::AnyQueueParams;
use levelflow_random::Stream;
use levelflow_units::{Buffer, Bytes, Rate, Time};

use crate::fifo::{Backlog, Departure, Fifo};
use crate::law::HopLaw;
use crate::scheduler::{Classes, Scheduled, Scheduler};
use crate::wire::{DelayLine, Propagation, Wire};

/// Settings of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Line rate; `None` if transmission takes no time.
    pub rate: Option<Rate>,
    /// Queue limit, including the packet in service.
    pub buffer: Buffer,
    /// Delay, jitter, batching and loss of the wire.
    pub wire: Propagation,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rate: None,
            buffer: Buffer::Unlimited,
            wire: Propagation::default(),
        }
    }
}

/// Counters of one direction of a link since its start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets that arrived.
    pub arrived: u64,
    /// Bytes of the packets that arrived.
    pub arrived_bytes: u64,
    /// Packets dropped by a full queue, by the queue discipline or by the policer.
    pub dropped: u64,
    /// Bytes of the dropped packets.
    pub dropped_bytes: u64,
    /// Packets sent to the wire.
    pub sent: u64,
    /// Bytes of the sent packets.
    pub sent_bytes: u64,
    /// Packets marked by the queue discipline.
    pub marked: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Bytes of the packets that reached the far end.
    pub delivered_bytes: u64,
    /// Largest backlog, bytes.
    pub peak: u64,
}

/// One direction of a link in operation. `T` is the type of packets, and `L` is the type of the router law.
#[derive(Debug)]
pub struct Hop<T, L = ()> {
    law: L,
    settings: Settings,
    queue: Line<T>,
    /// Packets evicted from the queue and not yet collected by the caller.
    dropped: Vec<T>,
    wire: DelayLine<(Bytes, T)>,
    counters: HopCounters,
}

/// A queue and its transmitter.
#[derive(Debug)]
enum Line<T> {
    /// First-in, first-out queue with drop-tail.
    Fifo(Fifo<T>),
    /// Queue with any other discipline.
    Scheduled(Box<Scheduled<T>>),
}

impl<T> Line<T> {
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Fifo(line) => line.poll_timeout(),
            Self::Scheduled(line) => line.poll_timeout(),
        }
    }

    /// Removes and returns the next packet if its transmission has ended by now. Also returns true if the packet must
    /// be marked.
    fn poll_output(&mut self, now: Time) -> Option<(Departure<T>, bool)> {
        match self {
            Self::Fifo(line) => line.poll_output(now).map(|left| (left, false)),
            Self::Scheduled(line) => line.poll_output(now),
        }
    }

    fn backlog(&self) -> Backlog {
        match self {
            Self::Fifo(line) => line.backlog(),
            Self::Scheduled(line) => line.backlog(),
        }
    }

    fn set(&mut self, now: Time, settings: &Settings) {
        match self {
            Self::Fifo(line) => {
                line.set_limit(settings.buffer);
                line.set_rate(now, settings.rate);
            }
            Self::Scheduled(line) => {
                line.set_limit(settings.buffer);
                line.set_rate(now, settings.rate);
            }
        }
    }
}

impl<T> Hop<T> {
    /// Creates an idle hop without a law. `seed` and `name` select the random stream of the hop.
    #[must_use]
    pub fn new(settings: Settings, seed: u64, name: &str) -> Self {
        Self::under((), settings, seed, name)
    }
}

impl<T, L: HopLaw<T>> Hop<T, L> {
    /// Creates an idle hop with a law. `seed` and `name` select the random stream of the hop.
    #[must_use]
    pub fn under(law: L, settings: Settings, seed: u64, name: &str) -> Self {
        Self {
            law,
            settings,
            queue: Line::Fifo(Fifo::new(settings.rate, settings.buffer)),
            dropped: Vec::new(),
            wire: DelayLine::new(Wire::new(settings.wire, Stream::new(seed, "loss", name))),
            counters: HopCounters::default(),
        }
    }

    /// Replaces the queue of an idle hop. The law classifies packets for the queue discipline, and marks the packets
    /// that the discipline selects.
    pub fn set_queue(&mut self, queue: &AnyQueueParams, seed: u64, name: &str) {
        let Settings { rate, buffer, .. } = self.settings;
        let capacity = rate.unwrap_or(Rate::ZERO);
        if let Some(scheduler) = Scheduler::of(queue, capacity, buffer, Stream::new(seed, "queue", name)) {
            self.queue = Line::Scheduled(Box::new(Scheduled::new(scheduler, rate, buffer)));
        }
    }

    /// Returns the signal of the queue discipline; NaN for a drop-tail queue.
    pub fn signal(&self) -> f64 {
        match &self.queue {
            Line::Fifo(_) => f64::NAN,
            Line::Scheduled(line) => line.signal(),
        }
    }

    /// Returns the service classes of the queue.
    #[must_use]
    pub fn classes(&self) -> Classes {
        match &self.queue {
            Line::Fifo(_) => Classes::One,
            Line::Scheduled(line) => line.classes(),
        }
    }

    /// Adds a packet to the queue. The queue may evict other packets, which [`poll_dropped`](Self::poll_dropped)
    /// returns.
    ///
    /// # Errors
    /// Returns the packet if the law drops it, or it does not fit into the queue.
    pub fn handle_input(&mut self, now: Time, size: Bytes, mut packet: T) -> Result<(), T> {
        self.handle_timeout(now);
        self.dropped.clear();
        let backlog = self.queue.backlog();
        let arriving = Arriving {
            now,
            size,
            queue: backlog.bytes,
            packets: backlog.packets,
        };
        let passes = self.law.handle_arrival(&arriving, &mut packet);
        let counters = &mut self.counters;
        counters.arrived += 1;
        counters.arrived_bytes += size.get();
        if !passes {
            counters.dropped += 1;
            counters.dropped_bytes += size.get();
            return Err(packet);
        }
        let result = match &mut self.queue {
            Line::Fifo(line) => line.handle_input(now, size, packet),
            Line::Scheduled(line) => line.handle_input(now, size, self.law.classify(&packet), packet),
        };
        if result.is_err() {
            counters.dropped += 1;
            counters.dropped_bytes += size.get();
            self.law.handle_drop(size);
        }
        self.drop_scheduled();
        self.counters.peak = self.counters.peak.max(self.queue.backlog().bytes.get());
        self.depart(now);
        result
    }

    /// Removes and returns a packet that was evicted since the last arrival.
    pub fn poll_dropped(&mut self) -> Option<T> {
        self.dropped.pop()
    }

    /// Collects and counts the packets that the queue discipline has dropped.
    fn drop_scheduled(&mut self) {
        let Line::Scheduled(line) = &mut self.queue else { return };
        while let Some((size, packet)) = line.poll_dropped() {
            self.counters.dropped += 1;
            self.counters.dropped_bytes += size.get();
            self.law.handle_drop(size);
            self.dropped.push(packet);
        }
    }

    /// Returns the time of the next event: a delivery at the far end, or the end of the law's control interval.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let delay = self.settings.wire.delay;
        let waiting = self.queue.poll_timeout().map(|at| at.saturating_add(delay));
        [waiting, self.wire.poll_timeout(), self.law.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Processes departures up to now. If the law's control interval has ended by now, also notifies the law.
    pub fn handle_timeout(&mut self, now: Time) {
        self.depart(now);
        if self.law.poll_timeout().is_some_and(|end| end <= now) {
            self.law.handle_timeout(now, self.queue.backlog());
        }
    }

    fn depart(&mut self, now: Time) {
        while let Some((mut left, marked)) = self.queue.poll_output(now) {
            if marked && self.law.mark(&mut left.packet) {
                self.counters.marked += 1;
            }
            self.law.handle_departure(&mut left);
            self.counters.sent += 1;
            self.counters.sent_bytes += left.size.get();
            let taken = self.wire.handle_input(left.at, (left.size, left.packet));
            self.counters.lost += u64::from(taken.is_err());
        }
        self.drop_scheduled();
    }

    /// Removes and returns the next packet that has reached the far end by now, and its delivery time.
    pub fn poll_output(&mut self, now: Time) -> Option<(Time, T)> {
        self.depart(now);
        let (due, (size, packet)) = self.wire.poll_output(now)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += size.get();
        Some((due, packet))
    }

    /// Changes the settings. The packet in service continues at the new rate. Packets on the wire keep their delivery
    /// times.
    pub fn set(&mut self, now: Time, settings: Settings) {
        self.depart(now);
        self.settings = settings;
        self.queue.set(now, &settings);
        self.wire.set(settings.wire);
        self.depart(now);
    }

    /// Returns the router law.
    #[must_use]
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Returns the router law, mutably.
    pub fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Returns the number of bytes and packets queued or in service.
    pub fn backlog(&mut self, now: Time) -> (Bytes, usize) {
        self.depart(now);
        let backlog = self.queue.backlog();
        (backlog.bytes, backlog.packets as usize)
    }

    /// Returns the counters since the start.
    #[must_use]
    pub fn counters(&self) -> HopCounters {
        self.counters
    }

    /// Returns the number of packets that have arrived but are not yet delivered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue.backlog().packets as usize + self.wire.packets()
    }
}

#[cfg(test)]
mod tests;
