//! Cuts a network, at links with a long delay, into parts that run in parallel.
//!
//! A packet takes at least the delay of its link to move from one part to another. All parts can therefore run
//! independently for a time called a *window*: the shortest delay of the links between parts. Parts exchange packets
//! after each window. Senders and receivers belong to the first and last node of their paths.

use levelflow_laws::Protocol;
use levelflow_scenario::Network;
use levelflow_units::Duration;

use crate::id::{EntryId, Id, IdVec, LinkId, NodeId, PartId};
use crate::partition::{Assignment, Graph};

/// Limit on the number of window lengths to try.
const MAX_WINDOW_LENGTHS: usize = 24;

/// Assignment of links, senders and receivers to parts.
#[derive(Debug)]
pub struct Cut {
    parts: usize,
    window: Duration,
    /// Part that contains the queue of each link, and part that contains its far end.
    links: IdVec<LinkId, [PartId; 2]>,
    /// Part that contains the senders of each entry, and part that contains the receivers.
    entries: IdVec<EntryId, [PartId; 2]>,
}

impl Cut {
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Returns the time for which parts can run before they must exchange packets.
    pub fn window(&self) -> Duration {
        self.window
    }

    pub fn queue(&self, link: LinkId) -> usize {
        self.links[link][0].index()
    }

    pub fn far_end(&self, link: LinkId) -> usize {
        self.links[link][1].index()
    }

    pub fn ends(&self, entry: EntryId) -> [usize; 2] {
        self.entries[entry].map(PartId::index)
    }

    /// Returns the largest number of links that lead from one part to other parts.
    pub fn most_exits(&self) -> usize {
        let mut exits = IdVec::<PartId, _>::from(vec![0; self.parts]);
        for &[queue, _] in self.links.iter().filter(|[queue, far_end]| queue != far_end) {
            exits[queue] += 1;
        }
        exits.iter().copied().max().unwrap_or_default()
    }

    /// Returns the links that lead from a part to other parts.
    pub fn exits(&self, part: usize) -> Vec<LinkId> {
        let leads = |&link: &LinkId| self.queue(link) == part && self.far_end(link) != part;
        self.links.ids().filter(leads).collect()
    }

    /// Returns two fractions of the load: the largest load of one part, and the load on links between parts.
    pub fn shares(&self, loads: &[u64]) -> (f64, f64) {
        let mut by_part = IdVec::from(vec![0; self.parts]);
        let mut crossing = 0;
        for (&[queue, far_end], &load) in self.links.iter().zip(loads) {
            by_part[queue] += load;
            by_part[far_end] += load;
            crossing += if queue == far_end { 0 } else { load };
        }
        let sum = loads.iter().sum::<u64>().max(1) as f64;
        let largest = by_part.iter().copied().max().unwrap_or_default() as f64;
        (largest / (2.0 * sum), crossing as f64 / sum)
    }
}

/// Disjoint sets of elements that must be in the same part (union-find).
#[derive(Debug, Clone)]
struct Sets(IdVec<NodeId, NodeId>);

impl Sets {
    fn find(&mut self, mut i: NodeId) -> NodeId {
        while self.0[i] != i {
            self.0[i] = self.0[self.0[i]];
            i = self.0[i];
        }
        i
    }

    fn join(&mut self, a: NodeId, b: NodeId) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b);
    }

    fn join_pair(&mut self, i: usize) {
        let [a, b] = pair(i);
        self.join(a, b);
    }
}

/// Returns the two elements of link or entry number `i`. These are the queue and far end of a link, or the sender and
/// receiver of an entry. Entries are numbered after all links.
fn pair(i: usize) -> [NodeId; 2] {
    [2 * i, 2 * i + 1].map(NodeId::of)
}

/// Nodes of a network, derived from the paths of its flows.
#[derive(Debug)]
pub struct Nodes {
    /// Disjoint sets of the elements that [`pair`] numbers: queues, far ends, senders and receivers.
    sets: Sets,
    /// Delay of each link. `None` if the network cannot be cut at this link.
    delays: Vec<Option<Duration>>,
    entries: usize,
}

