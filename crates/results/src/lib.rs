//! Results of a run: samples as tables, quantiles and counters, and the directory that holds them.
//!
//! The simulator, its Python module and the network testbed all write results through [`Recording`].

mod directory;
mod error;
mod histogram;
mod parquet;
mod summary;
mod table;

pub use directory::{FORMAT, Recording};
pub use error::{Error, reason};
pub use histogram::{Histogram, Quantiles};
pub use summary::{Books, FlowSummary, LinkSummary, Summary};
pub use table::{Column, CompletionRow, FlowRow, LinkRow, MemberRow, Recorder, Table};
