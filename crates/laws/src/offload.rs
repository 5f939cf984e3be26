//! What a router shares with a data path that has no Rust, such as a program in the kernel.
//!
//! The data path does what [`RouterLaw::on_arrival`] and [`RouterLaw::on_departure`] do, with words that the law has told it,
//! and counts what the law has to know; the law itself closes the intervals. At the end of an interval:
//!
//! 1. [`Offload::absorb`] takes what was counted since the last time,
//! 2. [`RouterLaw::on_interval`] computes,
//! 3. [`Offload::words`] gives the words for the next.
//!
//! The state is then, bit by bit, the one that calls for each packet would have left, whatever the packets.
//! Floats travel as their bits, `f32` in the low half of a word.

use core::fmt::Debug;

use levelflow_units::Bytes;

use crate::law::{NoRouter, RouterLaw};

/// Words for the data path. Those that a law does not use are 0.
pub type Words = [u64; 8];

/// What the data path has counted; words that a law does not use are 0. The last is the number of times that it was given words
/// for a new interval since the newest packet.
pub type Counts = [u64; 19];

/// A router whose work on each packet something else may do. Laws of which [`RouterInfo::kernel`](crate::RouterInfo::kernel) is
/// `None` leave the methods as they are.
pub trait Offload: RouterLaw {
    /// A value of a parameter that the data path does not know, as it stands in a scenario.
    fn lacks(&self, _params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// What the data path must know until the next interval ends. `queue`: what packets find waiting, as far as is known; laws
    /// that do not look at it on arrival ignore it.
    fn words(&self, _params: &Self::Params, _queue: Bytes) -> Words {
        Words::default()
    }

    /// Takes what the data path has counted since the last call. [`RouterLaw::on_interval`] must follow, with a length above
    /// zero, and departures must be reported.
    fn absorb(&mut self, _params: &Self::Params, _counted: &Counts) {}
}

impl<P: Clone + Debug + PartialEq, H: Copy + Debug + PartialEq> Offload for NoRouter<P, H> {}

#[cfg(test)]
mod tests;
