//! H-TCP: growth depends on the time since the last congestion, reduction on the share of the queue in the round-trip time.
//!
//! Source: D. Leith, R. Shorten, "H-TCP: TCP congestion control for high bandwidth-delay product paths" (draft-leith-tcp-htcp-06).

mod params;
#[cfg(test)]
mod tests;

pub use params::HtcpParams;

use levelflow_units::Time;

use crate::LawInfo;
use crate::tcp::{Ack, Congestion, Tcp, Variant, Window, info};

/// The law; see the [module](self).
pub type Htcp = Tcp<HtcpState>;

/// Smallest and largest part of the window that a loss leaves.
const BETA: (f64, f64) = (0.5, 0.8);
/// Where throughput before two losses in succession differs by more than this part, the smallest is left.
const STEADY: f64 = 0.2;
/// Round-trip time that `rtt_scaling` refers to, s, and the limits of the ratio to it.
const REFERENCE_RTT: f64 = 0.1;
const RATIO: (f64, f64) = (0.5, 10.0);

/// What one flow remembers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HtcpState {
    /// Last congestion, or the first ACK.
    since: Option<Time>,
    /// What the last congestion left of the window.
    beta: f64,
    /// Largest round-trip time since the last congestion, s.
    max_rtt: f64,
    /// The present round trip: when it began, packets that have arrived in it.
    round: (Time, f64),
    /// Packets per second in the last round trip, and in that before the last congestion; 0 if not known.
    throughput: f64,
    throughput_before: f64,
}

impl HtcpState {
    /// Growth per round trip, packets.
    fn alpha(&self, params: &HtcpParams, elapsed: f64, min_rtt: f64) -> f64 {
        let late = (elapsed - params.delta_l).max(0.0);
        let mut alpha = 1.0 + 10.0 * late + (late / 2.0) * (late / 2.0);
        if params.rtt_scaling {
            alpha = (alpha * (min_rtt / REFERENCE_RTT).clamp(1.0 / RATIO.1, 1.0 / RATIO.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }
}

impl Default for HtcpState {
    fn default() -> Self {
        Self {
            since: None,
            beta: BETA.0,
            max_rtt: 0.0,
            round: (Time::ZERO, 0.0),
            throughput: 0.0,
            throughput_before: 0.0,
        }
    }
}

impl Variant for HtcpState {
    type Params = HtcpParams;
    const INFO: LawInfo = info(
        "htcp",
        "H-TCP: growth depends on the time since the last congestion",
        "Leith, Shorten, draft-leith-tcp-htcp-06",
        &params::TABLE,
    );

    fn on_ack(&mut self, _params: &HtcpParams, ack: &Ack, _window: &mut Window) {
        self.max_rtt = self.max_rtt.max(ack.rtt.last);
        if self.since.is_none() {
            (self.since, self.round) = (Some(ack.now), (ack.now, 0.0));
        }
        let (began, arrived) = &mut self.round;
        *arrived += f64::from(ack.acked);
        if ack.round && ack.now > *began {
            self.throughput = *arrived / ack.now.since(*began).as_secs_f64();
            self.round = (ack.now, 0.0);
        }
    }

    #[inline]
    fn avoid(&mut self, params: &HtcpParams, ack: &Ack, window: &mut Window) {
        let since = self.since.unwrap_or(ack.now);
        let alpha = self.alpha(params, ack.now.since(since).as_secs_f64(), ack.rtt.min);
        window.size += alpha * f64::from(ack.acked) / window.size;
    }

    fn reduce(&mut self, _params: &HtcpParams, congestion: &Congestion) -> f64 {
        let steady = (self.throughput - self.throughput_before).abs() <= STEADY * self.throughput_before;
        self.beta = if steady && self.max_rtt > 0.0 {
            (congestion.rtt.min / self.max_rtt).clamp(BETA.0, BETA.1)
        } else {
            BETA.0
        };
        self.throughput_before = self.throughput;
        self.since = Some(congestion.now);
        self.max_rtt = 0.0;
        congestion.window * self.beta
    }
}
