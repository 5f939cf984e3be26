//! Interface between a router law and a data path outside Rust, such as a program in the kernel.
//!
//! The data path replaces [`RouterLaw::on_arrival`] and [`RouterLaw::on_departure`]. It reads words that the law
//! provides, and updates counters. The law itself ends the intervals. At the end of an interval:
//!
//! 1. [`Offload::absorb`] adds the data path's counts since the last call to the router state,
//! 2. [`RouterLaw::on_interval`] computes the new state,
//! 3. [`Offload::words`] returns the words for the next interval.
//!
//! For any sequence of packets, the resulting state is bit-identical to that after one call per packet. Floats are
//! passed as their bits, `f32` in the low half of a word.

use levelflow_units::Bytes;

use crate::law::{NoRouter, RouterLaw};

/// Words for the data path. Words that the law does not use are 0.
pub type Words = [u64; 8];

/// Counters of the data path. Counters that the law does not use are 0. The last counter is the number of control
/// intervals that have begun since the newest packet.
pub type Counts = [u64; 19];

/// Router law whose per-packet work a data path outside Rust may do. Laws with `None` as
/// [`RouterInfo::kernel`](crate::RouterInfo::kernel) keep the default methods.
pub trait Offload: RouterLaw {
    /// Returns a parameter value that the data path does not support, as written in a scenario; `None` if it supports
    /// all.
    fn lacks(&self, _params: &Self::Params) -> Option<&'static str> {
        None
    }

    /// Returns the words that the data path uses until the end of the next interval. `queue` is the last known backlog;
    /// only laws that read the backlog on arrival use it.
    fn words(&self, _params: &Self::Params, _queue: Bytes) -> Words {
        Words::default()
    }

    /// Adds the data path's counts since the last call to the router state. [`RouterLaw::on_interval`] must follow,
    /// with an interval length above zero, and departures must be reported.
    fn absorb(&mut self, _params: &Self::Params, _counted: &Counts) {}
}

impl Offload for NoRouter {}

#[cfg(test)]
mod tests;
