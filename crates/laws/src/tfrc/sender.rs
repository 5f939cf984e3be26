//! Sender algorithm: updates the rate at the end of a round-trip time, at a loss event, and when the nofeedback timer
//! expires.

use levelflow_units::{Bytes, Duration, Rate, Time};

use super::Params;
use super::equation::packets_per_rtt;
use super::history::LossHistory;
use super::limits::{LONGEST_GAP, ReceiveRates};
use crate::bytes::before;
use crate::random::Draws;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, Restart, SenderLaw};

/// `1 - q` of section 4.3: weight of a new sample in the round-trip time.
const RTT_GAIN: f64 = 0.1;
/// Shortest round-trip time used, in seconds.
const MIN_RTT_S: f64 = 1e-6;
/// Bytes of the initial window; `initial_rate` has the formula (section 4.2).
const INITIAL_WINDOW: f64 = 4380.0;
/// Duration of the nofeedback timer before the first round-trip time sample, in seconds (section 4.2).
const FIRST_TIMEOUT: f64 = 2.0;

/// Sender of TFRC. Rates are in bit/s.
#[derive(Debug, Clone, PartialEq)]
pub struct Sender {
    packet_size: Bytes,
    /// `X`: allowed sending rate.
    rate: f64,
    /// Smoothed round-trip time `R`, in seconds; 0 before the first sample.
    rtt: f64,
    /// Duration of the nofeedback timer.
    nofeedback: Duration,
    pub(super) received: ReceiveRates,
    /// Number of the next packet to be sent.
    next: u32,
    /// Largest number of an acknowledged packet.
    latest: u32,
    /// Lowest packet number whose ACK ends the current round-trip time.
    round: u32,
    /// Start of the current round-trip time, and packets delivered since then.
    since: Option<(Time, u32)>,
    /// True if the application limited every packet delivered in this round-trip time; `None` if unknown.
    app_limited: Option<bool>,
    losses: LossHistory,
    draws: Draws,
    /// Inter-packet time before the next packet, as a multiple of the inter-packet time at rate `X`.
    gap: f64,
}

impl Sender {
    fn bits(&self) -> f64 {
        self.packet_size.as_bits_f64()
    }

    /// Returns the initial rate `W_init / R` of section 4.2, which equals `recover_rate` of section 4.4.
    fn initial_rate(&self) -> f64 {
        let size = self.packet_size.get() as f64;
        8.0 * (2.0 * size).max(INITIAL_WINDOW).min(4.0 * size) / self.rtt
    }

    /// Returns the rate `X_Bps` of the throughput equation; `None` before the first loss.
    fn equation(&self) -> Option<f64> {
        let p = self.losses.rate(self.latest)?;
        Some(packets_per_rtt(p) * self.bits() / self.rtt)
    }

    /// Records a loss. Losses before the first round-trip time sample are ignored, because no rate can be computed.
    fn lose(&mut self, number: u32, next: u32) {
        let best = self.received.most * self.rtt / self.bits();
        if self.rtt > 0.0 && self.losses.lose(number, next, best) {
            if self.app_limited == Some(true) {
                self.received.on_limited_loss();
            }
            self.update();
        }
    }

    /// Sets the rate `X`, at least one packet in 64 s. Sets the nofeedback timer to `max(4R, 2s/X)`, where `s` is the
    /// packet size (section 4.3, steps 4 and 6).
    fn allow(&mut self, rate: f64) {
        self.rate = rate.max(self.bits() / LONGEST_GAP);
        let two_packets = 2.0 * self.bits() / self.rate;
        let round_trips = if self.rtt == 0.0 { FIRST_TIMEOUT } else { 4.0 * self.rtt };
        self.nofeedback = Duration::from_secs_f64(round_trips.max(two_packets)).unwrap_or(Duration::MAX);
    }

    /// Updates the rate by section 4.3, step 4.
    fn update(&mut self) {
        let limit = self.received.limit();
        let rate = match self.equation() {
            Some(equation) => equation.min(limit),
            None => (2.0 * self.rate).min(limit).max(self.initial_rate()),
        };
        self.allow(rate);
    }

