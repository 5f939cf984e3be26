//! CAKE-like shaper with a queue per flow and fairness between hosts. It is not the CAKE of Linux.
//!
//! Source: T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: a comprehensive queue management solution for home
//! gateways" (LANMAN 2018); `sch_cake` of Linux. Implemented features:
//!
//! - the shaper without bursts (section III-A): after a packet of `s` bytes, the next packet leaves `s / rate` later;
//! - flow queues of `sch_fq_codel` with an eight-way set-associative hash (III-B): two flows share a queue only if all
//!   eight queues of a set are in use;
//! - fairness between hosts (III-B): the quantum of a flow is divided by the number of active flows of its host. The
//!   host is the source (`isolation = "sources"`), the destination (`"destinations"`), or the host with more active
//!   flows (`"triple"`);
//! - CoDel per queue, as in [`fq_codel`](super::fq_codel). The target is at least the transmission time of 1.5 packets
//!   of 1514 bytes at `rate`;
//! - drops from the head of the longest queue when the buffer is full.
//!
//! Features that are not implemented: `DiffServ` classes (III-C), the ACK filter (III-D), framing overhead, BLUE
//! (COBALT) and NAT look-up. The page on CAKE in `docs/concepts` measures the differences from the code of Linux.

use levelflow_units::{Bytes, Duration, Rate};

use super::codel::CodelParams;
use super::{Overflow, Queue, QueueInfo};
use crate::law::PortInfo;
use crate::params::{SWITCH_RANGE, Unit, choices, parameters};

choices! {
    /// Unit of fairness.
    pub enum Isolation {
        /// Flows.
        Flows = "flows",
        /// Sources get equal shares, and then the flows of each source (`dual-srchost`); for the upstream of a home
        /// network.
        Sources = "sources",
        /// Destinations get equal shares, and then the flows of each destination (`dual-dsthost`); for the downstream
        /// of a home network.
        Destinations = "destinations",
        /// Fairness between sources and between destinations. A host gains no bandwidth by opening more flows to
        /// different peers.
        Triple = "triple",
    }
}

parameters! {
    /// Validated parameters.
    pub struct CakeParams {
        rate: Rate = Unit::Rate, 0.0, (0.0, 1e15),
            "rate of the shaper; 0 b/s for the line rate",
            "sch_cake: unlimited; set it a few percent below the rate of the next line";
        isolation: Isolation = Isolation::UNIT, 3.0, Isolation::RANGE,
            "unit of fairness: flows; or sources, destinations, or both, and then their flows",
            "sch_cake: triple-isolate";
        queues: u32 = Unit::Number, 1024.0, (8.0, 65_536.0),
            "number of flow queues (hash buckets), a multiple of 8",
            "sch_cake";
        target: Duration = Unit::Duration, 0.005, (0.0, 100.0),
            "acceptable standing queueing delay",
            "sch_cake";
        interval: Duration = Unit::Duration, 0.1, (1e-6, 100.0),
            "time above the target after which a queue drops a packet; should be about the longest round-trip time",
            "sch_cake";
        limit: u32 = Unit::Packets, 10_240.0, (1.0, 1e6),
            "largest backlog of all queues, packets",
            "sch_cake";
        memory: Bytes = Unit::Size, 4_194_304.0, (1.0, 1e12),
            "largest backlog of all queues, bytes",
            "sch_cake: at least 4 MiB";
        ecn: bool = Unit::Switch, 1.0, SWITCH_RANGE,
            "mark ECN-capable packets instead of dropping them",
            "sch_cake";
    } also {
        /// CoDel parameters of each queue.
        pub codel: CodelParams = CodelParams { target: late(target, rate), interval, ecn };
    } where {
        queues: queues.is_multiple_of(SET_ASSOCIATIVITY), "must be a multiple of 8";
    }
}

/// Associativity of the hash: number of queues that a flow may use.
pub const SET_ASSOCIATIVITY: u32 = 8;

/// Packet size for the lower bound of the target, in bytes.
const MAX_PACKET_BYTES: f64 = 1514.0;

/// Returns the larger of `target` and the transmission time of one and a half packets.
fn late(target: Duration, rate: Rate) -> Duration {
    let slow = Duration::from_secs_f64(1.5 * MAX_PACKET_BYTES * 8.0 / rate.bps());
    target.max(slow.filter(|_| rate > Rate::ZERO).unwrap_or(Duration::ZERO))
}

/// CAKE-like shaper at one port. Its queues are in `levelflow_path::Scheduler`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cake;

impl Queue for Cake {
    type Params = CakeParams;

    const INFO: QueueInfo = QueueInfo {
        name: "cake",
        title: "CAKE-like: a shaper, a queue with CoDel per flow, fairness between hosts",
        source: "Høiland-Jørgensen, Täht, Morton 2018",
        signal: "number of active queues: with a backlog, or recently with a backlog",
        params: &CakeParams::TABLE,
    };
    const OVERFLOW: Overflow = Overflow::Fattest;
    const SCHEDULES: bool = true;
    const DRAWS: bool = true;

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
