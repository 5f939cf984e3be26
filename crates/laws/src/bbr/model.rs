//! Path model of BBR: the largest recent delivery rate and the smallest recent round-trip time.

use levelflow_units::{Duration, Time};

use crate::Delivery;
use crate::bytes::before;

/// Number of round trips in the maximum filter of the delivery rate (`BtlBwFilterLen`).
const BANDWIDTH_FILTER_ROUNDS: usize = 10;

/// Estimates of bandwidth, in packets per second, and round-trip time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Path {
    /// Largest delivery rate of each of the last ten round trips; 0 for a round trip without a valid sample. The newest
    /// entry belongs to the last round trip with a valid sample.
    recent: [f64; BANDWIDTH_FILTER_ROUNDS],
    /// Index in `recent` of the last round trip with a valid sample.
    place: usize,
    /// Number of round trips since the last round trip with a valid sample.
    unsampled: usize,
    /// `BtlBw`: largest rate in `recent`, packets per second; 0 before the first measurement.
    pub bandwidth: f64,
    /// `RTprop`: smallest recent round-trip time, in seconds; infinite before the first measurement.
    pub rtt: f64,
    /// Time at which `rtt` was measured or renewed.
    rtt_at: Time,
    /// Packets delivered so far.
    pub delivered: u32,
    /// Value of `delivered` at the start of the current round trip. The round trip ends with the first ACK of a packet
    /// sent after this start.
    round: u32,
}

impl Path {
    pub fn new() -> Self {
        Self {
            recent: [0.0; BANDWIDTH_FILTER_ROUNDS],
            rtt: f64::INFINITY,
            ..Self::default()
        }
    }

    /// Returns bandwidth times round-trip time, packets; `None` until both have been measured.
    pub fn product(&self) -> Option<f64> {
        (self.bandwidth > 0.0 && self.rtt.is_finite()).then_some(self.bandwidth * self.rtt)
    }

    /// Processes a delivery rate sample of at least one packet over a positive time. Returns true if the sample starts
    /// a round trip. An application-limited flow does not measure the bandwidth of the path. Its sample is used only if
    /// it is at least the current bandwidth (`BBRUpdateBtlBw`).
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
            for _ in 0..self.unsampled.min(BANDWIDTH_FILTER_ROUNDS) {
                self.place = (self.place + 1) % BANDWIDTH_FILTER_ROUNDS;
                self.recent[self.place] = 0.0;
            }
            self.unsampled = 0;
            self.bandwidth = self.recent.iter().copied().fold(0.0, f64::max);
        }
        self.recent[self.place] = self.recent[self.place].max(rate);
        self.bandwidth = self.bandwidth.max(rate);
    }

    /// Begins a new round trip.
    pub fn begin_round(&mut self) {
        self.round = self.delivered;
    }

    /// Processes a round-trip time sample. Returns true if the previous minimum is older than `window`.
    pub fn on_rtt(&mut self, now: Time, sample: Duration, window: Duration) -> bool {
        let expired = now.since(self.rtt_at) > window;
        let sample = sample.as_secs_f64();
        if sample > 0.0 && (sample <= self.rtt || expired) {
            self.rtt = sample;
            self.rtt_at = now;
        }
        expired
    }

    /// Sets the age of the smallest round-trip time to zero.
    pub fn renew_rtt(&mut self, now: Time) {
        self.rtt_at = now;
    }
}
