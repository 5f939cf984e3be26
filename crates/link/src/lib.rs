//! Emulated links between two devices: rate, queue, delay, jitter and loss in each direction.
//!
//! [`levelflow_path::Hop`] is the model of a direction, without a clock; [`Port`] is a device; [`Link::run`] moves frames between devices
//! in real time.

pub mod class;
pub mod control;
mod drive;
mod port;
mod report;
pub mod segment;

use hdrhistogram::Histogram;

pub use drive::Link;
pub use port::{Port, Trouble};
pub use report::{Percentiles, Report};
pub use segment::PREFIX;

/// Times in nanoseconds up to 100 s, to three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("bounds that the library allows")
}
