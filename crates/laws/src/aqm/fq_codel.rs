//! FQ-CoDel: a queue per flow, served in turn, each under CoDel.
//!
//! Source: RFC 8290 (T. Høiland-Jørgensen, P. McKenney, D. Täht, J. Gettys, E. Dumazet, 2018); `sch_fq_codel` of Linux.
//!
//! A hash puts each flow into one of `queues` queues. A queue that gets a packet while it is empty joins the list of
//! new queues, with `quantum` bytes to send. Deficit round robin serves new queues before old ones: a queue whose
//! bytes are used up gets another `quantum` and becomes the last of the old ones; a new one that is empty becomes an
//! old one, so that it cannot come back as new before its turn; an old one that is empty leaves. Each queue has a
//! state of [`codel`](super::codel) of its own.
//!
//! If more than `limit` packets or `memory` bytes wait, the queue of most bytes loses packets from its head: half of
//! its bytes, at most `batch` packets.
//!
//! The queues themselves are `levelflow_path::Scheduler`, which the simulator and the data plane run.
//!
//! Readings:
//! - CoDel's condition that a packet leaves more behind than one of the largest size is that of Linux: it counts what
//!   waits in all queues. RFC 8289 has one queue.
//! - As in Linux, packets that overflow drops count for CoDel's next drop (`count`).
//! - `memory` counts bytes on the wire; Linux counts what its buffers take.

use levelflow_units::{Bytes, Duration};

use super::codel::CodelParams;
use super::{Overflow, Queue, QueueInfo};
use crate::law::PortInfo;
use crate::params::{SWITCH, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct FqCodelParams {
        queues: u32 = Unit::Number, 1024.0, (1.0, 65_536.0),
            "queues that flows are hashed into",
            "RFC 8290, section 5.2";
        quantum: Bytes = Unit::Size, 1514.0, (1.0, 1e6),
            "what a queue may send per turn",
            "RFC 8290, section 5.2: the MTU of the link, of Ethernet here";
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "shortest wait that is too long if it lasts",
            "RFC 8290, section 5.2";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "how long packets of a queue may be late before one is dropped; about the longest round-trip time",
            "RFC 8290, section 5.2";
        limit: u32 = Unit::Packets, 10_240.0, (1.0, 1e6),
            "packets that may wait in all queues",
            "RFC 8290, section 5.2";
        memory: Bytes = Unit::Size, 33_554_432.0, (1.0, 1e12),
            "bytes that may wait in all queues",
            "Linux: 32 MiB";
        batch: u32 = Unit::Packets, 64.0, (1.0, 1e6),
            "packets that the longest queue loses at once, at most, if there are too many",
            "RFC 8290, section 4.1; Linux";
        ecn: bool = Unit::Switch, 1.0, SWITCH,
            "mark packets of senders that understand marks instead of dropping them",
            "RFC 8290, section 5.2";
    } also {
        /// What each queue is under.
        pub codel: CodelParams = CodelParams { target, interval, ecn };
    }
}

/// FQ-CoDel at one port; its queues are those of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel;

impl Queue for FqCodel {
    type Params = FqCodelParams;

    const INFO: QueueInfo = QueueInfo {
        name: "fq_codel",
        title: "FQ-CoDel: a queue per flow, served in turn, each under CoDel",
        source: "RFC 8290",
        signal: "queues that wait or have lately",
        params: &FqCodelParams::TABLE,
    };
    const OVERFLOW: Overflow = Overflow::Fattest;
    const SCHEDULES: bool = true;

    fn ecn(params: &FqCodelParams) -> bool {
        params.ecn
    }

    fn new(_params: &FqCodelParams, _port: &PortInfo) -> Self {
        Self
    }
}
