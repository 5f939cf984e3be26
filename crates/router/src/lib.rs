//! Routers that run a law at an output port in real time, with their status display and metrics.
//!
//! [`Port`] combines a law, its control intervals and its counters. The [`relay`] owns a queue and forwards UDP. At a
//! [`device`], the [`kernel`] program counts and stamps packets, and [`levelflow_host::qdisc`] reads the queue.
//!
//! docs/concepts/glossary.md defines terms such as law, signalling, shim and foreign load.

pub mod capacity;
pub mod clients;
pub mod device;
pub mod direction;
pub mod kernel;
pub mod live;
pub mod logging;
pub mod metrics;
pub mod relay;
pub mod service;
pub mod snapshot;

pub use levelflow_path::Backlog;

/// Output port that logs to the file of `--journal`.
pub type Port = levelflow_path::Port<levelflow_journal::Journal>;
