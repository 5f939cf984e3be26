//! Copies files over connections whose rate the network sets: `levelflow-net serve` and `levelflow-net copy`.
//!
//! Each request has its own stream. The stream carries a JSON message after its length (4 bytes, big-endian), and
//! replies in the same format. The bytes of a file are sent between these messages without framing. [`message`] defines
//! the messages, [`root`] confines both ends to their directories, and [`part`] handles incomplete files. Large files
//! use several streams, see [`lanes`].
//!
//! A file arrives as `.NAME.part` in its target directory. It is renamed once it is on the disk and its BLAKE3 matches
//! that of the source. So a reader finds the old file or the new one, even if a process is killed. A part is reused if
//! its BLAKE3 matches the beginning of the source file.

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
pub use run::{CopyRun, Options, Outcome};
pub use server::{Server, ServerOptions};
pub use transfer::Progress;

/// Name of the protocol (ALPN).
pub const PROTOCOL: &[u8] = b"levelflow-copy/1";
