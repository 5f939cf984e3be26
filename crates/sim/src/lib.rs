//! Packet-level network simulator: the laws of `levelflow-laws` in virtual time, over links with capacity,
//! delay and finite buffers.
//!
//! A [`Network`](levelflow_scenario::Network) describes the simulation, [`Sim`] runs it. A *law* is a
//! congestion-control algorithm. A *signalling* defines the packet header and the computations of routers for one or
//! several laws. A *flow entry* of a scenario is one flow, or a source of many flows.

mod ackdelay;
mod alarm;
mod capture;
mod changing;
mod counters;
mod cut;
mod engine;
mod entry;
mod events;
mod flow;
mod host;
mod id;
mod interner;
mod limit;
mod link;
mod packet;
mod partition;
mod pipe;
mod prefetch;
pub mod replay;
mod ring;
mod run;
mod sizing;
mod start;
mod trace;
mod watch;
mod winner_tree;

pub use levelflow_laws::Any;

pub use capture::{Capture, Watched, Wire};
pub use counters::{EntryCounters, LinkCounters, Violation};
pub use engine::Sim;
pub use limit::{LimitExceeded, check_memory};
pub use run::{Division, ParallelRun, Running, Threads};
pub use start::start;
pub use trace::{Fate, Stay, Trace};
