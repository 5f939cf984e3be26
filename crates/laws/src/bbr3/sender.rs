//! Sender algorithm: each ACK updates the model, then the state, then pacing rate and congestion window.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::Params;
use super::cycle::{Bounds, LossRound, PROBE_RTT_GAIN, Probe, ProbeRtt, State, Undo};
use super::model::{Aggregation, FullPipe, MaxBandwidth, MinRtt, Rounds, Sample};
use crate::bbr::Limited;
use crate::bytes::before;
use crate::random::Draws;
use crate::{Delivery, Feedback, Flight, FlowInfo, Kind, Loss, NoHeader, Outgoing, Restart, SenderLaw};

/// Smallest congestion window, packets (`MinPipeCwnd`).
const SMALLEST_WINDOW: f64 = 4.0;
/// Additional packets in flight in ProbeBW_UP.
const UP_PACKETS: f64 = 2.0;
/// Factor on the pacing rate (`PacingMarginPercent`). A rate slightly below the bandwidth drains queues.
const PACING_MARGIN: f64 = 0.99;
/// Round-trip time assumed before the first measurement, in seconds.
const ASSUMED_RTT: f64 = 1.0;
/// Limit on the congestion window, packets.
const LARGEST_WINDOW: f64 = 1e9;

/// Sender of BBRv3.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    pub(super) state: State,
    pub(super) rounds: Rounds,
    pub(super) max_bandwidth: MaxBandwidth,
    /// Bandwidth `bw`, packets per second: the largest recent delivery rate, limited to `bw_shortterm`.
    pub(super) bandwidth: f64,
    pub(super) min_rtt: MinRtt,
    pub(super) aggregation: Aggregation,
    pub(super) pipe: FullPipe,
    pub(super) bounds: Bounds,
    pub(super) losses: LossRound,
    pub(super) undo: Undo,
    pub(super) probe: Probe,
    pub(super) probe_rtt: ProbeRtt,
    /// Value of the round-trip counter at the start of Drain.
    pub(super) drain_round: u32,
    /// Pacing rate, packets per second.
    pacing: f64,
    /// Congestion window, packets.
    pub(super) window: f64,
    prior_window: f64,
    /// Number of the first packet sent after the loss; `None` without loss recovery.
    pub(super) recovery: Option<u32>,
    /// Packets declared lost since the start of the last loss recovery, and number of spurious losses among them.
    episode: [u32; 2],
    pub(super) idle_restart: bool,
    /// Packets in flight.
    pub(super) in_flight: f64,
    /// True if the congestion window was fully used, in the current and in the previous round trip.
    full_window: [bool; 2],
    /// Number of the next packet to be sent.
    pub(super) next: u32,
    /// Marks of the packets sent in ProbeRTT.
    pub(super) probes: Limited,
    flight: Option<Flight>,
    opened: bool,
    pub(super) draws: Draws,
}

/// Snapshot of the path model, for tests. Volumes are in packets, rates in packets per second. Bounds that are not set
/// are infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// `max_bw`: largest delivery rate of the last two probing cycles.
    pub max_bandwidth: f64,
    /// Bandwidth `bw`: `max_bw` limited to `bw_shortterm`.
    pub bandwidth: f64,
    /// `min_rtt`: smallest round-trip time, in seconds; infinite before the first measurement.
    pub min_rtt: f64,
    /// `extra_acked`: packets acknowledged in addition to the expected number.
    pub extra_acked: f64,
    /// `bw_shortterm`: short-term bound on bandwidth.
    pub bandwidth_shortterm: f64,
    /// `inflight_shortterm`: short-term bound on packets in flight.
    pub inflight_shortterm: f64,
    /// `inflight_longterm`: long-term bound on packets in flight.
    pub inflight_longterm: f64,
    /// `full_bw_now`: true if the pipe has been full since the last restart of the detection.
    pub full_now: bool,
    /// `full_bw_reached`: true if the pipe has ever been full.
    pub full_reached: bool,
    /// `full_bw_count`: round trips without growth of the bandwidth.
    pub full_count: u8,
    /// `round_count`: round trips so far.
    pub rounds: u32,
    /// `idle_restart`: true after a restart from idle.
    pub idle_restart: bool,
    /// Packets in flight after the last event.
    pub in_flight: f64,
    /// `cwnd`: congestion window.
    pub window: f64,
    /// Pacing rate.
    pub pacing: f64,
}

impl Sender {
    /// Returns the state of the sender.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Returns a snapshot of the path model.
    #[must_use]
    pub fn model(&self) -> Model {
        Model {
            max_bandwidth: self.max_bandwidth.get(),
            bandwidth: self.bandwidth,
            min_rtt: self.min_rtt.rtt,
            extra_acked: self.aggregation.extra(),
            bandwidth_shortterm: self.bounds.bandwidth,
            inflight_shortterm: self.bounds.shortterm,
            inflight_longterm: self.bounds.longterm,
            full_now: self.pipe.now,
            full_reached: self.pipe.reached,
            full_count: self.pipe.count,
            rounds: self.rounds.count,
            idle_restart: self.idle_restart,
            in_flight: self.in_flight,
            window: self.window,
            pacing: self.pacing,
        }
    }

