//! Measurement of an Internet line from its two ends.
//!
//! The results are the latency when idle and under load, and the capacity and the buffer of each direction.
//!
//! [`Probe`] and [`Reflector`] are state machines of the two ends, without clock or socket. [`live`] runs them on UDP.
//! The modules [`probe`] and [`search`] describe the method. [`EcnProbe`] tests the line for L4S.

pub mod ecn;
mod estimate;
pub mod l4s;
pub mod live;
mod marking;
pub mod message;
pub mod probe;
mod reflector;
pub mod report;
pub mod responsive;
pub mod rpm;
pub mod search;
mod tally;
mod tcp;

pub use ecn::EcnProbe;
pub use estimate::{Idle, Loaded, Queue};
pub use marking::{Marking, Sample};
pub use probe::{Channel, Phase, Probe, Settings};
pub use reflector::{Limits, Reflector};
pub use report::Report;

#[cfg(test)]
mod ecn_tests;
#[cfg(test)]
mod tests;
