//! Sizes the buffers of live interfaces: a buffer-sizing algorithm computes a queue's limit from the counters of the
//! kernel.
//!
//! [`queue`] finds the queue and [`line`] its line. [`meter`] converts counters into loads, [`control`] decides on
//! limits, and [`memory`] divides the memory of several queues. These three use neither clock nor socket. [`restore`]
//! saves the original limits, and [`origin`] detects whether their device still exists. [`daemon`] runs all this in
//! real time, [`log`] records decisions, and [`notes`] warns of misfits.

pub mod control;
pub mod daemon;
pub mod line;
pub mod log;
pub mod memory;
pub mod meter;
pub mod metrics;
pub mod notes;
pub mod origin;
pub mod queue;
pub mod reading;
pub mod restore;
mod trouble;

use levelflow_host::pid_file::Service;

/// Service that sizes buffers: one process per device.
pub const ABS: Service = Service {
    name: "abs",
    noun: "buffer-sizing daemon",
    end: "levelflow-net abs --restore",
    status: "levelflow-net abs status",
};
