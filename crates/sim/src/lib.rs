//! Packet-level network simulator: the laws of `levelflow-laws` in virtual time, over links with capacity,
//! delay and finite buffers.
//!
//! [`Network`] is what to simulate, [`Sim`] does it, [`scenario`] reads the former from a file.

mod ackdelay;
mod capture;
mod counters;
mod engine;
mod events;
mod flow;
mod link;
mod network;
mod packet;
mod pipe;
mod record;
mod reliable;
pub mod replay;
pub mod rng;
pub mod scenario;
mod sizing;
mod traffic;

pub use levelflow_laws::Any;

pub use capture::{Capture, Watched, Wire};
pub use counters::{
    Books, EntryCounters, FlowSummary, LinkCounters, LinkSummary, Quantiles, Spread, Summary, Violation,
};
pub use engine::Sim;
pub use network::{AckDelaySpec, Buffer, FlowSpec, LinkSpec, Network, RouteSpec};
pub use record::{Column, CompletionRow, FlowRow, LinkRow, Recorder, Table};
pub use traffic::{Arrivals, Dist};
