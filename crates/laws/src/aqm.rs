//! Queue disciplines: which packets a queue drops or marks before it is full, and which when it is.
//!
//! Pure like laws: time, queue and random numbers are arguments. One file per discipline in this folder.

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

/// What is known about a discipline before any of its code runs.
#[derive(Debug, Clone, Copy)]
pub struct QueueInfo {
    /// Name in scenarios and on the command line.
    pub name: &'static str,
    /// One line for people.
    pub title: &'static str,
    /// Paper or standard.
    pub source: &'static str,
    /// What [`Queue::signal`] is.
    pub signal: &'static str,
    /// The parameter table. A switch named `ecn`, where there is one, says whether packets of senders that understand
    /// marks are marked instead of dropped; a rate named `rate` is [`Queue::rate`], and zero is none.
    pub params: &'static [ParamSpec],
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it is.
    Pass,
    /// Congestion is signalled: the packet is marked if it is ECN-capable, else dropped.
    Notify,
    /// It is dropped.
    Drop,
}

impl Verdict {
    /// Tells the sender with this probability; `draw` is uniform on [0, 1).
    #[must_use]
    pub fn by_chance(probability: f64, draw: f64) -> Self {
        if draw < probability { Self::Notify } else { Self::Pass }
    }
}

/// What a full queue does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overflow {
    /// Drops the packet that arrives.
    Tail,
    /// Drops the packet that has waited longest, the one in service excepted, and takes the new one.
    Front,
    /// Takes the packet, then drops from the head of the queue that holds most bytes, of the several that there are.
    Fattest,
}

/// A queue discipline at one output port.
pub trait Queue: Clone + Debug + PartialEq {
    /// Parameters, validated when built.
    type Params: Parameters;

    /// Name, source and parameter table.
    const INFO: QueueInfo;
    /// What it does when it is full.
    const OVERFLOW: Overflow = Overflow::Tail;
    /// Whether [`on_departure`](Self::on_departure) does anything.
    const ACTS_ON_DEPARTURE: bool = false;
    /// Whether it has several queues and decides which of them is served: `levelflow_path::Scheduler` then does all that it does,
    /// and calls none of the methods below.
    const SCHEDULES: bool = false;

    /// Whether packets of senders that understand marks are marked instead of dropped.
    fn ecn(_params: &Self::Params) -> bool {
        false
    }
    /// Rate that a shaper or a policer lets pass in the long run; `None` where the line alone decides.
    fn rate(_params: &Self::Params) -> Option<Rate> {
        None
    }
    /// State before the first packet.
    fn new(params: &Self::Params, port: &PortInfo) -> Self;
    /// The line rate is another from now on, above zero.
    fn on_capacity(&mut self, _params: &Self::Params, _now: Time, _capacity: Rate) {}
    /// A packet arrives and there is room for it. `draw` is uniform on [0, 1).
    fn on_arrival(&mut self, _params: &Self::Params, _packet: &Arriving, _draw: f64) -> Verdict {
        Verdict::Pass
    }
    /// A packet would leave for the transmitter, `waited` after it arrived; `port` is what it leaves behind.
    fn on_departure(&mut self, _params: &Self::Params, _now: Time, _waited: Duration, _port: &PortView) -> Verdict {
        Verdict::Pass
    }
    /// Time between two calls of [`on_interval`](Self::on_interval), if any.
    fn interval(_params: &Self::Params) -> Option<Duration> {
        None
    }
    /// An interval ends.
    fn on_interval(&mut self, _params: &Self::Params, _elapsed: Duration, _port: &PortView) {}
    /// What the discipline says of itself; see [`QueueInfo::signal`]. NaN if nothing.
    fn signal(&self) -> f64 {
        f64::NAN
    }
}
