//! Routers: a law at an output port in real time, and what people see of it.
//!
//! [`Port`] is the law, its intervals and its counters. The relay form ([`relay`]) owns a queue and forwards UDP; at a
//! [`device`], the [`kernel`] counts and stamps, and [`levelflow_host::qdisc`] reads its queue.

pub mod capacity;
pub mod clients;
pub mod device;
pub mod direction;
pub mod kernel;
pub mod live;
pub mod metrics;
pub mod relay;
pub mod service;
pub mod snapshot;

pub use levelflow_path::Backlog;

/// A port whose log goes to the file of `--journal`.
pub type Port = levelflow_path::Port<levelflow_host::journal::Journal>;
