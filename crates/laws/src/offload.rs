//! What a router shares with a data path that has no Rust, such as a program in the kernel.
//!
//! The data path does what [`RouterLaw::on_arrival`] and [`RouterLaw::on_departure`] do, with words that the law has told it,
//! and counts what the law has
//! to know; the law itself closes the intervals. At the end of an interval:
//!
//! 1. [`Offload::absorb`] takes what was counted since the last time,
//! 2. [`RouterLaw::on_interval`] computes,
//! 3. [`Offload::told`] gives the words for the next.
//!
//! The state is then, bit by bit, the one that calls for each packet would have left, whatever the packets
//! (`jetmax_in_a_data_path` and so on). Floats travel as their bits, `f32` in the low half of a word.

use levelflow_units::Bytes;

use crate::law::RouterLaw;
use crate::{AnyParams, AnyRouter};

/// What is told and counted. Words that a law does not use are 0.
pub type Words = [u64; 8];

/// A router whose work on each packet something else can do.
pub trait Offload: RouterLaw {
    /// What the data path must know until the next interval ends. `queue`: what packets find waiting, as far as is known; laws
    /// that do not look at it on arrival ignore it.
    fn told(&self, params: &Self::Params, queue: Bytes) -> Words;

    /// Takes what the data path has counted since the last call. [`RouterLaw::on_interval`] must follow, with a length above
    /// zero, and what it leaves must be told.
    fn absorb(&mut self, params: &Self::Params, counted: &Words);
}

/// Whether a data path can work for this law: `told` and `absorb` of [`AnyRouter`] do nothing for others.
#[must_use]
pub fn offloads(params: &AnyParams) -> bool {
    matches!(
        params,
        AnyParams::JetMax(_) | AnyParams::Emkc(_) | AnyParams::Rcp(_) | AnyParams::MaxNet(_) | AnyParams::Xcp(_)
    )
}

impl Offload for AnyRouter {
    fn told(&self, params: &AnyParams, queue: Bytes) -> Words {
        match (self, params) {
            (Self::JetMax(r), AnyParams::JetMax(p)) => r.told(p, queue),
            (Self::Emkc(r), AnyParams::Emkc(p)) => r.told(p, queue),
            (Self::Rcp(r), AnyParams::Rcp(p)) => r.told(p, queue),
            (Self::MaxNet(r), AnyParams::MaxNet(p)) => r.told(p, queue),
            (Self::Xcp(r), AnyParams::Xcp(p)) => r.told(p, queue),
            _ => Words::default(),
        }
    }

    fn absorb(&mut self, params: &AnyParams, counted: &Words) {
        match (self, params) {
            (Self::JetMax(r), AnyParams::JetMax(p)) => r.absorb(p, counted),
            (Self::Emkc(r), AnyParams::Emkc(p)) => r.absorb(p, counted),
            (Self::Rcp(r), AnyParams::Rcp(p)) => r.absorb(p, counted),
            (Self::MaxNet(r), AnyParams::MaxNet(p)) => r.absorb(p, counted),
            (Self::Xcp(r), AnyParams::Xcp(p)) => r.absorb(p, counted),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
