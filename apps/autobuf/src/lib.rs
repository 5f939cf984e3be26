//! Buffers of real queues, sized by targets: what a queue of the kernel sent and dropped goes into a sizer, and what that says
//! becomes the queue's limit.
//!
//! [`room`] reads and writes limits as bytes, [`kernel`] finds queues and sets them by netlink, [`line`] says what they lead to;
//! [`meter`] makes loads of counters, [`control`] decides, [`memory`] divides what several share, all without clock or socket;
//! [`undo`] remembers what to restore, and with [`origin`] whether that is still there; [`daemon`] does it in real time, [`log`]
//! writes down what was decided, and [`notes`] says what does not fit.

pub mod control;
pub mod daemon;
pub mod line;
pub mod log;
pub mod memory;
pub mod meter;
pub mod metrics;
pub mod notes;
pub mod origin;
pub mod place;
pub mod reading;
mod trouble;
pub mod undo;

use levelflow_host::state::Service;

/// Programs that size buffers: one per device.
pub const ABS: Service = Service {
    name: "abs",
    noun: "buffer sizer",
    end: "levelflow-net abs --restore",
    status: "levelflow-net abs status",
};
