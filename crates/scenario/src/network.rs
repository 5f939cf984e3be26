//! Network to simulate, as described by a valid scenario.

use levelflow_laws::aqm::AnyQueueParams;
use levelflow_laws::buffers::AnyBufferParams;
use levelflow_laws::{Bottleneck, Protocol, RouterParamsOf};
use levelflow_path::Propagation;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use levelflow_wire::framing::Framing;

use crate::application::ApplicationSpec;
use crate::error::Problem;
use crate::lie::LieSpec;
use crate::traffic::{Arrivals, Dist};

/// Limit on the propagation delay of a link, and on the round-trip propagation delay of a path.
pub const LONGEST_DELAY: Duration = Duration::from_secs(24 * 3600);
/// Lowest and highest allowed line rate, in b/s.
const CAPACITY_RANGE_BPS: [f64; 2] = [1.0, 1e15];

/// Network and its traffic.
#[derive(Debug, Clone)]
pub struct Network<P: Protocol> {
    /// Simulated time.
    pub duration: Duration,
    /// Time between samples.
    pub sample: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// Limit on memory for flows and packets.
    pub memory_limit: Bytes,
    /// Limit on the events per simulated second. `None` for the default.
    pub event_limit: Option<u64>,
    /// Links, one for each direction.
    pub links: Vec<LinkSpec<P>>,
    /// Flow entries. Each entry starts one flow or several flows.
    pub flows: Vec<FlowSpec<P>>,
    /// Memories that are shared by the buffers of several links.
    pub memories: Vec<MemorySpec>,
}

/// Memory that is shared by several buffers. Each buffer has a buffer-sizing algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySpec {
    /// Size of the memory, in bytes or packets.
    pub total: f64,
    /// Index of each link, and the size of one packet in the buffer of this link. Both have the unit of `total`.
    pub links: Vec<(u32, f64)>,
}

/// One direction of a link, with its queue.
#[derive(Debug, Clone)]
pub struct LinkSpec<P: Protocol> {
    /// Unique name, which also selects the random streams of the link.
    pub name: String,
    /// Line rate.
    pub capacity: Rate,
    /// Relative error of the transmitter's clock; positive if the clock is slow.
    pub slow: f64,
    /// Delay, jitter and loss of the wire.
    pub wire: Propagation,
    /// Size of the buffer, which includes the packet in service.
    pub buffer: Buffer,
    /// Buffer-sizing algorithm, which changes the buffer during the run.
    pub algorithm: Option<AnyBufferParams>,
    /// States of the link during the run, in order of time.
    pub changes: Vec<LinkState>,
    /// True if routers measure a changed capacity from transmitted packets. False if the link notifies its routers.
    pub measured: bool,
    /// Queue discipline, which selects the packets to drop or mark.
    pub queue: AnyQueueParams,
    /// Parameters of the routers on this link, one router per signalling.
    pub routers: Vec<RouterParamsOf<P>>,
    /// True if the routers police headers.
    pub police: bool,
}

impl<P: Protocol> LinkSpec<P> {
    /// Returns the largest capacity during the run.
    #[must_use]
    pub fn largest_capacity(&self) -> Rate {
        let later = self.changes.iter().map(|state| state.capacity);
        later.fold(self.capacity, |most, rate| if rate > most { rate } else { most })
    }

    /// Returns the service rate of the link with this capacity. This is the capacity, or the rate of a shaper or
    /// policer if that is lower.
    #[must_use]
    pub fn service_rate(&self, capacity: Rate) -> Rate {
        match self.queue.rate() {
            Some(rate) if rate < capacity => rate,
            _ => capacity,
        }
    }

    /// Returns the number of bits that the link can serve from the start of the run to `until`, s.
    #[must_use]
    pub fn service_bits(&self, until: f64) -> f64 {
        let (mut bits, mut since, mut rate) = (0.0, 0.0, self.service_rate(self.capacity));
        for state in self.changes.iter().take_while(|state| state.at.as_secs_f64() < until) {
            let at = state.at.as_secs_f64();
            bits += rate.bps() * (at - since);
            (since, rate) = (at, self.service_rate(state.capacity));
        }
        bits + rate.bps() * (until - since)
    }
}

/// State of a link from the time `at` on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkState {
    /// Time at which the state begins.
    pub at: Time,
    /// Line rate; zero during an outage.
    pub capacity: Rate,
    /// Delay, jitter and loss of packets that leave the queue in this state.
    pub wire: Propagation,
}

impl LinkState {
    /// Returns true if the link is down. It then loses every packet.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.wire.loss.mean() >= 1.0
    }
}

/// Paths of the flows of one entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// All paths that flows of the entry may take. The first flow takes the first path at time zero.
    pub paths: Vec<RouteSpec>,
    /// Routing plans and their start times, in order of time. The first plan starts at time zero. A plan is a list of
    /// indices into `paths`. Flow `n` of the entry takes the path at index `n` modulo the length of the list.
    pub plans: Vec<(Time, Vec<u32>)>,
}

impl Routes {
    /// Returns the path of the first flow at time zero.
    #[must_use]
    pub fn first(&self) -> &RouteSpec {
        &self.paths[0]
    }

    /// Returns all paths of the first plan, which applies from time zero until routes change.
    pub fn at_first(&self) -> impl Iterator<Item = &RouteSpec> {
        let plan = self.plans.first().map_or(&[][..], |(_, plan)| plan);
        plan.iter().map(|&path| &self.paths[path as usize])
    }

