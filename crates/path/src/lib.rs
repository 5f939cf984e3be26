//! Path of a packet between two hosts, in virtual or real time, without a clock or a socket.
//!
//! A [`Fifo`] is a queue with a transmitter. A [`DelayLine`] is the wire behind a transmitter. A [`Hop`] combines a
//! queue and a wire with an optional router law. A router law is the router side of a congestion-control algorithm. The
//! trait [`HopLaw`] is the interface of the router law, for packets of any type. A [`Port`] implements this trait for
//! datagrams.
//!
//! The methods have the names that other sans-IO crates use:
//!
//! - `handle_input` accepts a packet.
//! - `poll_output` returns a packet that is due.
//! - `poll_timeout` returns the time of the next event.
//! - `handle_timeout` processes the event.
//!
//! Callers pass the current time, which must never decrease.

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
