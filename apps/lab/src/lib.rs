//! The simulator in a web page: scenarios in, columns and the positions of packets out.
//!
//! [`Run`] is a run within the [limits](limits) of a page. [`exports`] hands it to JavaScript over two byte buffers,
//! so the module needs no generated glue. Whatever goes wrong comes back as the lines that the command prints.

pub mod exports;
pub mod limits;
mod output;
mod run;

pub use run::{Progress, Run};
