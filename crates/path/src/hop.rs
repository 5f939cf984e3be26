//! One direction of a link: a law if there is one, a queue in front of a transmitter, and a wire.

use levelflow_laws::Arriving;
use levelflow_laws::aqm::AnyQueueParams;
use levelflow_random::Stream;
use levelflow_units::{Buffer, Bytes, Rate, Time};

use crate::fifo::{Backlog, Departure, Fifo};
use crate::law::HopLaw;
use crate::scheduler::{Classes, Scheduled, Scheduler};
use crate::wire::{DelayLine, Propagation, Wire};

/// What one direction of a link is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Line rate; none: packets take no time to send.
    pub rate: Option<Rate>,
    /// Limit of the queue, the packet in service included.
    pub buffer: Buffer,
    /// The wire.
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

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that came.
    pub arrived: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that did not fit into the queue, or that its discipline dropped.
    pub dropped: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Packets that left the queue.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Packets that the wire lost.
    pub lost: u64,
    /// Packets that reached the far end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Most bytes that were in the queue at once.
    pub peak: u64,
}

/// A direction at work; `T` is what travels, `L` the law.
#[derive(Debug)]
pub struct Hop<T, L = ()> {
    law: L,
    settings: Settings,
    queue: Line<T>,
    /// Packets that were dropped after they had been taken.
    dropped: Vec<T>,
    wire: DelayLine<(Bytes, T)>,
    counters: Counters,
}

/// A queue in front of a transmitter.
#[derive(Debug)]
enum Line<T> {
    /// First in, first out, dropping what does not fit.
    Fifo(Fifo<T>),
    /// Any other discipline.
    Scheduled(Box<Scheduled<T>>),
}

impl<T> Line<T> {
    fn poll_timeout(&self) -> Option<Time> {
        match self {
            Self::Fifo(line) => line.poll_timeout(),
            Self::Scheduled(line) => line.poll_timeout(),
        }
    }

    /// The next packet, if it has left by now, and whether it is to be marked.
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
    /// An idle hop without a law; seed and name choose its random numbers.
    #[must_use]
    pub fn new(settings: Settings, seed: u64, name: &str) -> Self {
        Self::under((), settings, seed, name)
    }
}

impl<T, L: HopLaw<T>> Hop<T, L> {
    /// An idle hop under a law.
    #[must_use]
    pub fn under(law: L, settings: Settings, seed: u64, name: &str) -> Self {
        Self {
            law,
            settings,
            queue: Line::Fifo(Fifo::new(settings.rate, settings.buffer)),
            dropped: Vec::new(),
            wire: DelayLine::new(Wire::new(settings.wire, Stream::new(seed, "loss", name))),
            counters: Counters::default(),
        }
    }

    /// Gives an idle hop a queue of this discipline. Its law tells what the discipline knows of packets, and marks them.
    pub fn set_queue(&mut self, queue: &AnyQueueParams, seed: u64, name: &str) {
        let Settings { rate, buffer, .. } = self.settings;
        let capacity = rate.unwrap_or(Rate::ZERO);
        if let Some(scheduler) = Scheduler::of(queue, capacity, buffer, Stream::new(seed, "queue", name)) {
            self.queue = Line::Scheduled(Box::new(Scheduled::new(scheduler, rate, buffer)));
        }
    }

    /// What the discipline of the queue says of itself; NaN if nothing.
    pub fn signal(&self) -> f64 {
        match &self.queue {
            Line::Fifo(_) => f64::NAN,
            Line::Scheduled(line) => line.signal(),
        }
    }

    /// Classes of service of the queue.
    #[must_use]
    pub fn classes(&self) -> Classes {
        match &self.queue {
            Line::Fifo(_) => Classes::One,
            Line::Scheduled(line) => line.classes(),
        }
    }

    /// Takes a packet. Others may be dropped for it: see [`poll_dropped`](Self::poll_dropped).
    ///
    /// # Errors
    /// Gives it back if it does not fit into the queue.
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
        self.law.handle_arrival(&arriving, &mut packet);
        let counters = &mut self.counters;
        counters.arrived += 1;
        counters.arrived_bytes += size.get();
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

    /// A packet that was dropped after it had been taken, since the last one came.
    pub fn poll_dropped(&mut self) -> Option<T> {
        self.dropped.pop()
    }

    /// Counts what a discipline has dropped.
    fn drop_scheduled(&mut self) {
        let Line::Scheduled(line) = &mut self.queue else { return };
        while let Some((size, packet)) = line.poll_dropped() {
            self.counters.dropped += 1;
            self.counters.dropped_bytes += size.get();
            self.law.handle_drop(size);
            self.dropped.push(packet);
        }
    }

    /// When something happens next: a packet is due at the far end, or an interval ends.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let delay = self.settings.wire.delay;
        let waiting = self.queue.poll_timeout().map(|at| at.saturating_add(delay));
        [waiting, self.wire.poll_timeout(), self.law.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Performs the departures up to now, then ends the interval if it is over.
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

    /// The next packet that is due by now at the far end, and when it was.
    pub fn poll_output(&mut self, now: Time) -> Option<(Time, T)> {
        self.depart(now);
        let (due, (size, packet)) = self.wire.poll_output(now)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += size.get();
        Some((due, packet))
    }

    /// Changes what it is like from now on: what is being sent goes on at the new rate; what is on the wire stays as it is.
    pub fn set(&mut self, now: Time, settings: Settings) {
        self.depart(now);
        self.settings = settings;
        self.queue.set(now, &settings);
        self.wire.set(settings.wire);
        self.depart(now);
    }

    /// The law.
    #[must_use]
    pub fn law(&self) -> &L {
        &self.law
    }

    /// The law, to change it.
    pub fn law_mut(&mut self) -> &mut L {
        &mut self.law
    }

    /// What it is like.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Bytes and packets in the queue.
    pub fn backlog(&mut self, now: Time) -> (Bytes, usize) {
        self.depart(now);
        let backlog = self.queue.backlog();
        (backlog.bytes, backlog.packets as usize)
    }

    /// What happened so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Packets between arrival and delivery.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.queue.backlog().packets as usize + self.wire.packets()
    }
}

#[cfg(test)]
mod tests;
