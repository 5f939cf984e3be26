//! Transport around a law, without clock or socket: the same code runs in the simulator, on the wire and in QUIC.
//!
//! [`Sender`] drives a law: handshake, pacing, congestion window, loss recovery, retransmission timeout, and backoff
//! without ACKs. The owner of clock and socket (or event list) calls [`poll_timeout`](Sender::poll_timeout),
//! [`poll_transmit`](Sender::poll_transmit), [`handle_ack`](Sender::handle_ack) and
//! [`handle_timeout`](Sender::handle_timeout). [`History`] and [`Assembly`] are the state of the receiver. In the
//! simulator, ACKs are trusted. On the wire, [`WireSender`] and [`Receiver`] add shims and validate every packet.
//!
//! An ACK from the wire is accepted if it carries the flow's random number and acknowledges a packet that the sender
//! tracks and that is not yet acked. Its timestamp must be possible, and its header valid for the law. All other ACKs
//! are counted and ignored: replayed, forged and broken ACKs change nothing.
//!
//! If no router of the law is on the path, headers return unchanged ([`AckReport::routed`]), and the flow keeps the
//! initial rate of its law. This is `initial_rate` for JetMax and EMKC, one packet per 10 s for RCP, one packet per
//! round-trip time for MaxNet, and two for XCP. [`starvation`] describes flows that receive no ACKs at all.

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

pub use history::{HISTORY_BYTES, History, Order};
pub use pacer::{Limits, Pacer};
pub use receiver::{LONGEST_ACK, Received, Receiver};
pub use recovery::Totals;
pub use rtt::RttEstimator;
pub use scoreboard::{Acked, MAX_PACKETS, REORDERING_THRESHOLD};
pub use sender::{Ack, ENDLESS, Rules, Sender, Transmit};
pub use stream::{Assembly, Chunk};
pub use validate::{Rejected, Rejections};
pub use wire::{AckReport, Encoded, FlowCounters, WireSender};
