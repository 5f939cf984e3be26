//! What to simulate, after a scenario has been read and checked.

use levelflow_laws::aqm::AnyQueueParams;
use levelflow_laws::buffers::AnyBufferParams;
use levelflow_laws::{Bottleneck, Protocol};
use levelflow_path::Propagation;
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};

use crate::application::ApplicationSpec;
use crate::traffic::{Arrivals, Dist};

/// Of a link, and of a path there and back.
pub const LONGEST_DELAY: Duration = Duration::from_secs(24 * 3600);
/// Line rates, b/s.
pub const SLOWEST: f64 = 1.0;
/// See [`SLOWEST`].
pub const FASTEST: f64 = 1e15;

/// A network and its traffic.
#[derive(Debug, Clone)]
pub struct Network<P: Protocol> {
    /// How long to simulate.
    pub duration: Duration,
    /// Time between samples.
    pub sample: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// Most memory that flows and packets may take.
    pub memory_limit: Bytes,
    /// One direction each.
    pub links: Vec<LinkSpec<P>>,
    /// Flow entries; each starts one flow or many.
    pub flows: Vec<FlowSpec<P>>,
    /// Memories that buffers of links share.
    pub memories: Vec<MemorySpec>,
}

/// A memory that buffers with algorithms share.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySpec {
    /// Bytes, or packets.
    pub total: f64,
    /// Each link, by its index, and what a packet takes there.
    pub links: Vec<(u32, f64)>,
}

/// One direction of a link, with the queue in front of it.
#[derive(Debug, Clone)]
pub struct LinkSpec<P: Protocol> {
    /// Unique name; it also names the link's random streams.
    pub name: String,
    /// Line rate.
    pub capacity: Rate,
    /// By what share the transmitter's clock is slow.
    pub slow: f64,
    /// What it does to packets.
    pub wire: Propagation,
    /// Room in front of the link, the packet in service included.
    pub buffer: Buffer,
    /// What changes that while the run goes on.
    pub algorithm: Option<AnyBufferParams>,
    /// What it becomes while the run goes on, in order of time.
    pub changes: Vec<LinkState>,
    /// Whether its routers have to measure a changed capacity, from the packets that it sends; otherwise they are notified.
    pub measured: bool,
    /// Which packets the queue drops or marks.
    pub queue: AnyQueueParams,
    /// The router halves that run here.
    pub routers: Vec<P::Params>,
}

impl<P: Protocol> LinkSpec<P> {
    /// Service rate at a capacity: the capacity, or the rate of the shaper or policer before it if that is lower.
    #[must_use]
    pub fn service_rate(&self, capacity: Rate) -> Rate {
        match self.queue.rate() {
            Some(rate) if rate < capacity => rate,
            _ => capacity,
        }
    }

    /// Bits that the link can serve from the beginning to a time in seconds.
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

/// What a link is from some time on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkState {
    /// From then on.
    pub at: Time,
    /// Line rate; zero during an outage.
    pub capacity: Rate,
    /// What happens to packets that leave the queue then.
    pub wire: Propagation,
}

impl LinkState {
    /// Whether the link has failed: it loses every packet.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.wire.loss.mean() >= 1.0
    }
}

/// The paths of an entry's flows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// Every path that one of its flows takes at some time; the first is that of the first flow at time zero.
    pub paths: Vec<RouteSpec>,
    /// From a time on, the path of each flow as an index: flow `n` takes that at `n` modulo their number. In order of time;
    /// the first holds from time zero on.
    pub plans: Vec<(Time, Vec<u32>)>,
}

impl Routes {
    /// The path of the first flow at time zero.
    #[must_use]
    pub fn first(&self) -> &RouteSpec {
        &self.paths[0]
    }

    /// Every path from time zero on, until routes change.
    pub fn at_first(&self) -> impl Iterator<Item = &RouteSpec> {
        let plan = self.plans.first().map_or(&[][..], |(_, plan)| plan);
        plan.iter().map(|&path| &self.paths[path as usize])
    }

    /// Whether all flows always take the same path.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.paths.len() == 1
    }
}

/// The way of a flow's packets, as indices of links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteSpec {
    /// From sender to receiver; not empty.
    pub forward: Vec<u32>,
    /// From receiver to sender; not empty.
    pub reverse: Vec<u32>,
    /// The links on the way forward that run the router half of the flow's law.
    pub routers: Vec<u32>,
}

impl RouteSpec {
    /// Propagation delay of the links there and back.
    #[must_use]
    pub fn delays<P: Protocol>(&self, links: &[LinkSpec<P>]) -> [Duration; 2] {
        [&self.forward, &self.reverse].map(|path| {
            let delays = path.iter().map(|&l| links[l as usize].wire.delay);
            delays.fold(Duration::ZERO, |sum, delay| sum + delay)
        })
    }

    /// Index of the link that a sender names as its bottleneck; `None` if it names none of its path.
    #[must_use]
    pub fn link_of(&self, bottleneck: Bottleneck) -> Option<u32> {
        match bottleneck {
            Bottleneck::Unknown => None,
            Bottleneck::Hop(n) => self.routers.get(usize::from(n).checked_sub(1)?).copied(),
            Bottleneck::Router(id) => id.checked_sub(1).filter(|link| self.forward.contains(link)),
        }
    }
}

/// A flow entry.
#[derive(Debug, Clone)]
pub struct FlowSpec<P: Protocol> {
    /// Unique name; it also names the entry's random streams.
    pub name: String,
    /// The law that its senders follow.
    pub params: P::Params,
    /// Paths.
    pub routes: Routes,
    /// The nodes at which its flows begin and end, each a number made of its name.
    pub ends: [u32; 2],
    /// Base round trip, s, for each flow; `None`: that of the links.
    pub rtt: Option<Dist>,
    /// Start, s.
    pub start: Dist,
    /// No flow sends after this.
    pub stop: Option<Time>,
    /// No flow arrives after this.
    pub last_arrival: Option<Time>,
    /// How long each flow sends, s.
    pub lifetime: Option<Dist>,
    /// What each flow carries, bytes, rounded up to whole units; `None`: no end.
    pub size: Option<Dist>,
    /// See `size`: a packet, or a byte.
    pub size_unit: Bytes,
    /// Whether lost data is sent again.
    pub reliable: bool,
    /// How flows, or sessions, arrive.
    pub arrivals: Arrivals,
    /// What each arrival brings instead of one flow.
    pub session: Option<SessionSpec>,
    /// When there is something to send; `None`: always.
    pub application: Option<ApplicationSpec>,
    /// Largest data packet on the wire.
    pub packet: Bytes,
    /// Size of ACKs and of packets that open and close flows.
    pub control: Bytes,
    /// Longest processing time of a packet at the sending host; zero: none.
    pub overhead: Duration,
    /// Error of the sender's clock, as a share; positive if it is slow.
    pub slow: f64,
    /// Random delay of ACKs at the receiver.
    pub ack_delay: Option<AckDelaySpec>,
}

/// A user who reads pages: each page's objects arrive at once, each as a flow; when all are there, the user thinks, then
/// asks for the next page.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSpec {
    /// Pages in a session.
    pub pages: Dist,
    /// Objects on a page.
    pub objects: Dist,
    /// Time between the last object of a page and the next page, s.
    pub think: Dist,
}

/// Random delay of ACKs at a receiver.
#[derive(Debug, Clone, PartialEq)]
pub struct AckDelaySpec {
    /// ACKs between two that are delayed.
    pub every: Dist,
    /// How long one is held, s.
    pub hold: Dist,
    /// Least time between two ACKs.
    pub spacing: Duration,
}
