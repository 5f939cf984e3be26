//! Measurement of an Internet line from its two ends.
//!
//! The results are the latency when idle and under load, and the capacity and the buffer of each direction.
//!
//! [`Probe`] and [`Reflector`] are state machines of the two ends, without clock or socket. [`live`] runs them on UDP.
//! The modules [`probe`] and [`search`] describe the method.

mod estimate;
pub mod live;
pub mod message;
pub mod probe;
mod reflector;
pub mod report;
pub mod search;
mod tally;

pub use estimate::{Idle, Loaded, Queue};
pub use probe::{Channel, Phase, Probe, Settings};
pub use reflector::{Limits, Reflector};
pub use report::Report;

#[cfg(test)]
mod tests;
