//! Emulated links between two devices: rate, queue, delay, jitter and loss in each direction.
//!
//! [`levelflow_path::Hop`] models one direction, without a clock. [`Device`] is a network device. [`Link::run`] moves
//! frames between two devices in real time.

pub mod class;
pub mod control;
mod device;
mod drive;
mod report;
pub mod segment;

use hdrhistogram::Histogram;

pub use device::{Device, Trouble};
pub use drive::Link;
pub use report::{Percentiles, Report};
pub use segment::PREFIX;

/// Creates a histogram of times up to 100 s, in nanoseconds with three significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 100_000_000_000, 3).expect("bounds that the library allows")
}
