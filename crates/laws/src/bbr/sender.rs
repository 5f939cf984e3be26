//! Sender algorithm: a state machine that sets pacing rate and congestion window from the path model.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::model::Path;
use super::{Limited, Params};
use crate::bytes::before;
use crate::random::Draws;
use crate::{Delivery, Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, Restart, SenderLaw};

/// Pacing gains of the ProbeBW phases. The duration of a phase is the smallest round-trip time.
const PROBE_BW_GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Smallest congestion window, also used in ProbeRTT, packets (`BBRMinPipeCwnd`).
const SMALLEST_WINDOW: f64 = 4.0;
/// Packets in flight in addition to the multiple of the bandwidth-delay product. A host may send three packets in one
/// burst.
const WINDOW_HEADROOM_PACKETS: f64 = 3.0;
/// Time in ProbeRTT after the number of packets in flight has fallen to the window.
const PROBE_RTT: Duration = Duration::from_ms(200);
/// Smallest growth factor of the bandwidth per round trip while the pipe is not full. The pipe is full after
/// `FLAT_ROUNDS` round trips with less growth.
const FULL_PIPE_GROWTH: f64 = 1.25;
const FLAT_ROUNDS: u8 = 3;
/// Factor on the pacing rate (`BBRPacingMarginPercent`). A rate slightly below the bandwidth drains queues.
const PACING_MARGIN: f64 = 0.99;
/// Round-trip time assumed before the first measurement, in seconds.
const ASSUMED_RTT: f64 = 1.0;
/// Limit on the congestion window, packets.
const LARGEST_WINDOW: f64 = 1e9;

/// Sender of BBR.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    pub(super) path: Path,
    mode: Mode,
    pipe: Pipe,
    /// Pacing rate, packets per second.
    pacing: f64,
    /// Congestion window, packets.
    window: f64,
    /// Congestion window to be restored after loss recovery or ProbeRTT, packets.
    prior_window: f64,
    recovery: Option<LossEpisode>,
    /// True if a packet was lost since the last ACK.
    lost: bool,
    /// True after a restart from idle, until the next delivery.
    idle_restart: bool,
    /// Number of the next packet to be sent.
    next: u32,
    /// Marks of the packets sent in ProbeRTT.
    probes: Limited,
    draws: Draws,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    /// Doubles the rate until the pipe is full.
    Startup,
    /// Drains the queue created by Startup.
    Drain,
    /// Probes for bandwidth. The fields are the index and the start time of the current phase.
    ProbeBw(usize, Time),
    /// Probes for the round-trip time with few packets in flight.
    ProbeRtt {
        /// Earliest end; `None` until the number of packets in flight has fallen to the window.
        end: Option<Time>,
        /// True if a round trip has passed since the number of packets in flight fell to the window.
        round: bool,
    },
}

/// Properties of one ACK.
#[derive(Debug, Clone, Copy, Default)]
struct Round {
    /// True if the ACK starts a round trip.
    begins: bool,
    /// True if the acknowledged packet was sent while the application or ProbeRTT limited the flow.
    limited: bool,
}

/// Loss recovery, which ends when a packet sent after the loss is delivered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossEpisode {
    /// Number of the first packet sent after the loss.
    next: u32,
    /// True in the first round trip after the loss. In this round trip, the number of packets in flight stays constant.
    conserves: bool,
}

/// Full-pipe detection. The pipe is full when the bandwidth has stopped growing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pipe {
    bandwidth: f64,
    flat: u8,
}

impl Pipe {
    fn is_full(self) -> bool {
        self.flat >= FLAT_ROUNDS
    }

    fn on_round(&mut self, bandwidth: f64) {
        if self.is_full() {
            return;
        }
        if bandwidth >= FULL_PIPE_GROWTH * self.bandwidth {
            *self = Self { bandwidth, flat: 0 };
        } else {
            self.flat += 1;
        }
    }
}

impl Sender {
    /// Returns, in packets, `gain` times the measured bandwidth-delay product plus headroom.
    fn inflight(&self, params: &Params, gain: f64) -> f64 {
        let product = self
            .path
            .product()
            .map_or(params.initial_window, |product| gain * product);
        (product + WINDOW_HEADROOM_PACKETS).min(LARGEST_WINDOW)
    }

