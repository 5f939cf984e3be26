//! The state machine: Startup, Drain, the four phases of ProbeBW, and ProbeRTT.

use levelflow_units::{Duration, Time};

use super::bounds::is_too_high;
use super::cycle::{Acks, ProbeRtt, State};
use super::model::Sample;
use super::{Params, Sender};

/// Time in ProbeRTT after the number of packets in flight has fallen to the window.
const PROBE_RTT: Duration = Duration::from_ms(200);
/// Limit on the duration of Drain, in round trips.
const DRAIN_ROUNDS: u32 = 3;
/// Limit on the number of round trips between bandwidth probes, for coexistence with Reno.
const RENO_ROUNDS: f64 = 63.0;
/// Limit on the number of times that the growth of the long-term bound doubles.
const MOST_DOUBLINGS: u32 = 30;

impl Sender {
    /// Implements `CheckStartupDone` and `CheckDrainDone`.
    pub(super) fn check_startup_and_drain(&mut self, params: &Params, sample: &Sample) {
        self.check_startup_loss(params, sample);
        if self.state == State::Startup && self.pipe.reached {
            self.state = State::Drain;
            self.drain_round = self.rounds.count;
        }
        let drained = self.in_flight <= self.inflight(self.bandwidth, 1.0);
        if self.state == State::Drain && (drained || self.rounds.count > self.drain_round + DRAIN_ROUNDS) {
            self.start_down(params, sample.now);
        }
    }

    /// Implements `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, params: &Params, now: Time) {
        self.losses.reset();
        self.probe.acked_per_packet = f64::INFINITY;
        self.pick_wait(params);
        self.probe.since = now;
        self.probe.acks = Acks::Stopping;
        self.rounds.start();
        self.state = State::Down;
    }

    /// Implements `PickProbeWait`.
    fn pick_wait(&mut self, params: &Params) {
        self.rounds.since_probe = self.draws.below(2);
        let more = Duration::from_secs_f64(self.draws.unit()).unwrap_or(Duration::ZERO);
        self.probe.wait = params.probe_wait + more;
    }

    /// Implements `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_shortterm();
        (self.probe.doublings, self.probe.acked) = (0, 0.0);
        self.probe.precautionary = false;
        self.probe.acks = Acks::Refilling;
        self.rounds.start();
        self.state = State::Refill;
    }

    /// Implements `StartProbeBW_UP`.
    fn start_up(&mut self, sample: &Sample) {
        self.probe.samples = true;
        self.probe.acks = Acks::Starting;
        self.rounds.start();
        self.pipe.restart(sample.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// Implements `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, params: &Params, sample: &Sample) {
        if !self.pipe.reached || self.adapt_longterm(params, sample) {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(params) => self.state = State::Cruise,
            State::Refill if self.rounds.started => self.start_up(sample),
            State::Up => self.end_probe(params, sample),
            _ => {}
        }
    }

    fn end_probe(&mut self, params: &Params, sample: &Sample) {
        if self.is_time_to_go_down(sample) {
            self.probe.too_high = false;
            self.start_down(params, sample.now);
        }
    }

    /// Implements `IsTimeToProbeBW`.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = self.target().min(RENO_ROUNDS);
        now.since(self.probe.since) > self.probe.wait || f64::from(self.rounds.since_probe) >= rounds
    }

    /// Implements `IsTimeToCruise`.
    fn is_time_to_cruise(&self, params: &Params) -> bool {
        self.in_flight
            <= self
                .with_headroom(params)
                .min(self.inflight(self.max_bandwidth.get(), 1.0))
    }

    /// Implements `IsTimeToGoDown`.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        if self.probe.too_high && self.in_flight >= self.bounds.longterm {
            self.probe.precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.window >= self.bounds.longterm {
            self.pipe.restart(sample.rate);
            return false;
        }
        self.pipe.now
    }

    /// Implements `AdaptLongTermModel`; returns true if the state has changed.
    fn adapt_longterm(&mut self, params: &Params, sample: &Sample) -> bool {
        let round = self.rounds.started;
        if self.probe.acks == Acks::Starting && round {
            self.probe.acks = Acks::Feedback;
        }
        if self.probe.acks == Acks::Stopping && round {
            self.probe.samples = false;
            self.probe.acks = Acks::Init;
            if self.state.is_probe_bw() && !sample.app_limited {
                self.max_bandwidth.advance();
            }
            if self.state.is_probe_bw() && self.probe.precautionary && !self.probe.too_high {
                self.start_refill();
                return true;
            }
        }
        if is_too_high(params, sample) || self.bounds.longterm == f64::INFINITY {
            return false;
        }
        self.bounds.longterm = self.bounds.longterm.max(sample.in_flight);
        if self.state == State::Up {
            self.raise_longterm(sample);
        }
        false
    }

    /// Implements `RaiseInflightLongtermSlope`: the growth doubles in each round trip.
    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.probe.doublings);
        self.probe.doublings = (self.probe.doublings + 1).min(MOST_DOUBLINGS);
        self.probe.acked_per_packet = (self.window / growth).max(1.0);
    }

    /// Implements `ProbeInflightLongtermUpward`.
    fn raise_longterm(&mut self, sample: &Sample) {
        if !self.is_window_limited() || self.window < self.bounds.longterm {
            return;
        }
        self.probe.acked += sample.acked;
        if self.probe.acked >= self.probe.acked_per_packet {
            let more = f64::from((self.probe.acked / self.probe.acked_per_packet) as u32);
            self.probe.acked -= more * self.probe.acked_per_packet;
            self.bounds.longterm += more;
        }
        if self.rounds.started {
            self.raise_slope();
        }
    }

    /// Implements `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, params: &Params, sample: &Sample) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
            self.probe.acks = Acks::Stopping;
            self.rounds.start();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(params, sample);
        }
        if sample.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// Implements `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, params: &Params, sample: &Sample) {
        self.probes
            .mark(self.next, self.rounds.delivered, self.in_flight as u32);
        match self.probe_rtt.end {
            None if self.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt = ProbeRtt {
                    end: Some(sample.now.saturating_add(PROBE_RTT)),
                    round: false,
                };
                self.rounds.start();
            }
            None => {}
            Some(_) => {
                self.probe_rtt.round |= self.rounds.started;
                if self.probe_rtt.round {
                    self.end_probe_rtt(params, sample.now);
                }
            }
        }
    }

    /// Implements `CheckProbeRTTDone` and `ExitProbeRTT`.
    pub(super) fn end_probe_rtt(&mut self, params: &Params, now: Time) {
        if self.probe_rtt.end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt.recent_at = now;
        self.restore_window();
        self.bounds.reset_shortterm();
        if self.pipe.reached {
            self.start_down(params, now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
