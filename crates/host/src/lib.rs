//! Real time on a Linux host: clocks, signals, lock files, netlink, batched UDP, terminals, metrics and logs of laws.
//!
//! Nothing here knows of routers, flows or connections; the crates above put these parts to work.

pub mod batch;
pub mod clock;
mod error;
pub mod format;
pub mod journal;
pub mod law;
pub mod limit;
pub mod metrics;
pub mod pid_file;
pub mod qdisc;
pub mod stop;
pub mod sys;
pub mod tc;
pub mod terminal;
pub mod udp;

pub use error::Error;
