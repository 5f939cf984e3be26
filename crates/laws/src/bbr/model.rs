//! What BBR knows of its path: the largest recent delivery rate and the smallest recent round-trip time.

use levelflow_units::{Duration, Time};

use crate::Delivery;
use crate::bytes::before;

/// Round trips over which the largest delivery rate is taken (`BtlBwFilterLen`).
const ROUNDS: usize = 10;

/// Bandwidth, in packets per second, and round-trip time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Path {
    /// Largest delivery rate in each of the last round trips up to the latest one with a sample that counts.
    recent: [f64; ROUNDS],
    /// Place of that one.
    place: usize,
    /// Round trips since.
    unsampled: usize,
    /// `BtlBw`, the largest of them; 0 before the first measurement.
    pub bandwidth: f64,
    /// `RTprop`, s; infinite before the first measurement.
    pub rtt: f64,
    /// When that was measured.
    rtt_at: Time,
    /// Packets known to have arrived.
    pub delivered: u32,
    /// The same when the present round trip began. It ends with the ACK for a packet sent since.
    round: u32,
}

impl Path {
    pub fn new() -> Self {
        Self {
            recent: [0.0; ROUNDS],
            rtt: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Bandwidth times round-trip time, packets; `None` before both are known.
    pub fn product(&self) -> Option<f64> {
        (self.bandwidth > 0.0 && self.rtt.is_finite()).then_some(self.bandwidth * self.rtt)
    }

    /// Takes a measurement of at least one packet in more than no time; returns whether it begins a round trip. That of an
    /// application-limited flow counts only if it is larger (`BBRUpdateBtlBw`), so that an application that sends little never
    /// lowers the bandwidth.
    pub fn on_delivery(&mut self, delivery: &Delivery, limited: bool) -> bool {
        self.delivered = delivery.total;
        let round = !before(delivery.prior, self.round);
        if round {
            self.begin_round();
            self.unsampled += 1;
        }
        let arrived = f64::from(delivery.total.wrapping_sub(delivery.prior));
        let rate = arrived / delivery.interval.as_secs_f64();
        if !limited || rate >= self.bandwidth {
            self.count(rate);
        }
        round
    }

    fn count(&mut self, rate: f64) {
        if self.unsampled > 0 {
            for _ in 0..self.unsampled.min(ROUNDS) {
                self.place = (self.place + 1) % ROUNDS;
                self.recent[self.place] = 0.0;
            }
            self.unsampled = 0;
            self.bandwidth = self.recent.iter().copied().fold(0.0, f64::max);
        }
        self.recent[self.place] = self.recent[self.place].max(rate);
        self.bandwidth = self.bandwidth.max(rate);
    }

    /// Begins a round trip.
    pub fn begin_round(&mut self) {
        self.round = self.delivered;
    }

    /// Takes a round-trip time; returns whether the one it replaces is older than `window`.
    pub fn on_rtt(&mut self, now: Time, sample: Duration, window: Duration) -> bool {
        let expired = now.since(self.rtt_at) > window;
        let sample = sample.as_secs_f64();
        if sample > 0.0 && (sample <= self.rtt || expired) {
            self.rtt = sample;
            self.rtt_at = now;
        }
        expired
    }

    /// The smallest round-trip time is as good as new.
    pub fn renew_rtt(&mut self, now: Time) {
        self.rtt_at = now;
    }
}
