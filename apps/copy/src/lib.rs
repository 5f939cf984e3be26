//! Copies files over connections whose rate the network sets: `levelflow-net serve` and `levelflow-net copy`.
//!
//! One request per stream: a JSON message after its length (4 bytes, big-endian), answers likewise, the bytes of a file between
//! them as they are. [`message`] has the messages, [`root`] keeps both ends inside their directories, [`part`] has files that are
//! still arriving. Large files take several streams, see [`lanes`].
//!
//! A file arrives as `.NAME.part` beside its place. It is renamed into place when its BLAKE3 is that of what was sent and it is
//! on the disk; so a reader finds the old file or the new one, whichever process is killed and when. What has arrived is used again if
//! it is, by its BLAKE3, the beginning of what is to be sent.

mod agreement;
mod client;
mod error;
mod known_hosts;
mod lanes;
mod message;
mod part;
mod plan;
mod root;
mod run;
mod server;
#[cfg(test)]
mod tests;
mod transfer;

pub use client::Session;
pub use known_hosts::{KnownHosts, folder, known_hosts};
pub use plan::Location;
pub use run::{Options, Outcome, Run};
pub use server::{Server, ServerOptions};
pub use transfer::Progress;

/// Name of the protocol (ALPN).
pub const PROTOCOL: &[u8] = b"levelflow-copy/1";