    /// Returns true if all flows always take the same path.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.paths.len() == 1
    }
}

/// Path of a flow's packets, as indices of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteSpec {
    /// Links from sender to receiver; not empty.
    pub forward: Vec<u32>,
    /// Links from receiver to sender; not empty.
    pub reverse: Vec<u32>,
    /// Forward links that have a router of the flow's signalling.
    pub routers: Vec<u32>,
}

impl RouteSpec {
    /// Returns the total propagation delays of the forward and the reverse path.
    #[must_use]
    pub fn delays<P: Protocol>(&self, links: &[LinkSpec<P>]) -> [Duration; 2] {
        [&self.forward, &self.reverse].map(|path| {
            let delays = path.iter().map(|&l| links[l as usize].wire.delay);
            delays.fold(Duration::ZERO, |sum, delay| sum + delay)
        })
    }

    /// Returns the index of the link that a sender reports as its bottleneck. Returns `None` if the link is unknown or
    /// not on the path.
    #[must_use]
    pub fn link_of(&self, bottleneck: Bottleneck) -> Option<u32> {
        match bottleneck {
            Bottleneck::Unknown => None,
            Bottleneck::Hop(n) => self.routers.get(usize::from(n).checked_sub(1)?).copied(),
            Bottleneck::Router(id) => id.checked_sub(1).filter(|link| self.forward.contains(link)),
        }
    }
}

/// Flow entry.
#[derive(Debug, Clone)]
pub struct FlowSpec<P: Protocol> {
    /// Unique name, which also selects the random streams of the entry.
    pub name: String,
    /// Law of the senders, with its parameters.
    pub params: P::Params,
    /// Paths.
    pub routes: Routes,
    /// Numbers of the first and the last node, which are derived from the names of the nodes.
    pub ends: [u32; 2],
    /// Base round-trip time of each flow, s. `None` for the sum of the propagation delays of the links.
    pub rtt: Option<Dist>,
    /// Start time, s.
    pub start: Dist,
    /// Time at which flows stop sending.
    pub stop: Option<Time>,
    /// Latest time at which a flow may arrive.
    pub last_arrival: Option<Time>,
    /// Time for which each flow sends, s.
    pub lifetime: Option<Dist>,
    /// Payload that each flow carries, bytes. `None` if unlimited. Random values are rounded up to multiples of
    /// `size_unit`.
    pub size: Option<Dist>,
    /// Unit to which `size` is rounded up: the payload of a packet, or a byte.
    pub size_unit: Bytes,
    /// True if lost data is retransmitted.
    pub reliable: bool,
    /// Arrival process of flows or sessions.
    pub arrivals: Arrivals,
    /// Session of a user. Each arrival starts one session instead of one flow. `None` for an entry without sessions.
    pub session: Option<SessionSpec>,
    /// Application that supplies the data. `None` if the flow always has data to send.
    pub application: Option<ApplicationSpec>,
    /// Maximum size of data packets on the wire.
    pub packet: Bytes,
    /// Size of the headers of each packet. The rest of a data packet is payload.
    pub headers: Bytes,
    /// Size of ACKs and of packets that open and close flows.
    pub control: Bytes,
    /// Upper bound of the random processing time per packet at the sending host. Zero for an ideal host.
    pub overhead: Duration,
    /// Relative error of the sender's clock; positive if the clock is slow.
    pub slow: f64,
    /// Random delay of ACKs at the receiver, and withheld ACKs.
    pub ack_delay: Option<AckDelaySpec>,
    /// Lies of the hosts. `None` for honest hosts.
    pub lie: Option<LieSpec>,
}

impl<P: Protocol> FlowSpec<P> {
    /// Returns the packet sizes of the flows.
    #[must_use]
    pub fn framing(&self) -> Framing {
        Framing {
            packet: self.packet,
            headers: self.headers,
        }
    }
}

/// Session of a user who reads pages. The objects of a page start at once, each as one flow. After all objects have
/// arrived, the user waits for a think time. Then the user requests the next page.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSpec {
    /// Number of pages in a session.
    pub pages: Dist,
    /// Number of objects on a page.
    pub objects: Dist,
    /// Time between the delivery of the last object of a page and the request for the next page, s.
    pub think: Dist,
}

/// Random delay of ACKs at a receiver, and ACKs that it withholds.
#[derive(Debug, Clone, PartialEq)]
pub struct AckDelaySpec {
    /// Number of ACKs between two delayed ACKs.
    pub every: Dist,
    /// Delay of a delayed ACK, s.
    pub hold: Dist,
    /// Minimum time between two ACKs.
    pub spacing: Duration,
    /// Fraction of ACKs that the receiver withholds.
    pub withheld: f64,
}

impl AckDelaySpec {
    /// ACKs without delay.
    pub(crate) const NONE: Self = Self {
        every: Dist::Constant(f64::MAX),
        hold: Dist::Constant(0.0),
        spacing: Duration::ZERO,
        withheld: 0.0,
    };
}

/// Checks that this rate is allowed for links and applications.
pub fn check_rate(rate: Rate) -> Result<(), Problem> {
    let [low, high] = CAPACITY_RANGE_BPS.map(Rate::clamped);
    Problem::check(&rate, &(low..=high))
}

/// Checks that this delay is allowed for wires.
pub fn check_delay(delay: Duration) -> Result<(), Problem> {
    Problem::check(&delay, &(Duration::ZERO..=LONGEST_DELAY))
}
