//! The transport around a law, without clock or socket: the same code in the simulator, on the wire and under QUIC.
//!
//! [`Sender`] drives a law: handshake, pacing, window, loss recovery, retransmission timeout, and backoff where no ACKs come.
//! The owner of clock and socket (or event list) calls [`poll_timeout`](Sender::poll_timeout),
//! [`poll_transmit`](Sender::poll_transmit), [`handle_ack`](Sender::handle_ack) and
//! [`handle_timeout`](Sender::handle_timeout). [`History`] and [`Assembly`] are the far end. The simulator trusts its ACKs;
//! [`WireSender`] and [`Receiver`] add shims, and believe nothing.
//!
//! An ACK from the wire counts if it names the flow's random number and a packet that is under way and was not acked before,
//! if its time is one at which that packet can have been acked, and if its header is one of the law. Everything else is
//! counted and ignored: replayed, reordered, forged and broken ACKs change nothing.
//!
//! Where no router of the law is on the path, headers come back as no router wrote them ([`News::routed`]), and the flow
//! stays at the rate at which its law begins: JetMax and EMKC at `initial_rate`, RCP at a packet in 10 s, MaxNet at one and
//! XCP at two packets per round-trip time. Where no ACKs come at all, see [`starvation`].

mod controller;
mod cumulative;
mod history;
mod pacer;
mod receiver;
mod recovery;
mod rtt;
mod samples;
mod scoreboard;
mod sender;
pub mod starvation;
mod stream;
#[cfg(test)]
mod tests;
mod validate;
mod wire;

pub use controller::{Bare, Controller};
pub use history::{HISTORY, History, Order};
pub use pacer::{Limits, Pacer};
pub use receiver::{LONGEST_ACK, Received, Receiver};
pub use recovery::Totals;
pub use rtt::RttEstimator;
pub use scoreboard::{Acked, MAX_PACKETS, REORDERING};
pub use sender::{Ack, ENDLESS, Rules, Sender, Transmit};
pub use stream::{Assembly, Chunk};
pub use validate::{Rejected, Rejections};
pub use wire::{Counters, Encoded, News, WireSender};