impl Nodes {
    /// Finds the nodes of a network. Returns `None` if the network cannot be cut.
    pub fn of<P: Protocol>(network: &Network<P>) -> Option<Self> {
        if network.flows.iter().any(|flow| flow.session.is_some()) {
            return None; // a page that has arrived may start the next page at the sender without a delay
        }
        let links = network.links.len();
        let mut sets = Sets((0..2 * (links + network.flows.len())).map(NodeId::of).collect());
        let delays: Vec<_> = network.links.iter().map(cuttable).collect();
        for (i, flow) in network.flows.iter().enumerate() {
            let [sender, receiver] = pair(links + i);
            for path in &flow.routes.paths {
                for (way, from, to) in [(&path.forward, sender, receiver), (&path.reverse, receiver, sender)] {
                    let mut at = from;
                    for &link in way {
                        let [queue, far_end] = pair(link as usize);
                        sets.join(at, queue);
                        at = far_end;
                    }
                    sets.join(at, to);
                }
            }
        }
        for memory in &network.memories {
            for links in memory.links.windows(2) {
                let [queue, other] = [links[0].0, links[1].0].map(|link| pair(link as usize)[0]);
                sets.join(queue, other);
            }
        }
        for (i, _) in delays.iter().enumerate().filter(|(_, delay)| delay.is_none()) {
            sets.join_pair(i);
        }
        let entries = network.flows.len();
        Some(Self { sets, delays, entries })
    }

    /// Returns the window lengths to try, shortest first.
    pub fn windows(&self) -> Vec<Duration> {
        let mut all: Vec<_> = self.delays.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let step = all.len().div_ceil(MAX_WINDOW_LENGTHS).max(1);
        all.into_iter().step_by(step).collect()
    }

    /// Cuts the network at links with at least this delay, into parts of about equal load. Returns `None` if the
    /// network has too few nodes.
    pub fn cut(&self, window: Duration, parts: usize, loads: &[u64]) -> Option<Cut> {
        let mut sets = self.joined(window);
        let part = graph(&mut sets, loads).assign(parts)?;
        self.by(&mut sets, &part, parts, window)
    }

    /// Improves a cut so that fewer packets move between parts. The links between parts still have a delay of at least
    /// one window. Returns `None` if a part of the new cut is empty.
    pub fn refined(&self, cut: &Cut, loads: &[u64]) -> Option<Cut> {
        let mut sets = self.joined(cut.window);
        let mut part = IdVec::from(vec![PartId(0); sets.0.len()]);
        for (i, ends) in cut.links.iter().chain(cut.entries.iter()).enumerate() {
            for (node, &end) in pair(i).into_iter().zip(ends) {
                part[sets.find(node)] = end;
            }
        }
        graph(&mut sets, loads).refine(&mut part, cut.parts);
        self.by(&mut sets, &part, cut.parts, cut.window)
    }

    /// Returns sets of elements that stay in the same part. Links with a delay below `window` are not cut.
    fn joined(&self, window: Duration) -> Sets {
        let mut sets = self.sets.clone();
        for (link, _) in self
            .delays
            .iter()
            .enumerate()
            .filter(|(_, delay)| delay.is_none_or(|delay| delay < window))
        {
            sets.join_pair(link);
        }
        sets
    }

    fn by(&self, sets: &mut Sets, part: &Assignment, parts: usize, window: Duration) -> Option<Cut> {
        let links = self.delays.len();
        let mut of = |i| pair(i).map(|node| part[sets.find(node)]);
        let cut = Cut {
            parts,
            window,
            links: (0..links).map(&mut of).collect(),
            entries: (links..links + self.entries).map(&mut of).collect(),
        };
        (0..parts)
            .map(PartId::of)
            .all(|part| cut.links.iter().flatten().any(|&other| other == part))
            .then_some(cut)
    }
}

/// Builds a graph with the sets as nodes and the links as edges.
fn graph(sets: &mut Sets, loads: &[u64]) -> Graph {
    let bound = sets.0.len();
    let nodes = sets.0.ids().filter(|&i| sets.find(i) == i).collect();
    let mut graph = Graph::new(nodes, bound);
    for (i, &load) in loads.iter().enumerate() {
        let [queue, far_end] = pair(i).map(|node| sets.find(node));
        graph.connect(queue, far_end, load);
    }
    graph
}

/// Returns the delay of a link. `None` if the network cannot be cut at this link.
fn cuttable<P: Protocol>(link: &levelflow_scenario::LinkSpec<P>) -> Option<Duration> {
    let is_steady = link.changes.is_empty() && link.wire.is_even();
    Some(link.wire.delay).filter(|&delay| is_steady && delay > Duration::ZERO)
}
