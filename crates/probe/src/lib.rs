//! A line, measured from its ends: latency idle and loaded, capacity and buffer in each direction.
//!
//! [`Probe`] and [`Reflector`] are the two ends, without clock or socket; [`live`] runs them on UDP. What is measured, and how, is
//! in [`probe`] and [`search`].

mod estimate;
pub mod live;
pub mod message;
pub mod probe;
mod reflector;
pub mod report;
pub mod search;
mod tally;

pub use estimate::{Idle, Loaded, Queue};
pub use probe::{Lane, Probe, Settings, Stage};
pub use reflector::{Limits, Reflector};
pub use report::Report;

#[cfg(test)]
mod tests;