    fn end_round(&mut self, now: Time, sample: f64) {
        if let Some((since, packets)) = self.since {
            let elapsed = now.since(since).as_secs_f64().max(MIN_RTT_S);
            // The rate is at least one packet per round-trip time, because the acknowledged packet has arrived.
            let received = (f64::from(packets) / elapsed).max(1.0 / self.rtt);
            self.received
                .on_round(received * self.bits(), self.app_limited == Some(true));
            self.rtt += RTT_GAIN * (sample - self.rtt);
            self.update();
        }
        self.since = Some((now, 0));
        self.app_limited = None;
        self.round = self.next;
    }

    /// Halves the rate when the nofeedback timer expires (section 4.4, step 1).
    fn halve(&mut self) {
        let rate = match self.equation().filter(|_| self.rtt > 0.0) {
            None => 0.5 * self.rate,
            Some(equation) => {
                let received = self.received.largest();
                let limit = if equation > 2.0 * received {
                    received
                } else {
                    0.5 * equation
                };
                self.received.bound(limit, self.bits());
                equation.min(self.received.limit())
            }
        };
        self.allow(rate);
    }

    /// Returns true if the rate is too low to be halved when the nofeedback timer of an idle sender expires. The limit
    /// is about `recover_rate`.
    fn recovers(&self) -> bool {
        let recover = self.initial_rate();
        match self.equation() {
            Some(_) => self.received.largest() < recover,
            None => self.rate < 2.0 * recover,
        }
    }
}

impl SenderLaw for Sender {
    type Params = Params;
    type Header = NoHeader;

    fn new(_params: &Params, flow: &FlowInfo) -> Self {
        let mut sender = Self {
            packet_size: flow.packet_size,
            rate: 0.0,
            rtt: 0.0,
            nofeedback: Duration::ZERO,
            received: ReceiveRates::new(),
            next: 0,
            latest: 0,
            round: 0,
            since: None,
            app_limited: None,
            losses: LossHistory::new(),
            draws: Draws::new(flow.seed),
            gap: 1.0,
        };
        sender.allow(sender.bits());
        sender
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate)
    }

    #[inline]
    fn pace(&self) -> Rate {
        Rate::clamped(self.rate / self.gap)
    }

    #[inline]
    fn timeout(&self) -> Option<Duration> {
        Some(self.nofeedback)
    }

    #[inline]
    fn packet_size(&self, _params: &Params) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, params: &Params, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        if params.dither > 0.0 {
            self.gap = (1.0 + params.dither * (2.0 * self.draws.unit() - 1.0)).max(MIN_RTT_S);
        }
        NoHeader
    }

    fn on_feedback(&mut self, params: &Params, now: Time, feedback: &Feedback<NoHeader>) {
        let sample = feedback.rtt.as_secs_f64().max(MIN_RTT_S);
        if self.rtt == 0.0 {
            self.rtt = sample;
            self.allow(self.initial_rate());
        }
        if feedback.kind != Kind::Data {
            return;
        }
        if before(self.latest, feedback.number) {
            self.latest = feedback.number;
        }
        if let Some((_, packets)) = &mut self.since {
            *packets = packets.saturating_add(feedback.acked);
        }
        if let Some(delivery) = &feedback.delivery {
            self.app_limited = Some(self.app_limited.unwrap_or(true) && delivery.app_limited);
        }
        if feedback.marked && params.ecn {
            self.lose(feedback.number, self.next);
        }
        if !before(feedback.number, self.round) {
            self.end_round(now, sample);
        }
    }

    /// Applies the expirations of the nofeedback timer during the idle time.
    fn on_restart(&mut self, _params: &Params, _now: Time, restart: &Restart) {
        if !restart.app_limited || self.rtt == 0.0 {
            return;
        }
        // The last ACK restarted the timer, one round-trip time after the last packet was sent.
        let mut idle = restart.idle.as_secs_f64() - self.rtt - self.nofeedback.as_secs_f64();
        while idle >= 0.0 && !self.recovers() {
            self.halve();
            idle -= self.nofeedback.as_secs_f64();
        }
    }

    fn on_loss(&mut self, _params: &Params, _now: Time, loss: &Loss) {
        self.lose(loss.number, loss.next);
    }

    fn on_timeout(&mut self, _params: &Params, _now: Time, _next: u32) {
        self.halve();
    }
}
