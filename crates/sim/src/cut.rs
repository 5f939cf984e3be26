//! Cuts a network into parts that run in parallel, at links with a long delay.
//!
//! A packet needs at least the delay of its link to cross from one part to another. All parts can therefore run for the
//! shortest delay of the links between them, a *window*, before they must exchange packets. Senders and receivers
//! belong to the nodes at the ends of their paths.

use levelflow_laws::Protocol;
use levelflow_scenario::Network;
use levelflow_units::Duration;

use crate::partition::Graph;

/// Limit on window lengths to try.
const MAX_WINDOW_LENGTHS: usize = 24;

/// Assignment of links, senders and receivers to parts.
#[derive(Debug)]
pub struct Cut {
    parts: usize,
    window: Duration,
    /// Parts at the two ends of each link: the one with its queue and transmitter, and the one at its far end.
    links: Vec<[u32; 2]>,
    /// Parts at the two ends of each entry: the one with its senders, and the one with its receivers.
    entries: Vec<[u32; 2]>,
}

impl Cut {
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Time for which parts can run before they must exchange packets.
    pub fn window(&self) -> Duration {
        self.window
    }

    pub fn queue(&self, link: u32) -> usize {
        self.links[link as usize][0] as usize
    }

    pub fn far_end(&self, link: u32) -> usize {
        self.links[link as usize][1] as usize
    }

    pub fn ends(&self, entry: u32) -> [usize; 2] {
        self.entries[entry as usize].map(|part| part as usize)
    }

    /// Largest number of links from one part to other parts.
    pub fn most_exits(&self) -> usize {
        let mut exits = vec![0; self.parts];
        for [queue, _] in self.links.iter().filter(|[queue, far_end]| queue != far_end) {
            exits[*queue as usize] += 1;
        }
        exits.into_iter().max().unwrap_or_default()
    }

    /// Links from a part to other parts.
    pub fn exits(&self, part: usize) -> Vec<u32> {
        let links = 0..self.links.len() as u32;
        let leads = |&link: &u32| self.queue(link) == part && self.far_end(link) != part;
        links.filter(leads).collect()
    }

    /// Returns the largest fraction of the load in one part, and the fraction of the load that crosses between parts.
    pub fn shares(&self, loads: &[u64]) -> (f64, f64) {
        let mut by_part = vec![0; self.parts];
        let mut crossing = 0;
        for (&[queue, far_end], &load) in self.links.iter().zip(loads) {
            by_part[queue as usize] += load;
            by_part[far_end as usize] += load;
            crossing += if queue == far_end { 0 } else { load };
        }
        let sum = loads.iter().sum::<u64>().max(1) as f64;
        let largest = by_part.into_iter().max().unwrap_or_default() as f64;
        (largest / (2.0 * sum), crossing as f64 / sum)
    }
}

/// Disjoint sets of elements that must stay together (union-find).
#[derive(Debug, Clone)]
struct Sets(Vec<u32>);

impl Sets {
    fn find(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            self.0[i as usize] = self.0[self.0[i as usize] as usize];
            i = self.0[i as usize];
        }
        i
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// Nodes of a network, derived from the paths of its flows.
#[derive(Debug)]
pub struct Nodes {
    /// Disjoint sets. Element `2 i` is the queue of link `i`, and element `2 i + 1` its far end. Senders and receivers
    /// of entries follow in the same way.
    sets: Sets,
    /// Delay of each link; none if the network cannot be cut at this link.
    delays: Vec<Option<Duration>>,
    entries: usize,
}

impl Nodes {
    /// Finds the nodes of a network; `None` if it cannot be cut at all.
    pub fn of<P: Protocol>(network: &Network<P>) -> Option<Self> {
        if network.flows.iter().any(|flow| flow.session.is_some()) {
            return None; // a user requests the next page as soon as a receiver has the current one
        }
        let links = network.links.len() as u32;
        let mut sets = Sets((0..2 * (links + network.flows.len() as u32)).collect());
        let delays: Vec<_> = network.links.iter().map(cuttable).collect();
        for (i, flow) in network.flows.iter().enumerate() {
            let (sender, receiver) = (2 * (links + i as u32), 2 * (links + i as u32) + 1);
            for path in &flow.routes.paths {
                for (way, from, to) in [(&path.forward, sender, receiver), (&path.reverse, receiver, sender)] {
                    let mut at = from;
                    for &link in way {
                        sets.join(at, 2 * link);
                        at = 2 * link + 1;
                    }
                    sets.join(at, to);
                }
            }
        }
        for memory in &network.memories {
            for pair in memory.links.windows(2) {
                sets.join(2 * pair[0].0, 2 * pair[1].0);
            }
        }
        for (i, _) in delays.iter().enumerate().filter(|(_, delay)| delay.is_none()) {
            sets.join(2 * i as u32, 2 * i as u32 + 1);
        }
        let entries = network.flows.len();
        Some(Self { sets, delays, entries })
    }

