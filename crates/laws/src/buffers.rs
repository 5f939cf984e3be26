//! Buffer sizing: how many packets a port may hold, decided now and then from what it sent and dropped.
//!
//! Pure like laws and queue disciplines, and independent of both: any port that can drop may have an algorithm. One file per
//! algorithm in this folder. Sizes are in packets.
//!
//! Drops decided by a queue discipline are no losses to an algorithm: no buffer prevents them.

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

/// What is known about an algorithm before any of its code runs.
#[derive(Debug, Clone, Copy)]
pub struct BufferAlgorithmInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper and equations.
    pub source: &'static str,
    /// The parameter table.
    pub params: &'static [ParamSpec],
}

/// What a port did in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// How long it lasted.
    pub elapsed: Duration,
    /// Bytes that were taken into the queue, less those that it dropped later, in this interval or one before.
    pub admitted: Bytes,
    /// Bytes that were dropped because there was no room: of the packet that came, or of one that made way for it at the front.
    /// What the queue discipline dropped by its own decision is neither here nor among the admitted.
    pub dropped: Bytes,
    /// Bytes that left for the wire.
    pub sent: Bytes,
    /// Time-averaged queue in bytes, including the packet in service: what a Poisson arrival would see. The
    /// engine has them exactly, less what a packet in service has sent already; a live queue, as the mean of its readings.
    pub queue: Bytes,
    /// Packets that wait or are in service now.
    pub packets: u32,
}

impl Load {
    /// Bytes that came, less those that the queue discipline dropped by its own decision.
    #[must_use]
    pub fn arrived(&self) -> Bytes {
        Bytes::new(self.admitted.get().saturating_add(self.dropped.get()))
    }

    /// Share of the bytes that arrived which found no room; 0 if none arrived (Zhang 2008, section VII.3.1, which prints the share
    /// that was admitted).
    #[must_use]
    pub fn loss(&self) -> f64 {
        let dropped = self.dropped.get() as f64;
        let arrived = dropped + self.admitted.get() as f64;
        if arrived > 0.0 { dropped / arrived } else { 0.0 }
    }

    /// Share of what the line could send that was sent (Zhang 2008, section VII.3.1, which prints the share that was offered).
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

/// A rule that sizes the buffer of one output port while it runs.
pub trait BufferAlgorithm: Clone + Debug + PartialEq {
    /// Parameters, validated when built.
    type Params: Parameters;

    /// Name, source and parameter table.
    const INFO: BufferAlgorithmInfo;

    /// Time between two calls of [`on_interval`](Self::on_interval).
    fn interval(params: &Self::Params) -> Duration;
    /// State before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// An interval ends.
    fn on_interval(&mut self, params: &Self::Params, load: &Load);
    /// Packets that the port may hold, at least 1; a fraction has no room for a packet.
    fn packets(&self) -> f64;
    /// The port got another room than that: less where its [memory](memory) is shared, more where its owner keeps some at least.
    /// Its request should not wind up then. Algorithms that are as printed in their papers ignore it.
    fn on_grant(&mut self, _params: &Self::Params, _packets: f64) {}
}
