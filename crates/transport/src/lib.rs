//! One flow under a law, without clock or socket: what to send when, and what to believe of an answer.
//!
//! [`Sender`] drives a law as the simulator does: openings, pacing, windows, losses and timeouts. Whoever owns the socket asks
//! [`next`](Sender::next) when a packet may leave, lets [`stamp`](Sender::stamp) write what precedes its payload, and hands
//! every answer to [`on_answer`](Sender::on_answer). [`Receiver`] is the far end.
//!
//! An answer counts if it names the flow's random number and a packet that is under way and was not answered before, if its
//! time is one at which that packet can have been answered, and if its header is one of the law. Everything else is
//! counted and ignored: replayed, reordered, forged and broken answers change nothing.
//!
//! Where no router of the law is on the path, headers come back as no router wrote them ([`Answer::routed`]), and the flow
//! stays at the rate at which its law begins: JetMax and EMKC at `initial_rate`, RCP at a packet in 10 s, MaxNet at one and
//! XCP at two packets per round-trip time. Where no answers come at all, see [`silence`].

mod believe;
mod receiver;
mod rtt;
mod sender;
pub mod silence;
#[cfg(test)]
mod tests;
mod track;

pub use believe::{Refusals, Refused};
pub use receiver::{HISTORY, Order, Receiver};
pub use sender::{Answer, Counters, Sender};