    /// Window lengths worth trying, shortest first.
    pub fn windows(&self) -> Vec<Duration> {
        let mut all: Vec<_> = self.delays.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let step = all.len().div_ceil(MAX_WINDOW_LENGTHS).max(1);
        all.into_iter().step_by(step).collect()
    }

    /// Cuts the network at links with at least this delay, into parts of about equal load; `None` if there are too few
    /// nodes.
    pub fn cut(&self, window: Duration, parts: usize, loads: &[u64]) -> Option<Cut> {
        let mut sets = self.joined(window);
        let part = graph(&mut sets, loads).assign(parts)?;
        self.by(&mut sets, &part, parts, window)
    }

    /// Improves a cut, so that fewer packets cross it. The links in it still have a delay of at least one time window.
    /// `None` if a part of the new cut is empty.
    pub fn refined(&self, cut: &Cut, loads: &[u64]) -> Option<Cut> {
        let mut sets = self.joined(cut.window);
        let mut part = vec![0; sets.0.len()];
        for (i, ends) in cut.links.iter().chain(&cut.entries).enumerate() {
            for (k, &end) in ends.iter().enumerate() {
                part[sets.find((2 * i + k) as u32) as usize] = end;
            }
        }
        graph(&mut sets, loads).refine(&mut part, cut.parts);
        self.by(&mut sets, &part, cut.parts, cut.window)
    }

    /// Returns the sets that stay together if links with a delay below `window` are not cut.
    fn joined(&self, window: Duration) -> Sets {
        let mut sets = self.sets.clone();
        let links = self.delays.len() as u32;
        for link in (0..links).filter(|&link| self.delays[link as usize].is_none_or(|delay| delay < window)) {
            sets.join(2 * link, 2 * link + 1);
        }
        sets
    }

    fn by(&self, sets: &mut Sets, part: &[u32], parts: usize, window: Duration) -> Option<Cut> {
        let links = self.delays.len() as u32;
        let mut of = |pair: u32| [2 * pair, 2 * pair + 1].map(|i| part[sets.find(i) as usize]);
        let cut = Cut {
            parts,
            window,
            links: (0..links).map(&mut of).collect(),
            entries: (links..links + self.entries as u32).map(&mut of).collect(),
        };
        (0..parts as u32)
            .all(|part| cut.links.iter().flatten().any(|&other| other == part))
            .then_some(cut)
    }
}

/// Graph of the sets, connected by links.
fn graph(sets: &mut Sets, loads: &[u64]) -> Graph {
    let bound = sets.0.len();
    let nodes = (0..bound as u32).filter(|&i| sets.find(i) == i).collect();
    let mut graph = Graph::new(nodes, bound);
    for (i, &load) in loads.iter().enumerate() {
        graph.connect(sets.find(2 * i as u32), sets.find(2 * i as u32 + 1), load);
    }
    graph
}

/// Delay of a link; none if the network cannot be cut at this link.
fn cuttable<P: Protocol>(link: &levelflow_scenario::LinkSpec<P>) -> Option<Duration> {
    let is_steady = link.changes.is_empty() && link.wire.is_even();
    Some(link.wire.delay).filter(|&delay| is_steady && delay > Duration::ZERO)
}
