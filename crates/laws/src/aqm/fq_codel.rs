//! FQ-CoDel: a queue with CoDel per flow, served by deficit round robin.
//!
//! Source: RFC 8290 (T. Høiland-Jørgensen, P. McKenney, D. Täht, J. Gettys, E. Dumazet, 2018); `sch_fq_codel` of Linux.
//!
//! A hash assigns each flow to one of `queues` queues. An empty queue that receives a packet joins the list of new
//! queues, with a deficit of `quantum` bytes. Deficit round robin serves new queues before old queues:
//!
//! - A queue that has used its deficit gets another `quantum`, and moves to the end of the old queues.
//! - A new queue that becomes empty moves to the old queues. It can become a new queue again only after it has left the
//!   old queues.
//! - An old queue that becomes empty leaves the list.
//!
//! Each queue has its own [`codel`](super::codel) state.
//!
//! The queue with the largest backlog drops packets if the backlog of all queues exceeds `limit` packets or `memory`
//! bytes. It drops half of its bytes from its head, up to `batch` packets.
//!
//! The queues are in `levelflow_path::Scheduler`. The simulator and the data plane run this scheduler.
//!
//! Interpretations of the source:
//! - CoDel drops packets only if the backlog exceeds the largest packet size. As in Linux, this condition uses the
//!   backlog of all queues. RFC 8289 has only one queue.
//! - Packets dropped by overflow increase `count` of CoDel, as in Linux.
//! - `memory` is in bytes on the wire. Linux counts the size of its buffers instead.

use levelflow_units::{Bytes, Duration};

use super::codel::CodelParams;
use super::{Overflow, Queue, QueueInfo};
use crate::law::PortInfo;
use crate::params::{SWITCH_RANGE, Unit, parameters};

parameters! {
    /// Validated parameters.
    pub struct FqCodelParams {
        queues: u32 = Unit::Number, 1024.0, (1.0, 65_536.0),
            "number of flow queues (hash buckets)",
            "RFC 8290, section 5.2";
        quantum: Bytes = Unit::Size, 1514.0, (1.0, 1e6),
            "bytes that a queue may send per turn",
            "RFC 8290, section 5.2: the MTU of the link, here Ethernet";
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "acceptable standing queueing delay",
            "RFC 8290, section 5.2";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "time above the target after which a queue drops a packet; should be about the longest round-trip time",
            "RFC 8290, section 5.2";
        limit: u32 = Unit::Packets, 10_240.0, (1.0, 1e6),
            "largest backlog of all queues, packets",
            "RFC 8290, section 5.2";
        memory: Bytes = Unit::Size, 33_554_432.0, (1.0, 1e12),
            "largest backlog of all queues, bytes",
            "Linux: 32 MiB";
        batch: u32 = Unit::Packets, 64.0, (1.0, 1e6),
            "largest number of packets that overflow drops at once from the longest queue",
            "RFC 8290, section 4.1; Linux";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "RFC 8290, section 5.2";
    } also {
        /// CoDel parameters of each queue.
        pub codel: CodelParams = CodelParams { target, interval, ecn };
    }
}

/// FQ-CoDel at one port. Its queues are in `levelflow_path::Scheduler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodel;

impl Queue for FqCodel {
    type Params = FqCodelParams;

    const INFO: QueueInfo = QueueInfo {
        name: "fq_codel",
        title: "FQ-CoDel: a queue with CoDel per flow, served by deficit round robin",
        source: "RFC 8290",
        signal: "number of active queues: with a backlog, or recently with a backlog",
        params: &FqCodelParams::TABLE,
    };
    const OVERFLOW: Overflow = Overflow::Fattest;
    const SCHEDULES: bool = true;
    const DRAWS: bool = true;

    fn ecn(params: &FqCodelParams) -> bool {
        params.ecn
    }

    fn new(_params: &FqCodelParams, _port: &PortInfo) -> Self {
        Self
    }
}
