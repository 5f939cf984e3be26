//! What BBRv3 knows of its path: rounds, the largest recent delivery rate, the smallest recent round-trip time, and how much
//! ACKs arrive in lumps. Volumes are in packets, rates in packets per second, times in seconds.

use levelflow_units::{Duration, Time};

use super::Bbr3Params;
use crate::bytes::before;

/// Round trips over which the largest aggregation is taken (`ExtraAckedFilterLen`).
const AGGREGATION_ROUNDS: usize = 10;

/// What an ACK says (`RS`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub now: Time,
    /// Packets newly acknowledged.
    pub acked: f64,
    /// Packets known to have arrived: now, and when the acknowledged packet left.
    pub total: u32,
    pub prior: u32,
    /// Packets that arrived in between, and at which rate; 0 if that is not known.
    pub delivered: f64,
    pub rate: f64,
    pub rtt: Duration,
    /// Packets on their way after the acknowledged one had left, itself included.
    pub in_flight: f64,
    /// Packets taken for lost since.
    pub lost: f64,
    /// Whether the application limited what was on its way.
    pub limited: bool,
}

/// Round trips, counted by packets: one ends with the ACK of a packet that left after it began.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rounds {
    pub delivered: u32,
    end: u32,
    pub count: u32,
    /// Whether the latest ACK began one.
    pub started: bool,
    /// Round trips since bandwidth was probed last.
    pub since_probe: u32,
}

impl Rounds {
    /// `UpdateRound`.
    pub fn update(&mut self, sample: &Sample) {
        self.started = !before(sample.prior, self.end);
        if self.started {
            self.start();
            self.count += 1;
            self.since_probe += 1;
        }
    }

    /// `StartRound`.
    pub fn start(&mut self) {
        self.end = self.delivered;
    }
}

/// The largest delivery rate of this cycle of probes and of the one before (`max_bw_filter`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct MaxBandwidth([f64; 2]);

impl MaxBandwidth {
    pub fn get(self) -> f64 {
        self.0[0].max(self.0[1])
    }

    /// `UpdateMaxBw`. The limit of an application counts only if it is above what was known.
    pub fn update(&mut self, sample: &Sample) {
        if sample.rate > 0.0 && (sample.rate >= self.get() || !sample.limited) {
            self.0[1] = self.0[1].max(sample.rate);
        }
    }

    /// `AdvanceMaxBwFilter`. A cycle without a measurement of its own forgets nothing.
    pub fn advance(&mut self) {
        if self.0[1] > 0.0 {
            self.0 = [self.0[1], 0.0];
        }
    }
}

/// Smallest round-trip times: of the last 10 s, and of the last 5 s, which schedule ProbeRTT.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MinRtt {
    /// s; infinite before the first measurement.
    pub rtt: f64,
    at: Time,
    recent: f64,
    pub recent_at: Time,
    /// Whether the recent one is too old.
    pub expired: bool,
    /// The smallest ever.
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

    /// The first measurement.
    pub fn begin(&mut self, now: Time, sample: Duration) {
        let rtt = sample.as_secs_f64();
        if rtt > 0.0 {
            (self.rtt, self.recent, self.ever) = (rtt, rtt, rtt);
        }
        (self.at, self.recent_at) = (now, now);
    }

    /// `UpdateMinRTT`.
    pub fn update(&mut self, params: &Bbr3Params, now: Time, sample: Duration) {
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

/// How much more than expected ACKs bring at once (`extra_acked`).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Aggregation {
    /// Since when ACKs have kept up with the bandwidth, and what they have brought since.
    pub since: Time,
    acked: f64,
    /// The largest excess in each of the last round trips, in half the space, and the place of the present one.
    recent: [f32; AGGREGATION_ROUNDS],
    place: u8,
    /// Whether only this round trip counts.
    brief: bool,
}

impl Aggregation {
    /// `UpdateACKAggregation`.
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

/// Whether bandwidth no longer grows when more is sent (`full_bw`).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FullPipe {
    /// Whether the pipe was ever full.
    pub reached: bool,
    /// Whether it is, since this was asked last.
    pub now: bool,
    pub count: u8,
    baseline: f64,
}

impl FullPipe {
    /// Growth of a round trip that makes a difference, and round trips without it.
    const GROWTH: f64 = 1.25;
    const ROUNDS: u8 = 3;

    /// `ResetFullBW`, with a delivery rate to grow from.
    pub fn restart(&mut self, baseline: f64) {
        (self.now, self.count, self.baseline) = (false, 0, baseline);
    }

    /// `CheckFullBWReached`.
    pub fn check(&mut self, sample: &Sample, round: bool) {
        if self.now || !round || sample.limited {
            return;
        }
        if sample.rate >= self.baseline * Self::GROWTH {
            return self.restart(sample.rate);
        }
        self.count += 1;
        self.now = self.count >= Self::ROUNDS;
        self.reached |= self.now;
    }
}
