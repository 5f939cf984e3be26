//! TCP Reno: adds one packet to the window per round trip, and halves the window after a loss. It is the baseline of
//! the other TCP laws.
//!
//! Source: RFC 5681 (M. Allman, V. Paxson, E. Blanton, 2009).

#[cfg(test)]
mod tests;

use crate::tcp::{AckEvent, Congestion, ROWS, SackParams, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, RecoveryScheme};

/// TCP Reno; see the [module](self).
pub type Reno = Tcp<RenoState>;

const TABLE: [ParamSpec; ROWS + SackParams::TABLE.len()] = table(SackParams::TABLE);

/// Empty state: Reno needs only its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RenoState;

/// Grows the window above the threshold: one packet per window of acknowledged packets (RFC 5681, section 3.1).
#[inline]
pub fn additive_increase(acked: u32, window: &mut Window) {
    //= RFC 5681, section 3.1
    //# During congestion avoidance, cwnd is incremented by roughly 1 full-sized segment per round-trip time (RTT).
    window.size += f64::from(acked) / window.size;
}

/// Returns the slow-start threshold of Reno after congestion (RFC 5681, eq 4).
#[must_use]
pub fn half(congestion: &Congestion) -> f64 {
    //= RFC 5681, section 3.1
    //# ssthresh = max (FlightSize / 2, 2*SMSS) (4)
    congestion.window / 2.0
}

impl Variant for RenoState {
    type Params = SackParams;
    const INFO: LawInfo = info(
        "reno",
        "TCP Reno: one packet more per round trip, half after a loss",
        "RFC 5681",
        &TABLE,
    );
    const REDUCES_PER_HOLE: bool = true;

    fn recovery(params: &SackParams) -> RecoveryScheme {
        if params.sack {
            RecoveryScheme::Selective
        } else {
            RecoveryScheme::Reno
        }
    }

    #[inline]
    fn avoid(&mut self, _params: &SackParams, ack: &AckEvent, window: &mut Window) {
        additive_increase(ack.acked, window);
    }

    fn reduce(&mut self, _params: &SackParams, congestion: &Congestion) -> f64 {
        half(congestion)
    }
}
