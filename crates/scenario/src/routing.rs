//! Static routing: fewest links, then least delay, then the order of the scenario, unless told otherwise.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::error::{ScenarioError, unknown_key};
use crate::network::LinkSpec;
use levelflow_laws::Any;

/// The directed graph of a scenario.
pub struct Topology<'a> {
    nodes: Vec<&'a str>,
    ids: HashMap<&'a str, usize>,
    /// (from, to) of each link.
    ends: Vec<(usize, usize)>,
    delays: Vec<u64>,
    /// Links that begin at each node, and that end there.
    from: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    /// At (node, destination): neighbour.
    overrides: BTreeMap<(usize, usize), usize>,
    /// From one node to another, as found by [`Topology::search`].
    routes: HashMap<(usize, usize), Result<Vec<u32>, Blocked>>,
}

/// Why there is no route.
#[derive(Debug, Clone, Copy)]
enum Blocked {
    Unreachable,
    Circle,
    /// The next hop, from one node to another, has no link.
    NoLink(usize, usize),
}

impl<'a> Topology<'a> {
    /// Links with their end nodes.
    pub fn new(links: &'a [LinkSpec<Any>], ends: &'a [(String, String)]) -> Self {
        let mut topology = Self {
            nodes: Vec::new(),
            ids: HashMap::new(),
            ends: Vec::new(),
            delays: links.iter().map(|l| l.wire.delay.as_ps()).collect(),
            from: Vec::new(),
            into: Vec::new(),
            overrides: BTreeMap::new(),
            routes: HashMap::new(),
        };
        for (link, (from, to)) in ends.iter().enumerate() {
            let pair = (topology.intern(from), topology.intern(to));
            topology.ends.push(pair);
            topology.from[pair.0].push(link as u32);
            topology.into[pair.1].push(link as u32);
        }
        topology
    }

    fn intern(&mut self, name: &'a str) -> usize {
        let Self {
            nodes, ids, from, into, ..
        } = self;
        *ids.entry(name).or_insert_with(|| {
            nodes.push(name);
            from.push(Vec::new());
            into.push(Vec::new());
            nodes.len() - 1
        })
    }

    /// The node of this name.
    pub fn node(&self, place: &str, name: &str) -> Result<usize, ScenarioError> {
        self.ids.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.nodes.iter().take(20).copied().collect();
            ScenarioError::at(place, format!("the node {}", unknown_key(name, &known)))
        })
    }

    /// Makes packets for `to` go from `at` to its neighbour `via`.
    pub fn add_override(&mut self, place: &str, at: &str, to: &str, via: &str) -> Result<(), ScenarioError> {
        let (at, to, via) = (self.node(place, at)?, self.node(place, to)?, self.node(place, via)?);
        self.link_between(place, at, via)?;
        self.overrides.insert((at, to), via);
        Ok(())
    }

    fn link_between(&self, place: &str, from: usize, to: usize) -> Result<u32, ScenarioError> {
        self.link_to(from, to).ok_or_else(|| self.no_link(place, from, to))
    }

    fn no_link(&self, place: &str, from: usize, to: usize) -> ScenarioError {
        let (from, to) = (self.nodes[from], self.nodes[to]);
        let hint = "add one, or duplex = true to the link the other way";
        ScenarioError::at(place, format!("there is no link from {from:?} to {to:?}; {hint}"))
    }

    /// The link with the least delay between neighbours.
    fn link_to(&self, from: usize, to: usize) -> Option<u32> {
        let links = self.from[from].iter().copied();
        links
            .filter(|&l| self.ends[l as usize].1 == to)
            .min_by_key(|&l| self.delays[l as usize])
    }

    /// The links along these nodes.
    pub fn along(&self, place: &str, nodes: &[String]) -> Result<Vec<u32>, ScenarioError> {
        if nodes.len() < 2 {
            return Err(ScenarioError::at(place, "a path needs at least two nodes"));
        }
        let ids: Vec<usize> = nodes.iter().map(|n| self.node(place, n)).collect::<Result<_, _>>()?;
        ids.windows(2)
            .map(|pair| self.link_between(place, pair[0], pair[1]))
            .collect()
    }

    /// Finds the routes between pairs of nodes, by one search for each node where some end. Unknown names are left out.
    pub fn search<'b>(&mut self, pairs: impl Iterator<Item = (&'b str, &'b str)>) {
        let id = |name| self.ids.get(name).copied();
        let mut pairs: Vec<_> = pairs.filter_map(|(from, to)| Some((id(to)?, id(from)?))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        for same_goal in pairs.chunk_by(|one, other| one.0 == other.0) {
            let towards = self.distances(same_goal[0].0);
            for &(goal, start) in same_goal {
                let route = self.walk(start, goal, &towards);
                self.routes.insert((start, goal), route);
            }
        }
    }

    /// The links from one node to another, between which a route was searched for.
    pub fn shortest(&self, place: &str, from: &str, to: &str) -> Result<Vec<u32>, ScenarioError> {
        let ends = (self.node(place, from)?, self.node(place, to)?);
        let problem = if ends.0 == ends.1 {
            format!("a flow cannot go from {from:?} to itself")
        } else {
            match self
                .routes
                .get(&ends)
                .expect("flows say where they go before the search")
            {
                Ok(links) => return Ok(links.clone()),
                Err(Blocked::NoLink(at, via)) => return Err(self.no_link(place, *at, *via)),
                Err(Blocked::Unreachable) => format!("no route from {from:?} to {to:?}; add links or set a path"),
                Err(Blocked::Circle) => format!("the next hops from {from:?} to {to:?} go round in a circle"),
            }
        };
        Err(ScenarioError::at(place, problem))
    }

    fn walk(&self, start: usize, goal: usize, towards: &[Option<(u32, u64)>]) -> Result<Vec<u32>, Blocked> {
        let mut here = start;
        let mut links = Vec::new();
        while here != goal {
            let link = match self.overrides.get(&(here, goal)) {
                Some(&via) => self.link_to(here, via).ok_or(Blocked::NoLink(here, via))?,
                None => self.best_step(here, towards).ok_or(Blocked::Unreachable)?,
            };
            links.push(link);
            here = self.ends[link as usize].1;
            if links.len() > self.nodes.len() {
                return Err(Blocked::Circle);
            }
        }
        Ok(links)
    }

    fn best_step(&self, here: usize, towards: &[Option<(u32, u64)>]) -> Option<u32> {
        let hops = towards[here]?.0;
        let after = |l: u32| towards[self.ends[l as usize].1];
        let closer = |&l: &u32| after(l).is_some_and(|(h, _)| h + 1 == hops);
        let cost = |&l: &u32| self.delays[l as usize].saturating_add(after(l).map_or(0, |(_, d)| d));
        self.from[here].iter().copied().filter(closer).min_by_key(cost)
    }

    /// Hops, and least delay at that many hops, from each node to `goal`.
    fn distances(&self, goal: usize) -> Vec<Option<(u32, u64)>> {
        let mut found: Vec<Option<(u32, u64)>> = vec![None; self.nodes.len()];
        found[goal] = Some((0, 0));
        let mut queue = VecDeque::from([goal]);
        while let Some(node) = queue.pop_front() {
            let (hops, delay) = found[node].expect("queued nodes have been reached");
            for &l in &self.into[node] {
                let l = l as usize;
                let (from, candidate) = (self.ends[l].0, (hops + 1, delay.saturating_add(self.delays[l])));
                if found[from].is_none() {
                    queue.push_back(from);
                }
                if found[from].is_none_or(|best| candidate < best) {
                    found[from] = Some(candidate);
                }
            }
        }
        found
    }
}
