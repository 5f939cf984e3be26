//! H-TCP: the increase depends on the time since the last congestion event. The decrease depends on the ratio of the
//! smallest to the largest round-trip time.
//!
//! Source: D. Leith, R. Shorten, "H-TCP: TCP congestion control for high bandwidth-delay product paths"
//! (draft-leith-tcp-htcp-06).

mod params;
#[cfg(test)]
mod tests;

pub use params::Params;

use levelflow_units::Time;

use crate::LawInfo;
use crate::tcp::{AckEvent, Congestion, Tcp, Variant, Window, info};

/// H-TCP; see the [module](self).
pub type Htcp = Tcp<HtcpState>;

/// Smallest and largest fraction of the window that remains after a loss.
const BETA_RANGE: (f64, f64) = (0.5, 0.8);
/// Largest relative change of throughput between two successive losses. After a larger change, the smallest fraction of
/// the window remains.
const MAX_THROUGHPUT_CHANGE: f64 = 0.2;
/// Reference round-trip time of `rtt_scaling`, in seconds. `RTT_RATIO_RANGE` limits the reference divided by the
/// round-trip time.
const REFERENCE_RTT: f64 = 0.1;
const RTT_RATIO_RANGE: (f64, f64) = (0.5, 10.0);

/// State of H-TCP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HtcpState {
    /// Time of the last congestion event, or of the first ACK.
    since: Option<Time>,
    /// Fraction of the window that remained after the last congestion event.
    beta: f64,
    /// Largest round-trip time since the last congestion event, in seconds.
    max_rtt: f64,
    /// Start of the current round trip, and packets acknowledged in it.
    round: (Time, f64),
    /// Throughput in the last round trip, packets per second; 0 if unknown. `throughput_before` is the throughput
    /// before the last congestion event.
    throughput: f64,
    throughput_before: f64,
}

impl HtcpState {
    /// Returns the growth per round trip, packets.
    fn alpha(&self, params: &Params, elapsed: f64, min_rtt: f64) -> f64 {
        let late = (elapsed - params.delta_l).max(0.0);
        let mut alpha = 1.0 + 10.0 * late + (late / 2.0) * (late / 2.0);
        if params.rtt_scaling {
            alpha =
                (alpha * (min_rtt / REFERENCE_RTT).clamp(1.0 / RTT_RATIO_RANGE.1, 1.0 / RTT_RATIO_RANGE.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }
}

impl Default for HtcpState {
    fn default() -> Self {
        Self {
            since: None,
            beta: BETA_RANGE.0,
            max_rtt: 0.0,
            round: (Time::ZERO, 0.0),
            throughput: 0.0,
            throughput_before: 0.0,
        }
    }
}

impl Variant for HtcpState {
    type Params = Params;
    const INFO: LawInfo = info(
        "htcp",
        "H-TCP: growth depends on the time since the last congestion",
        "Leith, Shorten, draft-leith-tcp-htcp-06",
        &params::TABLE,
    );

    fn on_ack(&mut self, _params: &Params, ack: &AckEvent, _window: &mut Window) {
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
    fn avoid(&mut self, params: &Params, ack: &AckEvent, window: &mut Window) {
        let since = self.since.unwrap_or(ack.now);
        let alpha = self.alpha(params, ack.now.since(since).as_secs_f64(), ack.rtt.min);
        window.size += alpha * f64::from(ack.acked) / window.size;
    }

    fn reduce(&mut self, _params: &Params, congestion: &Congestion) -> f64 {
        let steady = (self.throughput - self.throughput_before).abs() <= MAX_THROUGHPUT_CHANGE * self.throughput_before;
        self.beta = if steady && self.max_rtt > 0.0 {
            (congestion.rtt.min / self.max_rtt).clamp(BETA_RANGE.0, BETA_RANGE.1)
        } else {
            BETA_RANGE.0
        };
        self.throughput_before = self.throughput;
        self.since = Some(congestion.now);
        self.max_rtt = 0.0;
        congestion.window * self.beta
    }
}
