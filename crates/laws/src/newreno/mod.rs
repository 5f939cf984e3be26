//! TCP NewReno: Reno with only one reduction for all lost packets of a window.
//!
//! Source: RFC 6582 (T. Henderson, S. Floyd, A. Gurtov, Y. Nishida, 2012).

#[cfg(test)]
mod tests;

use crate::reno::{additive_increase, half};
use crate::tcp::{AckEvent, Congestion, ROWS, SackParams, Tcp, Variant, Window, info, table};
use crate::{LawInfo, ParamSpec, RecoveryScheme};

/// TCP NewReno; see the [module](self).
pub type NewReno = Tcp<NewRenoState>;

const TABLE: [ParamSpec; ROWS + SackParams::TABLE.len()] = table(SackParams::TABLE);

/// Empty state: NewReno needs only its window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewRenoState;

impl Variant for NewRenoState {
    type Params = SackParams;
    const INFO: LawInfo = info(
        "newreno",
        "TCP NewReno: as Reno, but one reduction per window",
        "RFC 6582",
        &TABLE,
    );

    fn recovery(params: &SackParams) -> RecoveryScheme {
        if params.sack {
            RecoveryScheme::Selective
        } else {
            RecoveryScheme::NewReno
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
