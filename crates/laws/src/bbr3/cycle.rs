//! States of the probing cycle, results of a probe, and bounds.

use levelflow_units::{Duration, Time};

use super::Params;
use super::model::Sample;
use crate::bytes::before;

/// Pacing gains in Drain (`DrainPacingGain`), ProbeBW_DOWN and ProbeBW_UP. `UP_WINDOW` is the factor on the congestion
/// window in ProbeBW_UP.
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const UP_WINDOW: f64 = 1.125;
/// Congestion window in ProbeRTT, in bandwidth-delay products (`ProbeRTTCwndGain`).
pub(super) const PROBE_RTT_GAIN: f64 = 0.5;

/// State of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Doubles the rate until the pipe is full.
    Startup,
    /// Drains the queue created by Startup.
    Drain,
    /// `ProbeBW_DOWN`: sends below the bandwidth until the queue is empty.
    Down,
    /// `ProbeBW_CRUISE`: sends at the measured bandwidth.
    Cruise,
    /// `ProbeBW_REFILL`: fills the pipe for one round trip before a probe.
    Refill,
    /// `ProbeBW_UP`: probes for more bandwidth.
    Up,
    /// Measures the round-trip time with few packets in flight.
    ProbeRtt,
}

impl State {
    /// Implements `IsInAProbeBWState`.
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Implements `IsProbingBW`.
    pub(super) fn probes(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    pub(super) fn pacing_gain(self, params: &Params) -> f64 {
        match self {
            Self::Startup => params.startup_gain,
            Self::Drain => DRAIN_GAIN,
            Self::Down => DOWN_GAIN,
            Self::Up => UP_GAIN,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    pub(super) fn window_gain(self, params: &Params) -> f64 {
        match self {
            Self::Up => UP_WINDOW * params.window_gain,
            Self::ProbeRtt => PROBE_RTT_GAIN,
            _ => params.window_gain,
        }
    }
}

/// Phase of the bandwidth probe in which the acknowledged packets were sent (`ack_phase`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// State of the ProbeBW cycle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Probe {
    pub acks: Acks,
    /// True if the acknowledged packets were sent in a probe (`is_bw_probe_sample`).
    pub samples: bool,
    /// True if the last probe lost too many packets. `precautionary` is true if a probe ended early because the probe
    /// before it lost too many packets.
    pub too_high: bool,
    pub precautionary: bool,
    /// Start of the cycle. `wait` is the time from this start to the next probe.
    pub since: Time,
    pub wait: Duration,
    /// Packets acknowledged since the last growth of the long-term bound. `acked_per_packet` is the number of
    /// acknowledged packets per packet of growth.
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

/// State of ProbeRTT. `end` is its earliest end; `None` until the number of packets in flight has fallen to the window.
/// `round` is true if a round trip has passed after that time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ProbeRtt {
    pub end: Option<Time>,
    pub round: bool,
}

/// Bounds on the model; infinite if not set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// Bound `bw_shortterm`. The next fields are `inflight_shortterm` and `inflight_longterm`.
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

    /// Implements `ResetShortTermModel`.
    pub fn reset_shortterm(&mut self) {
        (self.bandwidth, self.shortterm) = (f64::INFINITY, f64::INFINITY);
    }
}

/// Losses and deliveries of the current round trip.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LossRound {
    /// True if a packet was lost. `ranges` is the number of loss ranges.
    pub lost: bool,
    pub ranges: u32,
    pub latest_lost: Option<u32>,
    pub end: u32,
    /// True if the last ACK ended a round trip.
    pub ended: bool,
    /// Largest delivery rate of the samples (`bw_latest`). `volume` is the largest delivered volume
    /// (`inflight_latest`).
    pub rate: f64,
    pub volume: f64,
}

impl LossRound {
    /// Implements `UpdateLatestDeliverySignals`.
    pub fn update(&mut self, sample: &Sample) {
        self.rate = self.rate.max(sample.rate);
        self.volume = self.volume.max(sample.delivered);
        self.ended = !before(sample.prior, self.end);
        if self.ended {
            self.end = sample.total;
        }
    }

    /// Implements `AdvanceLatestDeliverySignals`.
    pub fn advance(&mut self, sample: &Sample) {
        if self.ended {
            (self.rate, self.volume) = (sample.rate, sample.delivered);
            self.ranges = 0;
        }
    }

    /// Implements `ResetCongestionSignals`.
    pub fn reset(&mut self) {
        (self.lost, self.rate, self.volume) = (false, 0.0, 0.0);
    }
}

/// State saved before a loss, and restored if the loss was spurious (`undo_*`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Undo {
    pub bounds: Bounds,
    /// State that ended due to the loss, if any.
    pub state: Option<State>,
}
