//! What a packet passes between two hosts, in virtual or real time: no clock, no socket.
//!
//! A [`Fifo`] is a queue in front of a transmitter, a [`DelayLine`] the wire behind it, and a [`Hop`] both, with the router
//! half of a law if there is one: a [`Port`] stamps datagrams, a [`HopLaw`] packets of any type. The verbs are those of
//! other sans-IO crates: `handle_input` takes a packet, `poll_output` gives one that is due, `poll_timeout` says when
//! something happens next, and `handle_timeout` performs it. Callers pass the time, which never runs backwards.

mod fifo;
mod hop;
mod law;
pub mod port;
pub mod scheduler;
mod wire;

pub use fifo::{Backlog, Departure, Fifo};
pub use hop::{Counters, Hop, Settings};
pub use law::HopLaw;
pub use port::{Datagram, Port};
pub use scheduler::Scheduler;
pub use wire::{DelayLine, GilbertElliott, Loss, Propagation, Wire};
