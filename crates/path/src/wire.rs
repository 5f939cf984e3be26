//! The wire behind a transmitter: propagation delay, jitter, batching and loss.

use std::collections::VecDeque;

use levelflow_random::Stream;
use levelflow_units::{Duration, Time};

/// Propagation parameters of a wire.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Propagation {
    /// Propagation delay.
    pub delay: Duration,
    /// Upper bound of the random extra delay, which is uniformly distributed from zero to this bound.
    pub jitter: Duration,
    /// True if a packet may overtake an earlier packet. If false, a packet waits for delayed earlier packets.
    pub reorder: bool,
    /// Time between batches. Packets arrive at multiples of this time. Zero disables batching.
    pub slot: Duration,
    /// Loss model.
    pub loss: WireLoss,
}

/// Loss model of a wire.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WireLoss {
    /// Independent losses with this probability.
    Independent(f64),
    /// Losses in bursts.
    Bursts(GilbertElliott),
}

/// Gilbert-Elliott model: a wire is in a good or a bad state. The state may change after each packet (Gilbert 1960,
/// Elliott 1963).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet that a good wire becomes bad.
    pub p: f64,
    /// Probability per packet that a bad wire becomes good.
    pub r: f64,
    /// Loss probability in the good state.
    pub good: f64,
    /// Loss probability in the bad state.
    pub bad: f64,
}

impl WireLoss {
    /// No packet is lost.
    pub const NONE: Self = Self::Independent(0.0);

    /// Returns the long-term loss probability.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Independent(loss) => loss,
            Self::Bursts(GilbertElliott { p, r, good, bad }) => (p * bad + r * good) / (p + r),
        }
    }
}

impl Default for WireLoss {
    fn default() -> Self {
        Self::NONE
    }
}

impl Propagation {
    /// Returns true if every delivered packet arrives exactly one propagation delay after its transmission.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.jitter == Duration::ZERO && self.slot == Duration::ZERO
    }
}

/// A wire in operation. It computes losses and arrival times.
#[derive(Debug)]
pub struct Wire {
    propagation: Propagation,
    random: Stream,
    /// True if the wire is in the bad state.
    bad: bool,
    /// Latest arrival time so far. Without reordering, later packets do not arrive earlier.
    latest: Time,
}

impl Wire {
    /// Creates a wire in the good state. `random` is the stream for losses and jitter.
    #[must_use]
    pub fn new(propagation: Propagation, random: Stream) -> Self {
        Self {
            propagation,
            random,
            bad: false,
            latest: Time::ZERO,
        }
    }

    /// Draws whether the next packet is lost. Returns true if the packet is lost.
    pub fn loses(&mut self) -> bool {
        match self.propagation.loss {
            WireLoss::Independent(0.0) => false,
            WireLoss::Independent(loss) => self.random.unit() < loss,
            WireLoss::Bursts(GilbertElliott { p, r, good, bad }) => {
                let (loss, change) = if self.bad { (bad, r) } else { (good, p) };
                let lost = self.random.unit() < loss;
                self.bad ^= self.random.unit() < change;
                lost
            }
        }
    }

    /// Returns the arrival time of a packet sent now. Do not call this method for a lost packet.
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

    /// Changes the propagation parameters for packets sent from now on.
    pub fn set(&mut self, propagation: Propagation) {
        self.propagation = propagation;
    }
}

/// A wire and the packets in flight on it.
#[derive(Debug)]
pub struct DelayLine<T> {
    wire: Wire,
    /// Packets in order of arrival time. Packets with equal arrival times are in the order in which they were sent.
    flight: VecDeque<(Time, T)>,
}

impl<T> DelayLine<T> {
    /// Creates an empty delay line.
    #[must_use]
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            flight: VecDeque::new(),
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// Returns the packet if it is lost.
    pub fn handle_input(&mut self, now: Time, packet: T) -> Result<(), T> {
        if self.wire.loses() {
            return Err(packet);
        }
        let due = self.wire.due(now);
        let place = self.flight.partition_point(|&(other, _)| other <= due);
        self.flight.insert(place, (due, packet));
        Ok(())
    }

    /// Returns the arrival time of the next packet.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.flight.front().map(|&(due, _)| due)
    }

    /// Returns the next packet that has arrived by now, and its arrival time.
    pub fn poll_output(&mut self, now: Time) -> Option<(Time, T)> {
        self.poll_timeout().filter(|&due| due <= now)?;
        self.flight.pop_front()
    }

    /// Changes the propagation parameters for packets sent from now on. Packets in flight keep their arrival times.
    pub fn set(&mut self, propagation: Propagation) {
        self.wire.set(propagation);
    }

    /// Returns the number of packets on the wire.
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

    /// Verifies the mean length of bursts and the long-term loss ratio.
    #[test]
    fn bursts_are_as_long_and_as_frequent_as_asked() {
        let model = GilbertElliott {
            p: 0.01,
            r: 0.2,
            good: 0.0,
            bad: 1.0,
        };
        let loss = WireLoss::Bursts(model);
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
    fn losses_in_both_states_have_their_probability() {
        let loss = WireLoss::Bursts(GilbertElliott {
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
