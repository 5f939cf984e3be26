//! Levelflow on real networks: the laws of `levelflow-laws` in real time.
//!
//! `shim` and headers travel in UDP before the payload; a router stamps them, endpoints obey.

pub mod abs;
pub mod batch;
pub mod bench;
pub mod cli;
pub mod clock;
pub mod copy;
mod error;
pub mod journal;
pub mod law;
pub mod link;
pub mod load;
pub mod quic;
pub mod router;
pub mod sys;
pub mod terminal;
pub mod testbed;

pub use error::Error;
