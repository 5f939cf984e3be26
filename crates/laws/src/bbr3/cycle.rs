//! Where the sender is in its cycle, what a probe has told it, and what losses do to its bounds.

use levelflow_units::{Duration, Time};

use super::Bbr3Params;
use super::model::Sample;
use crate::bytes::before;

/// Pacing gains (`DrainPacingGain`, and those of ProbeBW), and the window's while probing up, as a part of its usual one.
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const UP_WINDOW: f64 = 1.125;
/// Part of the bandwidth-delay product that is on its way in ProbeRTT (`ProbeRTTCwndGain`).
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;

/// What the sender does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate until the pipe is full.
    Startup,
    /// Drains the queue that this has left.
    Drain,
    /// ProbeBW, decelerating until there is no queue.
    Down,
    /// ProbeBW, at the measured bandwidth.
    Cruise,
    /// ProbeBW, one round trip to fill the pipe before a probe.
    Refill,
    /// ProbeBW, probing for more.
    Up,
    /// Measures the round-trip time with little on the way.
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState`.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// `IsProbingBW`.
    pub(super) fn probes(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    pub(super) fn pacing_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            Self::Startup => params.startup_gain,
            Self::Drain => DRAIN_GAIN,
            Self::Down => DOWN_GAIN,
            Self::Up => UP_GAIN,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    pub(super) fn window_gain(self, params: &Bbr3Params) -> f64 {
        match self {
            Self::Up => UP_WINDOW * params.window_gain,
            Self::ProbeRtt => PROBE_RTT_GAIN,
            _ => params.window_gain,
        }
    }
}

/// What ACKs say about a probe (`ack_phase`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// The cycle of ProbeBW.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Probe {
    pub acks: Acks,
    /// Whether ACKs are of packets of a probe (`is_bw_probe_sample`).
    pub samples: bool,
    /// Whether the last probe lost too much, and whether it ended early for that reason.
    pub too_high: bool,
    pub precautionary: bool,
    /// Start of the cycle, and how long to wait for a probe.
    pub since: Time,
    pub wait: Duration,
    /// Packets acked since the long-term bound grew last, and how many let it grow by one.
    pub acked: f64,
    pub acked_per_packet: f64,
    pub doublings: u32,
}

impl Probe {
    pub fn new() -> Self {
        Self {
            acks: Acks::Init,
            samples: false,
            too_high: false,
            precautionary: false,
            since: Time::ZERO,
            wait: Duration::ZERO,
            acked: 0.0,
            acked_per_packet: f64::INFINITY,
            doublings: 0,
        }
    }
}

/// ProbeRTT: when it may end, not known while too much is on its way, and whether a round trip has passed since.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProbeRtt {
    pub end: Option<Time>,
    pub round: bool,
}

/// Bounds; infinite where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// `bw_shortterm`, `inflight_shortterm`, `inflight_longterm`.
    pub bandwidth: f64,
    pub shortterm: f64,
    pub longterm: f64,
}

impl Bounds {
    pub const NONE: Self = Self {
        bandwidth: f64::INFINITY,
        shortterm: f64::INFINITY,
        longterm: f64::INFINITY,
    };

    /// `ResetShortTermModel`.
    pub fn reset_shortterm(&mut self) {
        (self.bandwidth, self.shortterm) = (f64::INFINITY, f64::INFINITY);
    }
}

/// What happened in this round trip.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LossRound {
    /// Whether something was lost, and in how many places.
    pub lost: bool,
    pub ranges: u32,
    pub latest_lost: Option<u32>,
    pub end: u32,
    /// Whether the latest ACK ended it.
    pub ended: bool,
    /// Largest delivery rate and volume (`bw_latest`, `inflight_latest`).
    pub rate: f64,
    pub volume: f64,
}

impl LossRound {
    /// `UpdateLatestDeliverySignals`.
    pub fn update(&mut self, sample: &Sample) {
        self.rate = self.rate.max(sample.rate);
        self.volume = self.volume.max(sample.delivered);
        self.ended = !before(sample.prior, self.end);
        if self.ended {
            self.end = sample.total;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub fn advance(&mut self, sample: &Sample) {
        if self.ended {
            (self.rate, self.volume) = (sample.rate, sample.delivered);
            self.ranges = 0;
        }
    }

    /// `ResetCongestionSignals`.
    pub fn reset(&mut self) {
        (self.lost, self.rate, self.volume) = (false, 0.0, 0.0);
    }
}

/// What there was before a loss, in case it was none (`undo_*`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Undo {
    pub bounds: Bounds,
    /// The state that the loss ended.
    pub state: Option<State>,
}
