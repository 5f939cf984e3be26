//! Routing: each path has the least sum of weights. Among paths of equal weight, the path with the least delay is
//! selected. Among paths of equal delay, the order of links in the scenario decides. Next hops set by the scenario take
//! precedence.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use crate::error::{Fallible, Place, Problem, ScenarioError};
use crate::network::{LinkSpec, Routes};
use levelflow_laws::Any;
use levelflow_random::{Stream, identity};

/// Directed graph of a scenario.
pub struct Topology<'a> {
    nodes: Vec<&'a str>,
    ids: HashMap<&'a str, usize>,
    links: &'a [LinkSpec<Any>],
    /// Start node and end node of each link.
    ends: Vec<(usize, usize)>,
    weights: Vec<u64>,
    /// Links that start at each node. The table `into` contains the links that end at each node.
    from: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    /// Next hops set by the scenario, indexed by node and destination.
    overrides: BTreeMap<(usize, usize), usize>,
    /// True if flows are distributed over paths of equal weight (ECMP).
    ecmp: bool,
}

/// Request for paths between two nodes, one for each key. A hash of the key selects among paths of equal weight.
pub struct Request<'b> {
    pub from: &'b str,
    pub to: &'b str,
    pub keys: &'b [u64],
}

/// Reason for a missing route.
#[derive(Debug, Clone, Copy)]
pub enum Blocked {
    /// One of the nodes does not exist, or both nodes are the same.
    Ends,
    Unreachable,
    Circle,
}

/// Weight and delay of the best path from a node to the destination, and the first link of this path.
type Towards = Option<(u64, u64, u32)>;

