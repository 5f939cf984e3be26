//! TCP Westwood+: Reno with a different response to losses. After a loss, the slow-start threshold is the estimated
//! bandwidth-delay product.
//!
//! Source: L. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control" (2004).

#[cfg(test)]
mod tests;

use levelflow_units::Time;

use crate::reno::{additive_increase, half};
use crate::tcp::{AckEvent, Congestion, ROWS, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec};

/// TCP Westwood+; see the [module](self).
pub type Westwood = Tcp<WestwoodState>;

const TABLE: [ParamSpec; ROWS] = table([]);

/// Weight of a new sample in the bandwidth estimate.
const SAMPLE_WEIGHT: f64 = 0.125;

/// Bandwidth estimate of a flow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WestwoodState {
    /// Start of the current round trip, and packets acknowledged in it; `None` before the first ACK.
    round: Option<(Time, f64)>,
    /// Estimated delivery rate `BWE`, packets per second; 0 if unknown.
    bandwidth: f64,
}

impl Variant for WestwoodState {
    type Params = ();
    const INFO: LawInfo = info(
        "westwood",
        "TCP Westwood+: Reno that falls to the rate delivered",
        "Grieco, Mascolo 2004, section 2",
        &TABLE,
    );

    fn on_ack(&mut self, _params: &(), ack: &AckEvent, _window: &mut Window) {
        let Some((began, arrived)) = &mut self.round else {
            self.round = Some((ack.now, 0.0));
            return;
        };
        *arrived += f64::from(ack.acked);
        if ack.round && ack.now > *began {
            let sample = *arrived / ack.now.since(*began).as_secs_f64();
            self.bandwidth = if self.bandwidth == 0.0 {
                sample
            } else {
                self.bandwidth + SAMPLE_WEIGHT * (sample - self.bandwidth)
            };
            self.round = Some((ack.now, 0.0));
        }
    }

    #[inline]
    fn avoid(&mut self, _params: &(), ack: &AckEvent, window: &mut Window) {
        additive_increase(ack.acked, window);
    }

    fn reduce(&mut self, _params: &(), congestion: &Congestion) -> f64 {
        if self.bandwidth == 0.0 {
            half(congestion)
        } else {
            self.bandwidth * congestion.rtt.min
        }
    }
}
