//! Results of a run: tables of samples, quantiles, counters, and the result directory.
//!
//! The simulator, its Python module and the network testbed write results through [`Recording`].

mod commit;
mod delays;
mod directory;
mod error;
mod histogram;
mod parquet;
mod summary;
mod table;

pub use commit::{FORMAT, recover};
pub use delays::{DelaySample, Delays};
pub use directory::Recording;
pub use error::Error;
pub use histogram::{Buckets, Histogram, Quantiles};
pub use summary::{
    Backlog, ClassSummary, FlowSummary, LinkSummary, PacketCounts, PoliceSummary, Summary, TestbedSummary,
};
pub use table::{Column, FlowRow, LinkRow, MemberRow, Outcome, Recorder, Table, TransferRow};
