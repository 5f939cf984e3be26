//! A shaper with queues per flow and fairness between hosts: CAKE-like, and not the CAKE of Linux.
//!
//! Source: T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue management solution for
//! home gateways" (LANMAN 2018); `sch_cake` of Linux. Of these, this has
//!
//! - the shaper without bursts (section III-A): a packet of `s` bytes keeps the gate shut for `s / rate`;
//! - flow queues of `sch_fq_codel` behind a set-associative hash of eight ways (III-B): two flows share a queue only if
//!   the eight queues of a set are all taken;
//! - fairness between hosts (III-B): the quantum of a flow is divided by the number of flows that wait of its source
//!   (`isolation = "sources"`), for its destination (`"destinations"`), or the larger of both (`"triple"`);
//! - CoDel per queue, as in [`fq_codel`](super::fq_codel), with a target of at least one and a half packets of 1514
//!   bytes at `rate`;
//! - overflow that drops from the head of the longest queue.
//!
//! It has no classes of `DiffServ` (III-C), filter of ACKs (III-D), overhead of framing, BLUE beside CoDel (COBALT) or NAT
//! look-up. What that comes to beside the code of Linux: `docs/concepts/cake-beside-linux-code.md`.

use levelflow_units::{Bytes, Duration, Rate};

use super::codel::CodelParams;
use super::{Overflow, Queue, QueueInfo};
use crate::law::PortInfo;
use crate::params::{SWITCH, Unit, choices, parameters};

choices! {
    /// Between whom capacity is shared fairly.
    pub enum Isolation {
        /// Flows.
        Flows = "flows",
        /// Sources, and the flows of each: `dual-srchost`, for the way out of a home.
        Sources = "sources",
        /// Destinations, and the flows of each: `dual-dsthost`, for the way in.
        Destinations = "destinations",
        /// Both: no source and no destination gains by more flows, as long as the other ends of these differ.
        Triple = "triple",
    }
}

parameters! {
    /// Validated parameters.
    pub struct CakeParams {
        rate: Rate = Unit::Rate, 0.0, (0.0, 1e15),
            "what the shaper lets pass; 0 b/s: as much as the line sends",
            "sch_cake: unlimited; set it a few percent below the line behind it";
        isolation: Isolation = Isolation::UNIT, 3.0, Isolation::RANGE,
            "between whom capacity is shared fairly: flows, or hosts at one or both ends and then their flows",
            "sch_cake: triple-isolate";
        queues: u32 = Unit::Number, 1024.0, (8.0, 65_536.0),
            "queues that flows are hashed into, a multiple of 8",
            "sch_cake";
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "shortest wait that is too long if it lasts",
            "sch_cake";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "how long packets of a queue may be late before one is dropped; about the longest round-trip time",
            "sch_cake";
        limit: u32 = Unit::Packets, 10_240.0, (1.0, 1e6),
            "packets that may wait in all queues",
            "sch_cake";
        memory: Bytes = Unit::Size, 4_194_304.0, (1.0, 1e12),
            "bytes that may wait in all queues",
            "sch_cake: at least 4 MiB";
        ecn: bool = Unit::Switch, 1.0, SWITCH,
            "mark packets of senders that understand marks instead of dropping them",
            "sch_cake";
    } also {
        /// What each queue is under.
        pub codel: CodelParams = CodelParams { target: late(target, rate), interval, ecn };
    } where {
        queues: queues.is_multiple_of(WAYS), "must be a multiple of 8";
    }
}

/// Queues that a flow may take.
pub const WAYS: u32 = 8;

/// The largest packet that slow lines allow for, bytes.
const LARGEST: f64 = 1514.0;

/// A packet and a half must be able to wait.
fn late(target: Duration, rate: Rate) -> Duration {
    let slow = Duration::from_secs_f64(1.5 * LARGEST * 8.0 / rate.bps());
    target.max(slow.filter(|_| rate > Rate::ZERO).unwrap_or(Duration::ZERO))
}

/// The shaper at one port; its queues are those of the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cake;

impl Queue for Cake {
    type Params = CakeParams;

    const INFO: QueueInfo = QueueInfo {
        name: "cake",
        title: "CAKE-like: a shaper, a queue per flow under CoDel, fairness between hosts",
        source: "Høiland-Jørgensen, Täht, Morton 2018",
        signal: "queues that wait or have lately",
        params: &CakeParams::TABLE,
    };
    const OVERFLOW: Overflow = Overflow::Fattest;
    const SCHEDULES: bool = true;

    fn ecn(params: &CakeParams) -> bool {
        params.ecn
    }

    fn rate(params: &CakeParams) -> Option<Rate> {
        (params.rate > Rate::ZERO).then_some(params.rate)
    }

    fn new(_params: &CakeParams, _port: &PortInfo) -> Self {
        Self
    }
}
