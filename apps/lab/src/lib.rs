//! Simulator for a web page: scenarios in, columns and positions of packets out.
//!
//! [`LabRun`] is a run within the [limits](limits) of a page. [`exports`] passes it to JavaScript over two byte
//! buffers, so the module needs no generated glue. Errors are the lines that the command prints.

pub mod exports;
pub mod limits;
mod output;
mod run;

pub use run::{LabRun, Progress};
