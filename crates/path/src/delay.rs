//! The wire behind a transmitter: delay, jitter and loss.

use std::collections::VecDeque;

use levelflow_random::Stream;
use levelflow_units::{Duration, Time};

/// What a wire does to packets.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Propagation {
    /// Propagation delay.
    pub delay: Duration,
    /// Each packet is late by up to this much, uniformly.
    pub jitter: Duration,
    /// Whether a late packet lets others overtake it, instead of holding them up.
    pub reorder: bool,
    /// Probability that a packet is lost.
    pub loss: f64,
}

/// A wire at work.
#[derive(Debug)]
pub struct DelayLine<T> {
    propagation: Propagation,
    random: Stream,
    /// By due time, and in order of arrival where that is the same.
    flight: VecDeque<(Time, T)>,
    latest: Time,
}

impl<T> DelayLine<T> {
    /// An empty wire; `random` draws losses and jitter.
    #[must_use]
    pub fn new(propagation: Propagation, random: Stream) -> Self {
        Self {
            propagation,
            random,
            flight: VecDeque::new(),
            latest: Time::ZERO,
        }
    }

    /// Takes a packet.
    ///
    /// # Errors
    /// Gives it back if it is lost.
    pub fn handle_input(&mut self, now: Time, packet: T) -> Result<(), T> {
        let Propagation {
            delay,
            jitter,
            reorder,
            loss,
        } = self.propagation;
        if loss > 0.0 && self.random.unit() < loss {
            return Err(packet);
        }
        let mut due = now.saturating_add(delay);
        if jitter > Duration::ZERO {
            let late = jitter.as_ps() as f64 * self.random.unit();
            due = due.saturating_add(Duration::from_ps(late as u64));
        }
        if !reorder {
            due = due.max(self.latest);
        }
        self.latest = self.latest.max(due);
        let place = self.flight.partition_point(|&(other, _)| other <= due);
        self.flight.insert(place, (due, packet));
        Ok(())
    }

    /// When the next packet is due at the far end.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.flight.front().map(|&(due, _)| due)
    }

    /// The next packet that is due by now, and when it was.
    pub fn poll_output(&mut self, now: Time) -> Option<(Time, T)> {
        self.poll_timeout().filter(|&due| due <= now)?;
        self.flight.pop_front()
    }

    /// Changes what happens to packets from now on; those on the wire stay as they are.
    pub fn set(&mut self, propagation: Propagation) {
        self.propagation = propagation;
    }

    /// Packets on the wire.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.flight.len()
    }
}
