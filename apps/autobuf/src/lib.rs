//! Buffer sizing for live interfaces. A buffer-sizing algorithm computes the limit of a queue from the counters of the
//! kernel.
//!
//! - [`queue`] finds the queue, and [`line`] finds the line behind the queue.
//! - [`meter`] converts counters into loads, and [`control`] decides on limits. [`memory`] divides the memory of
//!   several queues. These three modules use neither clock nor socket.
//! - [`restore`] saves the original limits. [`origin`] detects whether their device still exists.
//! - [`daemon`] runs these modules in real time. [`log`] records decisions. [`notes`] warns if queue, line and targets
//!   do not fit together.

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

/// Service that sizes buffers, with one process per device.
pub const ABS: Service = Service {
    name: "abs",
    noun: "buffer-sizing daemon",
    end: "levelflow-net abs --restore",
    status: "levelflow-net abs status",
};