    /// Implements `BDPMultiple(1)`: returns bandwidth times round-trip time, packets; 0 until both are known.
    pub(super) fn product(&self) -> f64 {
        if self.min_rtt.rtt.is_finite() {
            self.bandwidth * self.min_rtt.rtt
        } else {
            0.0
        }
    }

    /// Implements `Inflight`: returns `gain` bandwidth-delay products, quantized, packets.
    pub(super) fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        let product = if self.min_rtt.rtt.is_finite() {
            bandwidth * self.min_rtt.rtt
        } else {
            0.0
        };
        self.quantized(gain * product)
    }

    /// Implements `QuantizationBudget` with a quantum of one packet.
    fn quantized(&self, packets: f64) -> f64 {
        let more = if self.state == State::Up { UP_PACKETS } else { 0.0 };
        packets.max(SMALLEST_WINDOW) + more
    }

    /// Implements `TargetInflight`.
    pub(super) fn target(&self) -> f64 {
        self.product().min(self.window)
    }

    /// Implements `InflightWithHeadroom`.
    pub(super) fn with_headroom(&self, params: &Params) -> f64 {
        let longterm = self.bounds.longterm;
        if longterm == f64::INFINITY {
            return longterm;
        }
        let headroom = (params.headroom * longterm).max(1.0);
        (longterm - headroom).max(SMALLEST_WINDOW)
    }

    /// Implements `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        (PROBE_RTT_GAIN * self.product()).max(SMALLEST_WINDOW)
    }

    /// Implements `is_cwnd_limited`: returns true if the congestion window was fully used in this or in the previous
    /// round trip.
    pub(super) fn is_window_limited(&self) -> bool {
        self.full_window[0] || self.full_window[1]
    }

    /// Implements `SaveCwnd`.
    pub(super) fn save_window(&mut self) {
        let reduced = self.recovery.is_some() || self.state == State::ProbeRtt;
        self.prior_window = if reduced {
            self.prior_window.max(self.window)
        } else {
            self.window
        };
    }

    /// Implements `RestoreCwnd`.
    pub(super) fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    fn sample(&mut self, now: Time, feedback: &Feedback<NoHeader>, flight: Option<Flight>) -> Option<Sample> {
        let Delivery {
            total,
            prior,
            interval,
            app_limited,
        } = feedback.delivery?;
        let delivered = f64::from(total.wrapping_sub(prior));
        let seconds = interval.as_secs_f64();
        let reliable =
            interval > Duration::ZERO && (self.min_rtt.ever == f64::INFINITY || seconds >= self.min_rtt.ever);
        let flight = flight.filter(|flight| flight.number == feedback.number);
        let probes = self.probes.held(feedback.number, prior);
        Some(Sample {
            now,
            acked: f64::from(feedback.acked),
            total,
            prior,
            delivered,
            rate: if reliable { delivered / seconds } else { 0.0 },
            rtt: feedback.rtt,
            in_flight: flight.map_or(0.0, |flight| f64::from(flight.outstanding)),
            lost: flight.map_or(0.0, |flight| f64::from(flight.lost)),
            app_limited: probes || app_limited,
        })
    }

    /// Implements `UpdateModelAndState`.
    fn update_model(&mut self, params: &Params, sample: &Sample) {
        self.rounds.delivered = sample.total;
        self.losses.update(sample);
        self.rounds.update(sample);
        if self.rounds.started {
            self.full_window = [false, self.full_window[0]];
        }
        self.max_bandwidth.update(sample);
        if self.losses.ended {
            self.adapt_lower_bounds(params);
            self.losses.lost = false;
        }
        let (round, full) = (self.rounds.started, self.pipe.reached);
        self.aggregation
            .update(sample, round, self.bandwidth, self.window, full);
        self.pipe.check(sample, round);
        self.check_startup_and_drain(params, sample);
        self.update_cycle(params, sample);
        self.min_rtt.update(params, sample.now, sample.rtt);
        self.check_probe_rtt(params, sample);
        self.losses.advance(sample);
        self.bandwidth = self.max_bandwidth.get().min(self.bounds.bandwidth);
    }

    /// Starts loss recovery, or adds lost packets to a recovery in progress.
    fn enter_recovery(&mut self, lost: u32, next: u32) {
        if self.recovery.is_none() {
            self.episode = [0; 2];
        }
        self.episode[0] = self.episode[0].saturating_add(lost);
        self.recovery.get_or_insert(next);
    }

    /// Undoes the response to losses if all losses of the recovery were spurious.
    fn on_spurious(&mut self, packets: u32) {
        let [lost, spurious] = &mut self.episode;
        *spurious = spurious.saturating_add(packets);
        if packets > 0 && *lost > 0 && spurious >= lost {
            self.episode = [0; 2];
            self.recovery = None;
            self.undo_losses();
        }
    }

    fn update_recovery(&mut self, feedback: &Feedback<NoHeader>) {
        let over = |next: u32| !before(feedback.number, next) && !feedback.gap;
        if self.recovery.is_some_and(over) {
            self.recovery = None;
            self.restore_window();
        }
    }

    /// Implements `SetPacingRateWithGain`.
    fn set_pacing(&mut self, gain: f64) {
        let rate = PACING_MARGIN * gain * self.bandwidth;
        if rate > self.pacing || (self.pipe.reached && rate > 0.0) {
            self.pacing = rate;
        }
    }

    /// Implements `SetCwnd`.
    fn set_window(&mut self, params: &Params, sample: &Sample) {
        let most = if self.min_rtt.rtt.is_finite() {
            self.state.window_gain(params) * self.product() + self.aggregation.extra()
        } else {
            params.initial_window
        };
        let most = self.quantized(most);
        if self.pipe.reached {
            self.window = (self.window + sample.acked).min(most);
        } else if self.window < most || f64::from(sample.total) < params.initial_window {
            self.window += sample.acked;
        }
        self.window = self.window.max(SMALLEST_WINDOW);
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.bound_window(params);
        self.window = self.window.min(LARGEST_WINDOW);
    }

    /// Implements `BoundCwndForModel`.
    fn bound_window(&mut self, params: &Params) {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.bounds.longterm,
            State::ProbeRtt | State::Cruise => self.with_headroom(params),
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = longterm.min(self.bounds.shortterm).max(SMALLEST_WINDOW);
        self.window = self.window.min(bound);
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(params: &Params, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            state: State::Startup,
            rounds: Rounds::default(),
            max_bandwidth: MaxBandwidth::default(),
            bandwidth: 0.0,
            min_rtt: MinRtt::new(),
            aggregation: Aggregation::default(),
            pipe: FullPipe::default(),
            bounds: Bounds::NONE,
            losses: LossRound::default(),
            undo: Undo {
                bounds: Bounds::NONE,
                state: None,
            },
            probe: Probe::new(),
            probe_rtt: ProbeRtt::default(),
            drain_round: 0,
            pacing: params.startup_gain * params.initial_window / ASSUMED_RTT,
            window: params.initial_window,
            prior_window: 0.0,
            recovery: None,
            episode: [0; 2],
            idle_restart: false,
            in_flight: 0.0,
            full_window: [false; 2],
            next: 0,
            probes: Limited::default(),
            flight: None,
            opened: false,
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

    fn on_send(&mut self, _params: &Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        if packet.kind == Kind::Data {
            self.in_flight += 1.0;
            self.full_window[0] |= self.in_flight >= f64::from(self.window());
        }
        NoHeader
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<NoHeader>) {
        let flight = self.flight.take();
        if !self.opened {
            self.opened = true;
            self.min_rtt.begin(now, feedback.rtt);
            self.aggregation.since = now;
            if self.min_rtt.rtt.is_finite() {
                self.pacing = params.startup_gain * params.initial_window / self.min_rtt.rtt;
            }
        }
        if feedback.kind != Kind::Data {
            return;
        }
        self.in_flight = f64::from(feedback.outstanding);
        self.on_spurious(feedback.spurious);
        self.update_recovery(feedback);
        if let Some(sample) = self.sample(now, feedback, flight) {
            self.update_model(params, &sample);
            self.set_pacing(self.state.pacing_gain(params));
            self.set_window(params, &sample);
        }
    }

    fn on_flight(&mut self, _params: &Params, _now: Time, flight: &Flight) {
        self.flight = Some(*flight);
    }

    /// Implements `HandleRestartFromIdle`.
    fn on_restart(&mut self, params: &Params, now: Time, restart: &Restart) {
        if !restart.app_limited {
            return;
        }
        self.in_flight = 0.0;
        self.idle_restart = true;
        self.aggregation.since = now;
        if self.state.is_probe_bw() {
            self.set_pacing(1.0);
        } else if self.state == State::ProbeRtt {
            self.end_probe_rtt(params, now);
        }
    }

    fn on_loss(&mut self, params: &Params, now: Time, loss: &Loss) {
        self.in_flight = f64::from(loss.outstanding);
        let flight = self.flight.take().filter(|flight| flight.number == loss.number);
        let flight = flight.unwrap_or(Flight {
            number: loss.number,
            outstanding: loss.outstanding.saturating_add(1),
            lost: 1,
            app_limited: false,
        });
        self.lose(params, now, loss, flight);
        self.enter_recovery(1, loss.next);
    }

    /// Implements `OnEnterRTO`: declares all packets in flight lost. The loss rate then exceeds the threshold of a
    /// probe.
    fn on_timeout(&mut self, params: &Params, now: Time, next: u32) {
        let lost = self.in_flight as u32;
        self.note_loss();
        self.enter_recovery(lost, next);
        if self.probe.samples {
            let app_limited = self.probes.holds(next);
            self.handle_too_high(params, now, self.in_flight, app_limited);
        }
        self.in_flight = 0.0;
        self.window = 1.0;
        self.recovery = Some(next);
    }
}
