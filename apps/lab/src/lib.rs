//! Simulator in a web page. It runs scenarios, and returns columns and positions of packets.
//!
//! [`LabRun`] is a run within the [limits] of a page. JavaScript calls the functions of [`exports`], and passes bytes
//! through two buffers, so no generated code is necessary. Error messages equal those of `levelflow run`.

pub mod exports;
pub mod limits;
mod output;
mod run;

pub use run::{LabRun, Progress};
