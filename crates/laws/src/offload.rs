//! Interface between a router law and a data path outside Rust, such as a program in the kernel.
//!
//! The data path replaces [`RouterLaw::on_arrival`] and [`RouterLaw::on_departure`]. For each packet, the data path
//! reads words that the law provides, and updates counters. At the end of a control interval, the law does three steps:
//!
//! 1. [`Offload::absorb`] adds the counts of the data path to the router state,
//! 2. [`RouterLaw::on_interval`] computes the new state,
//! 3. [`Offload::words`] returns the words for the next interval.
//!
//! For any sequence of packets, the resulting state must be bit-identical to that of a router in Rust. A word is an
//! integer or the bits of a float. An `f32` uses the low half of its word.

use levelflow_units::Bytes;

use crate::law::{NoRouter, RouterLaw};

/// Words for the data path. Words that the law does not use are 0.
pub type Words = [u64; 8];

/// Counters of the data path. Counters that the law does not use are 0. The last counter is the number of control
/// intervals started since the last packet.
pub type Counts = [u64; 22];

/// Router algorithm that a data path outside Rust may execute for each packet. Signallings whose
/// [`RouterInfo::kernel`](crate::RouterInfo::kernel) is `None` keep the default methods.
pub trait Offload: RouterLaw {
    /// Returns a parameter value that the data path does not support, in the notation of scenarios; `None` if the data
    /// path supports all values.
    fn lacks(&self, _params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// Returns the words for the next control interval. `queue` is the last known backlog. Only laws that read the
    /// backlog at each arrival use `queue`.
    fn words(&self, _params: &Self::Params, _queue: Bytes) -> Words {
        Words::default()
    }

    /// Adds `counted` to the router state. `counted` has the counts of the data path since the last call. The caller
    /// must then call [`RouterLaw::on_interval`] with an interval length above zero. The counts must include the
    /// packets that departed.
    fn absorb(&mut self, _params: &Self::Params, _counted: &Counts) {}
}

impl Offload for NoRouter {}

#[cfg(test)]
mod tests;