    fn pacing_gain(&self, params: &Params) -> f64 {
        match self.mode {
            Mode::Startup => params.startup_gain,
            Mode::Drain => 1.0 / params.startup_gain,
            Mode::ProbeBw(phase, _) => PROBE_BW_GAINS[phase],
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// Starts ProbeBW in a random phase, except the phase with gain 0.75 (`BBREnterProbeBW`).
    fn probe_bandwidth(&mut self, now: Time) {
        let pick = self.draws.below(PROBE_BW_GAINS.len() as u32 - 1) as usize;
        self.mode = Mode::ProbeBw((PROBE_BW_GAINS.len() - pick) % PROBE_BW_GAINS.len(), now);
    }

    fn save_window(&mut self) {
        let reduced = self.recovery.is_some() || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_window = if reduced {
            self.prior_window.max(self.window)
        } else {
            self.window
        };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    fn update_mode(&mut self, params: &Params, now: Time, feedback: &Feedback<NoHeader>, round: Round) {
        let after = f64::from(feedback.outstanding);
        let before = after + f64::from(feedback.acked);
        if let Mode::ProbeBw(phase, since) = self.mode {
            let long = now.since(since).as_secs_f64() > self.path.rtt;
            let gain = PROBE_BW_GAINS[phase];
            let done = if gain > 1.0 {
                long && (self.lost || before >= self.inflight(params, gain))
            } else {
                long || (gain < 1.0 && before <= self.inflight(params, 1.0))
            };
            if done {
                self.mode = Mode::ProbeBw((phase + 1) % PROBE_BW_GAINS.len(), now);
            }
        }
        if round.begins && !round.limited {
            self.pipe.on_round(self.path.bandwidth);
        }
        if self.mode == Mode::Startup && self.pipe.is_full() {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && after <= self.inflight(params, 1.0) {
            self.probe_bandwidth(now);
        }
        let expired = self.path.on_rtt(now, feedback.rtt, params.rtt_window);
        // After an idle time, the queue is empty. This sample is then as good as a sample from ProbeRTT, so ProbeRTT is
        // not needed.
        if expired && !self.idle_restart && !matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.save_window();
            self.mode = Mode::ProbeRtt {
                end: None,
                round: false,
            };
        }
        if let Mode::ProbeRtt { end, round: passed } = self.mode {
            self.probes.mark(self.next, self.path.delivered, feedback.outstanding);
            self.probe_rtt(now, end, passed || round.begins, after);
        }
        if feedback.acked > 0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, now: Time, end: Option<Time>, round: bool, outstanding: f64) {
        match end {
            None if outstanding <= SMALLEST_WINDOW => {
                self.path.begin_round();
                self.mode = Mode::ProbeRtt {
                    end: now.checked_add(PROBE_RTT),
                    round: false,
                };
            }
            Some(end) if round && now > end => self.end_probe_rtt(now),
            Some(_) => self.mode = Mode::ProbeRtt { end, round },
            None => {}
        }
    }

    fn end_probe_rtt(&mut self, now: Time) {
        self.path.renew_rtt(now);
        self.restore_window();
        if self.pipe.is_full() {
            self.probe_bandwidth(now);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_recovery(&mut self, feedback: &Feedback<NoHeader>) {
        let Some(recovery) = self.recovery else { return };
        if before(feedback.number, recovery.next) {
            return;
        }
        self.recovery = feedback.gap.then_some(LossEpisode {
            conserves: false,
            ..recovery
        });
        if !feedback.gap {
            self.restore_window();
        }
    }

    fn update_window(&mut self, params: &Params, feedback: &Feedback<NoHeader>) {
        let acked = f64::from(feedback.acked);
        let target = self.inflight(params, params.window_gain);
        if self.recovery.is_some_and(|recovery| recovery.conserves) {
            self.window = self.window.max(f64::from(feedback.outstanding) + acked);
        } else if self.pipe.is_full() {
            self.window = (self.window + acked).min(target);
        } else if self.window < target {
            self.window += acked;
        }
        self.window = self.window.clamp(SMALLEST_WINDOW, LARGEST_WINDOW);
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window = SMALLEST_WINDOW;
        }
    }

    fn pace_with(&mut self, gain: f64) {
        let rate = PACING_MARGIN * gain * self.path.bandwidth;
        if rate > self.pacing || (self.pipe.is_full() && rate > 0.0) {
            self.pacing = rate;
        }
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            path: Path::new(),
            mode: Mode::Startup,
            pipe: Pipe {
                bandwidth: 0.0,
                flat: 0,
            },
            pacing: params.initial_window / ASSUMED_RTT,
            window: params.initial_window,
            prior_window: params.initial_window,
            recovery: None,
            lost: false,
            idle_restart: false,
            next: 0,
            probes: Limited::default(),
            draws: Draws::new(flow.seed),
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.pacing * self.packet_size.as_bits_f64())
    }

    #[inline]
    fn window(&self) -> u32 {
        (self.window as u32).max(1)
    }

    #[inline]
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        NoHeader
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<NoHeader>) {
        if feedback.kind != Kind::Data {
            self.path.on_rtt(now, feedback.rtt, params.rtt_window);
            if self.path.rtt.is_finite() {
                self.pacing = params.startup_gain * params.initial_window / self.path.rtt;
            }
            return;
        }
        let usable = |delivery: &Delivery| delivery.interval > Duration::ZERO && delivery.total != delivery.prior;
        let mut round = Round::default();
        if let Some(delivery) = feedback.delivery.filter(usable) {
            round.limited = self.probes.held(feedback.number, delivery.prior) || delivery.app_limited;
            round.begins = self.path.on_delivery(&delivery, round.limited);
        }
        self.update_mode(params, now, feedback, round);
        self.update_recovery(feedback);
        self.update_window(params, feedback);
        self.pace_with(self.pacing_gain(params));
        self.lost = false;
    }

    /// Implements `BBRHandleRestartFromIdle`: paces at the bandwidth. An application-limited flow does not need to
    /// probe for more bandwidth.
    fn on_restart(&mut self, _params: &Params, now: Time, restart: &Restart) {
        if !restart.app_limited {
            return;
        }
        self.idle_restart = true;
        match self.mode {
            Mode::ProbeBw(..) => self.pace_with(1.0),
            Mode::ProbeRtt { end: Some(end), .. } if now > end => self.end_probe_rtt(now),
            _ => {}
        }
    }

    fn on_loss(&mut self, _params: &Params, _now: Time, loss: &Loss) {
        self.lost = true;
        if self.recovery.is_some() {
            self.window = (self.window - 1.0).max(1.0);
        } else {
            self.save_window();
            self.window = f64::from(loss.outstanding) + 1.0;
            self.recovery = Some(LossEpisode {
                next: loss.next,
                conserves: true,
            });
        }
    }

    fn on_timeout(&mut self, _params: &Params, _now: Time, next: u32) {
        self.save_window();
        self.window = 1.0;
        self.recovery = Some(LossEpisode { next, conserves: false });
    }
}
