//! Transport around a law (a congestion-control algorithm), without clock or socket. The same code runs in the
//! simulator, on real networks and in QUIC.
//!
//! [`Sender`] calls a law. It implements handshake, pacing, congestion window, loss recovery, retransmission timeout,
//! and backoff without ACKs. The owner has a clock and a socket, or an event list. It calls
//! [`poll_timeout`](Sender::poll_timeout), [`poll_transmit`](Sender::poll_transmit), [`handle_ack`](Sender::handle_ack)
//! and [`handle_timeout`](Sender::handle_timeout). [`History`] and [`Assembly`] are the state of the receiver. In the
//! simulator, ACKs are trusted. On a real network, [`WireSender`] and [`Receiver`] add shims and validate every packet.
//!
//! On a real network, a sender accepts an ACK under four conditions:
//!
//! - The ACK carries the flow's random number.
//! - The acknowledged packet is tracked by the sender and has not been acknowledged before.
//! - The timestamp is between the send time of the packet and the current time.
//! - The header is valid for the law.
//!
//! All other ACKs are counted and ignored. Replayed, forged and invalid ACKs therefore change nothing else.
//!
//! If the path has no router of the law, headers return unchanged ([`AckReport::routed`]). The flow then keeps the
//! initial rate of its law. This is `initial_rate` for JetMax and EMKC, and one packet per 10 s for RCP. For MaxNet it
//! is one packet per round-trip time, and for XCP two packets per round-trip time. [`starvation`] describes flows that
//! receive no ACKs.

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

pub use history::{History, Order};
pub use pacer::{Limits, Pacer};
pub use receiver::{LONGEST_ACK, Received, Receiver};
pub use recovery::Totals;
pub use rtt::RttEstimator;
pub use scoreboard::{Acked, MAX_PACKETS, REORDERING_THRESHOLD};
pub use sender::{Ack, ENDLESS, Rules, Sender, Transmit};
pub use stream::{Assembly, Chunk};
pub use validate::{Rejected, Rejections};
pub use wire::{AckReport, Encoded, FlowCounters, WireSender};
