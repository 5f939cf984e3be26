//! Sender: one update per round-trip time and per loss event.

use levelflow_units::{Bytes, Rate, Time};

use super::TfrcParams;
use super::equation::packets_per_rtt;
use super::history::LossHistory;
use crate::bytes::before;
use crate::{Feedback, FlowInfo, Kind, Loss, NoHeader, Outgoing, SenderLaw};

/// Weight of one sample in the round-trip time, `1 - q` of section 4.3.
const RTT_GAIN: f64 = 0.1;
/// A shorter time counts as this, s.
const SHORTEST: f64 = 1e-6;
/// Longest time between two packets, s: `t_mbi` of section 4.3.
const LONGEST_GAP: f64 = 64.0;
/// What the initial window is derived from, bytes (section 4.2).
const INITIAL_WINDOW: f64 = 4380.0;

/// One flow. Rates are in bit/s.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TfrcSender {
    packet_size: Bytes,
    /// `X`.
    rate: f64,
    /// `R`, s; 0 before the first sample.
    rtt: f64,
    /// `X_recv` of the last two round-trip times, infinite where there is none.
    received: [f64; 2],
    /// The largest so far.
    received_most: f64,
    /// Number of the next packet.
    next: u32,
    /// Latest packet that was acknowledged.
    latest: u32,
    /// An ACK for this packet or a later one ends the round-trip time.
    round: u32,
    /// When that began, and how many packets arrived since.
    since: Option<(Time, u32)>,
    losses: LossHistory,
}

impl TfrcSender {
    fn bits(&self) -> f64 {
        self.packet_size.as_bits_f64()
    }

    /// `W_init / R` of section 4.2.
    fn initial_rate(&self) -> f64 {
        let size = self.packet_size.get() as f64;
        8.0 * (2.0 * size).max(INITIAL_WINDOW).min(4.0 * size) / self.rtt
    }

    /// Without a round-trip time there is no rate to compute.
    fn lose(&mut self, number: u32, next: u32) {
        let best = self.received_most * self.rtt / self.bits();
        if self.rtt > 0.0 && self.losses.lose(number, next, best) {
            self.update();
        }
    }

    /// Section 4.3, step 4.
    fn update(&mut self) {
        let limit = 2.0 * self.received[0].max(self.received[1]);
        let rate = match self.losses.rate(self.latest) {
            Some(p) => (packets_per_rtt(p) * self.bits() / self.rtt).min(limit),
            None => (2.0 * self.rate).min(limit).max(self.initial_rate()),
        };
        self.rate = rate.max(self.bits() / LONGEST_GAP);
    }

    fn end_round(&mut self, now: Time, sample: f64) {
        if let Some((since, packets)) = self.since {
            let elapsed = now.since(since).as_secs_f64().max(SHORTEST);
            let received = f64::from(packets) * self.bits() / elapsed;
            self.received = [
                received,
                if self.received[0].is_finite() {
                    self.received[0]
                } else {
                    0.0
                },
            ];
            self.received_most = self.received_most.max(received);
            self.rtt += RTT_GAIN * (sample - self.rtt);
            self.update();
        }
        self.since = Some((now, 0));
        self.round = self.next;
    }
}

impl SenderLaw for TfrcSender {
    type Params = TfrcParams;
    type Header = NoHeader;

    fn new(_params: &TfrcParams, flow: &FlowInfo) -> Self {
        Self {
            packet_size: flow.packet_size,
            rate: flow.packet_size.as_bits_f64(),
            received: [f64::INFINITY; 2],
            losses: LossHistory::new(),
            ..Self::default()
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        Rate::clamped(self.rate)
    }

    #[inline]
    fn packet_size(&self, _params: &TfrcParams) -> Bytes {
        self.packet_size
    }

    #[inline]
    fn on_send(&mut self, _params: &TfrcParams, _now: Time, packet: &Outgoing) -> NoHeader {
        self.next = packet.number.wrapping_add(1);
        NoHeader
    }

    fn on_feedback(&mut self, params: &TfrcParams, now: Time, feedback: &Feedback<NoHeader>) {
        let sample = feedback.rtt.as_secs_f64().max(SHORTEST);
        if self.rtt == 0.0 {
            self.rtt = sample;
            self.rate = self.initial_rate();
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
        if feedback.marked && params.ecn {
            self.lose(feedback.number, self.next);
        }
        if !before(feedback.number, self.round) {
            self.end_round(now, sample);
        }
    }

    fn on_loss(&mut self, _params: &TfrcParams, _now: Time, loss: &Loss) {
        self.lose(loss.number, loss.next);
    }

    /// Section 4.4: the rate is halved, and nothing received before allows more. What was sent since the last ACK is
    /// lost.
    fn on_timeout(&mut self, _params: &TfrcParams, _now: Time, next: u32) {
        self.lose(self.latest.wrapping_add(1), next);
        self.rate = (0.5 * self.rate).max(self.bits() / LONGEST_GAP);
        if self.rtt > 0.0 {
            self.received = [0.5 * self.rate, 0.0];
        }
    }
}