impl<'a> Topology<'a> {
    /// Creates the graph. `ends` contains the end nodes of each link.
    pub fn new(links: &'a [LinkSpec<Any>], ends: &'a [(String, String)], weights: Vec<u64>, ecmp: bool) -> Self {
        let mut topology = Self {
            nodes: Vec::new(),
            ids: HashMap::new(),
            links,
            ends: Vec::new(),
            weights,
            from: Vec::new(),
            into: Vec::new(),
            overrides: BTreeMap::new(),
            ecmp,
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

    /// Returns the node with this name.
    pub fn node(&self, place: &Place, name: &str) -> Fallible<usize> {
        self.ids.get(name).copied().ok_or_else(|| {
            let known: Vec<&str> = self.nodes.iter().take(20).copied().collect();
            place.error(Problem::unknown("the node", name, &known))
        })
    }

    /// Returns the first and the last node of these routes, as numbers derived from their names.
    pub fn ends_of(&self, routes: &Routes) -> [u32; 2] {
        let forward = &routes.first().forward;
        let end = |link: Option<&u32>| link.map_or((0, 0), |&link| self.ends[link as usize]);
        [end(forward.first()).0, end(forward.last()).1].map(|node| identity(self.nodes[node]) as u32)
    }

    /// Sets `via` as the next hop of node `at` for packets to `to`.
    pub fn add_override(&mut self, place: &Place, at: &str, to: &str, via: &str) -> Fallible<()> {
        let (at, to, via) = (self.node(place, at)?, self.node(place, to)?, self.node(place, via)?);
        self.link_between(place, at, via)?;
        self.overrides.insert((at, to), via);
        Ok(())
    }

    fn link_between(&self, place: &Place, from: usize, to: usize) -> Fallible<u32> {
        self.link_to(from, to, &|_| true).ok_or_else(|| {
            let (from, to) = (self.nodes[from], self.nodes[to]);
            let hint = "add one, or duplex = true to the link the other way";
            place.error(Problem::Route(format!(
                "there is no link from {from:?} to {to:?}; {hint}"
            )))
        })
    }

    /// Returns a link between two neighbours that is up. If there are several, returns the link with the least delay.
    fn link_to(&self, from: usize, to: usize, works: &dyn Fn(u32) -> bool) -> Option<u32> {
        let links = self.from[from].iter().copied();
        links
            .filter(|&l| self.ends[l as usize].1 == to && works(l))
            .min_by_key(|&l| self.delay(l))
    }

    fn delay(&self, link: u32) -> u64 {
        self.links[link as usize].wire.delay.as_ps()
    }

    /// Returns the links of the path that visits these nodes.
    pub fn along(&self, place: &Place, nodes: &[String]) -> Fallible<Vec<u32>> {
        if nodes.len() < 2 {
            return Err(place.error(Problem::Route("a path needs at least two nodes".into())));
        }
        let ids: Vec<usize> = nodes.iter().map(|n| self.node(place, n)).collect::<Result<_, _>>()?;
        ids.windows(2)
            .map(|pair| self.link_between(place, pair[0], pair[1]))
            .collect()
    }

    /// Finds the paths of each request over links that are up. Runs one search per destination.
    pub fn search(&self, requests: &[Request<'_>], works: &dyn Fn(u32) -> bool) -> Vec<Result<Vec<Vec<u32>>, Blocked>> {
        let mut found: Vec<_> = requests.iter().map(|_| Err(Blocked::Ends)).collect();
        let id = |name: &str| self.ids.get(name).copied();
        let read = |(i, request): (usize, &Request<'_>)| Some((id(request.to)?, id(request.from)?, i));
        let mut wanted: Vec<_> = requests.iter().enumerate().filter_map(read).collect();
        wanted.retain(|(goal, start, _)| goal != start);
        wanted.sort_unstable();
        let (mut towards, mut reached) = (vec![None; self.nodes.len()], Vec::new());
        for same_goal in wanted.chunk_by(|one, other| one.0 == other.0) {
            let starts = same_goal.iter().map(|&(_, start, _)| start).collect();
            self.distances(same_goal[0].0, starts, works, &mut towards, &mut reached);
            for &(goal, start, i) in same_goal {
                let keys = requests[i].keys.iter();
                found[i] = keys.map(|&key| self.walk(start, goal, &towards, works, key)).collect();
            }
            reached.drain(..).for_each(|node: usize| towards[node] = None);
        }
        found
    }

    /// Returns the error for a missing route between two nodes.
    pub fn blocked(&self, place: &Place, from: &str, to: &str, why: Blocked) -> ScenarioError {
        let problem = match why {
            Blocked::Ends => match (self.node(place, from), self.node(place, to)) {
                (Err(unknown), _) | (_, Err(unknown)) => return unknown,
                _ => format!("a flow cannot go from {from:?} to itself"),
            },
            Blocked::Unreachable => format!("no route from {from:?} to {to:?}; add links or set a path"),
            Blocked::Circle => format!("the next hops from {from:?} to {to:?} form a routing loop"),
        };
        place.error(Problem::Route(problem))
    }

    fn walk(
        &self,
        start: usize,
        goal: usize,
        towards: &[Towards],
        works: &dyn Fn(u32) -> bool,
        key: u64,
    ) -> Result<Vec<u32>, Blocked> {
        let mut here = start;
        let mut path = Vec::new();
        while here != goal {
            let via = self.overrides.get(&(here, goal));
            let link = via
                .and_then(|&via| self.link_to(here, via, works))
                .or_else(|| self.best_step(here, towards, works, key))
                .ok_or(Blocked::Unreachable)?;
            path.push(link);
            here = self.ends[link as usize].1;
            if path.len() > self.nodes.len() {
                return Err(Blocked::Circle);
            }
        }
        Ok(path)
    }

    /// Returns the next link on the path to the destination. If several links have the least weight, ECMP selects the
    /// link with the largest hash of link and key. A failure then moves only the flows of the failed link (rendezvous
    /// hashing: Thaler, Ravishankar 1998).
    fn best_step(&self, here: usize, towards: &[Towards], works: &dyn Fn(u32) -> bool, key: u64) -> Option<u32> {
        let (weight, _, first) = towards[here]?;
        if !self.ecmp {
            return Some(first);
        }
        let after = |l: u32| Some(self.weights[l as usize] + towards[self.ends[l as usize].1]?.0);
        let equal = |&l: &u32| works(l) && after(l) == Some(weight);
        let hash = |l: u32| Stream::new(key, "ecmp", &self.links[l as usize].name).unit();
        let equals = self.from[here].iter().copied().filter(equal);
        equals.max_by(|&a, &b| hash(a).total_cmp(&hash(b)))
    }

    /// Computes weight and delay from each node to `goal` (Dijkstra). Stops when all `starts` have values, unless the
    /// scenario sets next hops. Such next hops may lead to any node. `found` has no values at first. Adds the nodes
    /// with values to `reached`.
    fn distances(
        &self,
        goal: usize,
        mut starts: HashSet<usize>,
        works: &dyn Fn(u32) -> bool,
        found: &mut [Towards],
        reached: &mut Vec<usize>,
    ) {
        found[goal] = Some((0, 0, u32::MAX));
        reached.push(goal);
        let mut queue = BinaryHeap::from([Reverse((0, 0, goal))]);
        while let Some(Reverse((weight, delay, node))) = queue.pop() {
            if found[node].is_none_or(|(w, d, _)| (w, d) < (weight, delay)) {
                continue;
            }
            if starts.remove(&node) && starts.is_empty() && self.overrides.is_empty() {
                return;
            }
            for &l in self.into[node].iter().filter(|&&l| works(l)) {
                let from = self.ends[l as usize].0;
                let (weight, delay) = (weight + self.weights[l as usize], delay.saturating_add(self.delay(l)));
                if found[from].is_none_or(|best| (weight, delay, l) < best) {
                    if found[from].is_none_or(|(w, d, _)| (weight, delay) < (w, d)) {
                        queue.push(Reverse((weight, delay, from)));
                    }
                    if found[from].is_none() {
                        reached.push(from);
                    }
                    found[from] = Some((weight, delay, l));
                }
            }
        }
    }
}
