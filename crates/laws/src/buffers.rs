//! Buffer-sizing algorithms. Once per interval, an algorithm sets the buffer limit of a port from the sent and dropped
//! bytes.
//!
//! Algorithms are pure functions, and independent of laws and queue disciplines. Any port that can drop packets may
//! have a buffer-sizing algorithm. This folder has one file per algorithm. Buffer sizes are in packets.
//!
//! Algorithms ignore drops by a queue discipline, because a larger buffer does not prevent these drops.

use core::fmt::Debug;

use levelflow_units::{Bytes, Duration};

use crate::law::PortInfo;
use crate::params::{ParamError, ParamSpec, Parameters};

pub mod abs;
pub mod abs_log;
pub mod adt;
#[cfg(test)]
mod conformance;
pub mod memory;
#[macro_use]
mod registry;

registry::algorithms! {
    abs => Abs,
    abs_log => AbsLog,
    adt => Adt,
}

/// Static description of a buffer-sizing algorithm.
#[derive(Debug, Clone, Copy)]
pub struct BufferAlgorithmInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One-line description, for help texts and documentation.
    pub title: &'static str,
    /// Paper and equations.
    pub source: &'static str,
    /// The parameter table.
    pub params: &'static [ParamSpec],
}

/// Counters of a port over one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Length of the interval.
    pub elapsed: Duration,
    /// Bytes enqueued, minus bytes dropped from the queue. The dropped bytes may have been enqueued in an earlier
    /// interval.
    pub admitted: Bytes,
    /// Bytes dropped because the buffer was full, at the tail or at the front. Neither `dropped` nor `admitted`
    /// includes bytes dropped by the queue discipline.
    pub dropped: Bytes,
    /// Bytes transmitted.
    pub sent: Bytes,
    /// Time average of the backlog, in bytes. The simulator computes the exact average, without the bytes of the packet
    /// in service that have been sent. A live queue computes the mean of samples.
    pub queue: Bytes,
    /// Current backlog including the packet in service, in packets.
    pub packets: u32,
}

impl Load {
    /// Returns the bytes that arrived, without the bytes dropped by the queue discipline.
    #[must_use]
    pub fn arrived(&self) -> Bytes {
        Bytes::new(self.admitted.get().saturating_add(self.dropped.get()))
    }

    /// Returns the loss rate: dropped bytes divided by arrived bytes, or 0 without arrivals. (Zhang 2008, section
    /// VII.3.1, prints the admitted fraction instead.)
    #[must_use]
    pub fn loss(&self) -> f64 {
        let dropped = self.dropped.get() as f64;
        let arrived = dropped + self.admitted.get() as f64;
        if arrived > 0.0 { dropped / arrived } else { 0.0 }
    }

    /// Returns the utilisation: sent bytes divided by the line capacity. (Zhang 2008, section VII.3.1, prints the
    /// offered load instead.)
    #[must_use]
    pub fn utilisation(&self, port: &PortInfo) -> f64 {
        let could = port.capacity.bps() * self.elapsed.as_secs_f64();
        if could > 0.0 {
            self.sent.as_bits_f64() / could
        } else {
            0.0
        }
    }
}

/// Buffer-sizing algorithm of one output port.
pub trait BufferAlgorithm: Clone + Debug + PartialEq {
    /// Parameters, validated on construction.
    type Params: Parameters;

    /// Name, source and parameter table.
    const INFO: BufferAlgorithmInfo;

    /// Returns the time between two calls of [`on_interval`](Self::on_interval).
    fn interval(params: &Self::Params) -> Duration;
    /// Creates the state before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// Called at the end of an interval.
    fn on_interval(&mut self, params: &Self::Params, load: &Load);
    /// Returns the requested limit of the port, in packets, at least 1. A fraction of a packet gives no room for one
    /// more packet.
    fn packets(&self) -> f64;
    /// Called when the granted limit differs from the request. The granted limit is smaller if the shared
    /// [memory] is full, and larger if a configured minimum exceeds the request. The algorithm should then stop
    /// integrating away from the granted limit (anti-windup). Algorithms that follow the printed equations of their
    /// papers ignore a smaller limit.
    fn on_grant(&mut self, _params: &Self::Params, _packets: f64) {}
}
