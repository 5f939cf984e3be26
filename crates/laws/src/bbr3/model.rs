//! Path model of BBRv3: round trips, the largest recent delivery rate, the smallest recent round-trip time, and ACK
//! aggregation. Volumes are in packets, rates in packets per second, times in seconds.

use levelflow_units::{Duration, Time};

use super::Params;
use crate::bytes::before;

/// Number of round trips in the maximum filter of ACK aggregation (`ExtraAckedFilterLen`).
const AGGREGATION_ROUNDS: usize = 10;

/// Delivery rate sample of an ACK (`RS`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub now: Time,
    /// Packets newly acknowledged.
    pub acked: f64,
    /// Total packets delivered. `prior` is the total when the acknowledged packet was sent.
    pub total: u32,
    pub prior: u32,
    /// Packets delivered since the acknowledged packet was sent. `rate` is their delivery rate; 0 if unknown.
    pub delivered: f64,
    pub rate: f64,
    pub rtt: Duration,
    /// Packets in flight just after the acknowledged packet was sent, including that packet.
    pub in_flight: f64,
    /// Packets declared lost since the acknowledged packet was sent.
    pub lost: f64,
    /// True if the packet was sent while the application limited the packets in flight.
    pub app_limited: bool,
}

/// Round trips, counted by packets. A round trip ends with the first ACK of a packet sent after the start of the round
/// trip.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rounds {
    pub delivered: u32,
    end: u32,
    pub count: u32,
    /// True if the last ACK started a round trip.
    pub started: bool,
    /// Round trips since the last probe for bandwidth.
    pub since_probe: u32,
}

impl Rounds {
    /// Implements `UpdateRound`.
    pub fn update(&mut self, sample: &Sample) {
        self.started = !before(sample.prior, self.end);
        if self.started {
            self.start();
            self.count += 1;
            self.since_probe += 1;
        }
    }

    /// Implements `StartRound`.
    pub fn start(&mut self) {
        self.end = self.delivered;
    }
}

/// Largest delivery rates of the current and the previous probing cycle (`max_bw_filter`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MaxBandwidth([f64; 2]);

impl MaxBandwidth {
    pub fn get(self) -> f64 {
        self.0[0].max(self.0[1])
    }

    /// Implements `UpdateMaxBw`. A sample of an application-limited flow is used if it is at least the current maximum.
    pub fn update(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.get() || !sample.app_limited) {
            self.0[1] = self.0[1].max(sample.rate);
        }
    }

    /// Implements `AdvanceMaxBwFilter`. A cycle without a measurement keeps the previous maxima.
    pub fn advance(&mut self) {
        if self.0[1] > 0.0 {
            self.0 = [self.0[1], 0.0];
        }
    }
}

/// Smallest round-trip times: `rtt` of the last 10 s, and `recent` of the last 5 s. ProbeRTT begins when `recent`
/// expires.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MinRtt {
    /// Smallest round-trip time of the last 10 s, in seconds; infinite before the first measurement.
    pub rtt: f64,
    at: Time,
    recent: f64,
    pub recent_at: Time,
    /// True if `recent` has expired.
    pub expired: bool,
    /// Smallest round-trip time since the start of the flow, in seconds.
    pub ever: f64,
}

impl MinRtt {
    pub fn new() -> Self {
        Self {
            rtt: f64::INFINITY,
            at: Time::ZERO,
            recent: f64::INFINITY,
            recent_at: Time::ZERO,
            expired: false,
            ever: f64::INFINITY,
        }
    }

    /// Processes the first round-trip time sample.
    pub fn begin(&mut self, now: Time, sample: Duration) {
        let rtt = sample.as_secs_f64();
        if rtt > 0.0 {
            (self.rtt, self.recent, self.ever) = (rtt, rtt, rtt);
        }
        (self.at, self.recent_at) = (now, now);
    }

    /// Implements `UpdateMinRTT`.
    pub fn update(&mut self, params: &Params, now: Time, sample: Duration) {
        let rtt = sample.as_secs_f64();
        self.expired = now.since(self.recent_at) > params.probe_rtt_interval;
        if rtt <= 0.0 {
            return;
        }
        self.ever = self.ever.min(rtt);
        if rtt < self.recent || self.expired {
            (self.recent, self.recent_at) = (rtt, now);
        }
        if self.recent < self.rtt || now.since(self.at) > params.rtt_window {
            (self.rtt, self.at) = (self.recent, self.recent_at);
        }
    }
}

/// ACK aggregation: number of acknowledged packets minus the number expected from the bandwidth (`extra_acked`).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Aggregation {
    /// Start of the current aggregation interval. `acked` is the number of packets acknowledged in this interval. The
    /// interval lasts while `acked` exceeds the number expected from the bandwidth.
    pub since: Time,
    acked: f64,
    /// Largest excess of acknowledged over expected packets in each of the last round trips (`f32` to save memory).
    /// `place` is the index of the current round trip.
    recent: [f32; AGGREGATION_ROUNDS],
    place: u8,
    /// True until the pipe has been full for the first time. Until then, only the current round trip is used.
    brief: bool,
}

impl Aggregation {
    /// Implements `UpdateACKAggregation`.
    pub fn update(&mut self, sample: &Sample, round: bool, bandwidth: f64, window: f64, full: bool) {
        if round {
            self.place = (self.place + 1) % AGGREGATION_ROUNDS as u8;
            self.recent[usize::from(self.place)] = 0.0;
        }
        self.brief = !full;
        let mut expected = bandwidth * sample.now.since(self.since).as_secs_f64();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, sample.now, 0.0);
        }
        self.acked += sample.acked;
        let extra = (self.acked - expected).min(window);
        let most = &mut self.recent[usize::from(self.place)];
        *most = most.max(extra as f32);
    }

    pub fn extra(&self) -> f64 {
        if self.brief {
            return self.recent[usize::from(self.place)].into();
        }
        self.recent.iter().copied().fold(0.0, f32::max).into()
    }
}

/// Full-pipe detection. The pipe is full when the bandwidth does not grow with the packets in flight (`full_bw`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FullPipe {
    /// True if the pipe has ever been full.
    pub reached: bool,
    /// True if the pipe has been full since the last restart of the detection.
    pub now: bool,
    pub count: u8,
    baseline: f64,
}

impl FullPipe {
    /// Smallest growth factor of the delivery rate per round trip while the pipe is not full. The pipe is full after
    /// `FULL_PIPE_ROUNDS` round trips with less growth.
    const FULL_PIPE_GROWTH: f64 = 1.25;
    const FULL_PIPE_ROUNDS: u8 = 3;

    /// Implements `ResetFullBW`. Growth is measured relative to `baseline`.
    pub fn restart(&mut self, baseline: f64) {
        (self.now, self.count, self.baseline) = (false, 0, baseline);
    }

    /// Implements `CheckFullBWReached`.
    pub fn check(&mut self, sample: &Sample, round: bool) {
        if self.now || !round || sample.app_limited {
            return;
        }
        if sample.rate >= self.baseline * Self::FULL_PIPE_GROWTH {
            return self.restart(sample.rate);
        }
        self.count += 1;
        self.now = self.count >= Self::FULL_PIPE_ROUNDS;
        self.reached |= self.now;
    }
}
