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
    /// At (node, destination): neighbour.
    overrides: BTreeMap<(usize, usize), usize>,
}

impl<'a> Topology<'a> {
    /// Links with their end nodes.
    pub fn new(links: &'a [LinkSpec<Any>], ends: &'a [(String, String)]) -> Self {
        let mut topology = Self {
            nodes: Vec::new(),
            ids: HashMap::new(),
            ends: Vec::new(),
            delays: links.iter().map(|l| l.delay.as_ps()).collect(),
            overrides: BTreeMap::new(),
        };
        for (from, to) in ends {
            let pair = (topology.intern(from), topology.intern(to));
            topology.ends.push(pair);
        }
        topology
    }

    fn intern(&mut self, name: &'a str) -> usize {
        let Self { nodes, ids, .. } = self;
        *ids.entry(name).or_insert_with(|| {
            nodes.push(name);
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
        let found = (0..self.ends.len())
            .filter(|&l| self.ends[l] == (from, to))
            .min_by_key(|&l| self.delays[l]);
        found.map(|l| l as u32).ok_or_else(|| {
            let (from, to) = (self.nodes[from], self.nodes[to]);
            let hint = "add one, or duplex = true to the link the other way";
            ScenarioError::at(place, format!("there is no link from {from:?} to {to:?}; {hint}"))
        })
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

    /// The links from one node to another.
    pub fn shortest(&self, place: &str, from: &str, to: &str) -> Result<Vec<u32>, ScenarioError> {
        let (start, goal) = (self.node(place, from)?, self.node(place, to)?);
        let nowhere = || {
            ScenarioError::at(
                place,
                format!("no route from {from:?} to {to:?}; add links or set a path"),
            )
        };
        if start == goal {
            return Err(ScenarioError::at(
                place,
                format!("a flow cannot go from {from:?} to itself"),
            ));
        }
        let towards = self.distances(goal);
        let mut here = start;
        let mut links = Vec::new();
        while here != goal {
            let link = match self.overrides.get(&(here, goal)) {
                Some(&via) => self.link_between(place, here, via)?,
                None => self.best_step(here, &towards).ok_or_else(nowhere)?,
            };
            links.push(link);
            here = self.ends[link as usize].1;
            if links.len() > self.nodes.len() {
                let problem = format!("the next hops from {from:?} to {to:?} go round in a circle");
                return Err(ScenarioError::at(place, problem));
            }
        }
        Ok(links)
    }

    fn best_step(&self, here: usize, towards: &[Option<(u32, u64)>]) -> Option<u32> {
        let hops = towards[here]?.0;
        let closer = |l: &usize| {
            let (from, to) = self.ends[*l];
            from == here && towards[to].is_some_and(|(h, _)| h + 1 == hops)
        };
        let cost = |l: &usize| self.delays[*l].saturating_add(towards[self.ends[*l].1].map_or(0, |(_, d)| d));
        (0..self.ends.len()).filter(closer).min_by_key(cost).map(|l| l as u32)
    }

    /// Hops, and least delay at that many hops, from each node to `goal`.
    fn distances(&self, goal: usize) -> Vec<Option<(u32, u64)>> {
        let mut found: Vec<Option<(u32, u64)>> = vec![None; self.nodes.len()];
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (l, &(_, to)) in self.ends.iter().enumerate() {
            into[to].push(l);
        }
        found[goal] = Some((0, 0));
        let mut queue = VecDeque::from([goal]);
        while let Some(node) = queue.pop_front() {
            let (hops, delay) = found[node].expect("queued nodes have been reached");
            for &l in &into[node] {
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
