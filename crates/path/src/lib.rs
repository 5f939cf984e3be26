//! Path of a packet between two hosts, in virtual or real time, without a clock or a socket.
//!
//! A [`Fifo`] is a queue with a transmitter, and a [`DelayLine`] is the wire behind it. A [`Hop`] combines both with an
//! optional router half of a law: a [`Port`] stamps datagrams, and a [`HopLaw`] stamps packets of any type. Method
//! names are those of other sans-IO crates: `handle_input` accepts a packet, `poll_output` returns one that is due,
//! `poll_timeout` returns the time of the next event, and `handle_timeout` processes it. Callers pass the time, which
//! never decreases.

mod fifo;
mod hop;
mod law;
pub mod port;
pub mod scheduler;
mod wire;

pub use fifo::{Backlog, Departure, Fifo};
pub use hop::{Hop, HopCounters, Settings};
pub use law::HopLaw;
pub use port::{Datagram, Port};
pub use scheduler::Scheduler;
pub use wire::{DelayLine, GilbertElliott, Propagation, Wire, WireLoss};
