//! Sizes the buffers of live interfaces: counters of a kernel queue go into a buffer-sizing algorithm, whose result becomes the
//! queue's limit.
//!
//! [`queue`] finds the queue and [`line`] its line; [`meter`] makes loads of counters, [`control`] decides, and [`memory`] divides
//! what several queues share, all without clock or socket. [`restore`] keeps the limits that were found, and [`origin`] tells
//! whether their device still exists. [`daemon`] runs it in real time, [`log`] writes decisions down, [`notes`] warns of misfits.

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

/// Programs that size buffers: one per device.
pub const ABS: Service = Service {
    name: "abs",
    noun: "buffer-sizing daemon",
    end: "levelflow-net abs --restore",
    status: "levelflow-net abs status",
};
