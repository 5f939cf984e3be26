//! The wire behind a transmitter: delay, jitter, batches and loss.

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
    /// Packets come at whole multiples of this time, in batches; zero: one by one.
    pub slot: Duration,
    /// Which packets are lost.
    pub loss: Loss,
}

/// How a wire loses packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// Each with this probability, whatever becomes of others.
    Independent(f64),
    /// In bursts.
    Bursts(GilbertElliott),
}

/// A wire that is good or bad, which may change after each packet (Gilbert 1960, Elliott 1963).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability that a good wire becomes bad.
    pub p: f64,
    /// Probability that a bad wire becomes good.
    pub r: f64,
    /// Probability that a good wire loses a packet.
    pub good: f64,
    /// Probability that a bad wire loses a packet.
    pub bad: f64,
}

impl Loss {
    /// No packet is lost.
    pub const NONE: Self = Self::Independent(0.0);

    /// Probability that a packet is lost, of many.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Independent(loss) => loss,
            Self::Bursts(GilbertElliott { p, r, good, bad }) => (p * bad + r * good) / (p + r),
        }
    }
}

impl Default for Loss {
    fn default() -> Self {
        Self::NONE
    }
}

impl Propagation {
    /// Whether every packet arrives one delay after it has left, as long as it is not lost.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.jitter == Duration::ZERO && self.slot == Duration::ZERO
    }
}

/// A wire at work: what becomes of a packet that leaves the transmitter.
#[derive(Debug)]
pub struct Wire {
    propagation: Propagation,
    random: Stream,
    /// Of a wire that loses packets in bursts.
    bad: bool,
    /// When the last packet is due of those that none may overtake.
    latest: Time,
}

impl Wire {
    /// A wire that is good; `random` draws losses and jitter.
    #[must_use]
    pub fn new(propagation: Propagation, random: Stream) -> Self {
        Self {
            propagation,
            random,
            bad: false,
            latest: Time::ZERO,
        }
    }

    /// Whether it loses the next packet.
    pub fn loses(&mut self) -> bool {
        match self.propagation.loss {
            Loss::Independent(0.0) => false,
            Loss::Independent(loss) => self.random.unit() < loss,
            Loss::Bursts(GilbertElliott { p, r, good, bad }) => {
                let (loss, change) = if self.bad { (bad, r) } else { (good, p) };
                let lost = self.random.unit() < loss;
                self.bad ^= self.random.unit() < change;
                lost
            }
        }
    }

    /// When a packet reaches the far end that has left now and is not lost.
    pub fn due(&mut self, now: Time) -> Time {
        let Propagation {
            delay,
            jitter,
            reorder,
            slot,
            ..
        } = self.propagation;
        let mut due = now.saturating_add(delay);
        if jitter > Duration::ZERO {
            let late = jitter.as_ps() as f64 * self.random.unit();
            due = due.saturating_add(Duration::from_ps(late as u64));
        }
        if slot > Duration::ZERO {
            let slots = due.as_ps().div_ceil(slot.as_ps());
            due = Time::from_ps(slots.saturating_mul(slot.as_ps()));
        }
        if !reorder {
            due = due.max(self.latest);
        }
        self.latest = self.latest.max(due);
        due
    }

    /// Changes what happens to packets from now on.
    pub fn set(&mut self, propagation: Propagation) {
        self.propagation = propagation;
    }
}

/// A wire and the packets on it.
#[derive(Debug)]
pub struct DelayLine<T> {
    wire: Wire,
    /// By due time, and in order of arrival where that is the same.
    flight: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    /// An empty one.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            flight: VecDeque::new(),
        }
    }

    /// Takes a packet.
    ///
    /// # Errors
    /// Gives it back if it is lost.
    pub fn handle_input(&mut self, now: Time, packet: T) -> Result<(), T> {
        if self.wire.loses() {
            return Err(packet);
        }
        let due = self.wire.due(now);
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
        self.wire.set(propagation);
    }

    /// Packets on the wire.
    #[must_use]
    pub fn packets(&self) -> usize {
        self.flight.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(propagation: Propagation) -> Wire {
        Wire::new(propagation, Stream::new(1, "loss", "x"))
    }

    /// Bursts are geometric: so long on average as the wire stays bad, and so often that the mean loss holds.
    #[test]
    fn bursts_are_as_long_and_as_frequent_as_asked() {
        let model = GilbertElliott {
            p: 0.01,
            r: 0.2,
            good: 0.0,
            bad: 1.0,
        };
        let loss = Loss::Bursts(model);
        let mut wire = wire(Propagation {
            loss,
            ..Propagation::default()
        });
        let lost: Vec<bool> = (0..400_000).map(|_| wire.loses()).collect();
        let losses = lost.iter().filter(|&&lost| lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((losses / bursts - 1.0 / model.r).abs() < 0.3, "{}", losses / bursts);
        assert!((losses / 400_000.0 / loss.mean() - 1.0).abs() < 0.1, "{losses}");
    }

    #[test]
    fn a_bad_wire_may_lose_only_some() {
        let loss = Loss::Bursts(GilbertElliott {
            p: 0.5,
            r: 0.5,
            good: 0.1,
            bad: 0.3,
        });
        let mut wire = wire(Propagation {
            loss,
            ..Propagation::default()
        });
        let losses = (0..100_000).filter(|_| wire.loses()).count() as f64;
        assert!((losses / 1e5 - 0.2).abs() < 0.01 && loss.mean() == 0.2, "{losses}");
    }

    #[test]
    fn slots_gather_packets_and_keep_their_order() {
        let ms = |ms| Time::ZERO + Duration::from_ms(ms);
        let mut wire = wire(Propagation {
            delay: Duration::from_ms(2),
            slot: Duration::from_ms(5),
            ..Propagation::default()
        });
        assert_eq!([0, 3, 4, 8].map(|at| wire.due(ms(at))), [ms(5), ms(5), ms(10), ms(10)]);
    }
}
