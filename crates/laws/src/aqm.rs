//! Queue disciplines: algorithms that mark or drop packets before a queue is full. They also choose the packet to drop
//! when the queue is full.
//!
//! Disciplines are pure functions: time, queue and random numbers are arguments. This folder has one file per
//! discipline.

use core::fmt::Debug;

use levelflow_units::{Duration, Rate, Time};

use crate::law::{Arriving, PortInfo, PortView};
use crate::params::{ParamError, ParamSpec, Parameters};

pub mod cake;
pub mod codel;
#[cfg(test)]
mod conformance;
pub mod drop_front;
pub mod drop_tail;
pub mod dualpi2;
pub mod fq_codel;
pub mod pi;
pub mod pie;
pub mod policer;
pub mod red;
pub mod rem;
pub mod virtual_queue;
#[macro_use]
mod registry;

registry::queues! {
    drop_tail => DropTail,
    drop_front => DropFront,
    red => Red,
    rem => Rem,
    pi => Pi,
    codel => Codel,
    pie => Pie,
    virtual_queue => VirtualQueue,
    policer => Policer,
    fq_codel => FqCodel,
    dualpi2 => DualPi2,
    cake => Cake,
}

/// Static description of a queue discipline.
#[derive(Debug, Clone, Copy)]
pub struct QueueInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One-line description, for help texts and documentation.
    pub title: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// Meaning of [`Queue::signal`].
    pub signal: &'static str,
    /// The parameter table. A switch named `ecn` enables marking instead of dropping for ECN-capable packets
    /// ([`Queue::ecn`]). A parameter named `rate` sets [`Queue::rate`]. A rate of zero means no limit.
    pub params: &'static [ParamSpec],
}

/// Decision of a queue discipline on a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Accepts the packet unchanged.
    Pass,
    /// Signals congestion: marks the packet if it is ECN-capable, otherwise drops it.
    Notify,
    /// Drops the packet.
    Drop,
}

impl Verdict {
    /// Returns `Notify` with this probability, otherwise `Pass`; `draw` is uniform on [0, 1).
    #[must_use]
    pub fn by_chance(probability: f64, draw: f64) -> Self {
        if draw < probability { Self::Notify } else { Self::Pass }
    }
}

/// Choice of the packet to drop when the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Drops the packet that arrives.
    Tail,
    /// Drops the packet that has waited longest, and accepts the new packet. The packet in service is not dropped.
    Front,
    /// Accepts the packet, then drops from the head of the subqueue with the largest backlog in bytes.
    Fattest,
}

/// Queue discipline at one output port.
pub trait Queue: Clone + Debug + PartialEq {
    /// Parameters, validated on construction.
    type Params: Parameters;

    /// Name, source and parameter table.
    const INFO: QueueInfo;
    /// Choice of the packet to drop when the queue is full.
    const OVERFLOW: Overflow = Overflow::Tail;
    /// True if the discipline uses [`on_departure`](Self::on_departure).
    const ACTS_ON_DEPARTURE: bool = false;
    /// True if the discipline schedules several queues. `levelflow_path::Scheduler` implements these disciplines, and
    /// ignores the methods of this trait that process packets.
    const SCHEDULES: bool = false;
    /// True if the discipline uses random numbers. A run then depends on its seed.
    const DRAWS: bool = false;

    /// Returns true if ECN-capable packets are marked instead of dropped.
    fn ecn(_params: &Self::Params) -> bool {
        false
    }
    /// Returns the long-run rate of a shaper or a policer; `None` if only the line limits the rate.
    fn rate(_params: &Self::Params) -> Option<Rate> {
        None
    }
    /// Creates the state before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// Called when the line rate changes to `capacity`, above zero.
    fn on_capacity(&mut self, _params: &Self::Params, _now: Time, _capacity: Rate) {}
    /// Called when a packet arrives and the queue has room for it. `draw` is uniform on [0, 1).
    fn on_arrival(&mut self, _params: &Self::Params, _packet: &Arriving, _draw: f64) -> Verdict {
        Verdict::Pass
    }
    /// Called before a packet is transmitted. `waited` is the queueing delay of the packet. `port` is the state of the
    /// port without this packet.
    fn on_departure(&mut self, _params: &Self::Params, _now: Time, _waited: Duration, _port: &PortView) -> Verdict {
        Verdict::Pass
    }
    /// Returns the time between two calls of [`on_interval`](Self::on_interval); `None` for no calls.
    fn interval(_params: &Self::Params) -> Option<Duration> {
        None
    }
    /// Called at the end of an interval.
    fn on_interval(&mut self, _params: &Self::Params, _elapsed: Duration, _port: &PortView) {}
    /// Returns the quantity described by [`QueueInfo::signal`]; NaN for none.
    fn signal(&self) -> f64 {
        f64::NAN
    }
}
