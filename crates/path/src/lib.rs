//! What a packet passes between two hosts, in virtual or real time: no clock, no socket.
//!
//! A [`Fifo`] is a queue in front of a transmitter, a [`DelayLine`] the wire behind it, and a [`Hop`] both. The verbs are
//! those of other sans-IO crates: `handle_input` takes a packet, `poll_output` gives one that is due, `poll_timeout` says
//! when the next call is. Whoever drives them passes the time, which never runs backwards.

mod delay;
mod fifo;
mod hop;

pub use delay::{DelayLine, Propagation};
pub use fifo::{Departure, Fifo};
pub use hop::{Counters, Hop, Settings};
