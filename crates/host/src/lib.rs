//! Real time on a Linux host: clocks, signals, lock files, netlink, batched UDP, terminals and metrics.
//!
//! This crate does not depend on laws, routers, flows or connections.

pub mod batch;
pub mod clock;
mod error;
pub mod format;
pub mod limit;
pub mod metrics;
pub mod pid_file;
pub mod privileges;
pub mod qdisc;
pub mod stop;
pub mod sys;
pub mod tc;
pub mod terminal;
pub mod udp;

pub use error::Error;
