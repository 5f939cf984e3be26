//! Partitions a graph into parts of about equal load, with little traffic between parts. Nodes are assigned in the
//! order of a breadth-first search, then moved one by one. Source: Fiduccia and Mattheyses, *A linear-time heuristic
//! for improving network partitions*, DAC 1982.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::id::{IdVec, NodeId, PartId};

/// Largest number of nodes of a graph in which single nodes are moved.
const MAX_NODES: usize = 20_000;
/// Limit on passes over all possible moves.
const MAX_PASSES: usize = 8;
/// Number of consecutive moves without improvement after which a pass ends.
const MAX_FRUITLESS_MOVES: usize = 200;
/// Limit on the excess load of a part: mean load divided by this number.
const IMBALANCE_DIVISOR: u64 = 50;

/// Nodes with loads, and the traffic between them. The node numbers are not contiguous.
#[derive(Debug)]
pub struct Graph {
    nodes: Vec<NodeId>,
    /// Load of each node.
    loads: IdVec<NodeId, u64>,
    /// Neighbours of each node, and the traffic to each neighbour.
    neighbours: IdVec<NodeId, Vec<(NodeId, u64)>>,
}

/// Part of each node.
pub type Assignment = IdVec<NodeId, PartId>;

/// Possible move of a node: reduction in traffic between parts, node, and new part.
type Move = (i64, Reverse<NodeId>, PartId);

impl Graph {
    /// Creates a graph with these nodes and without edges. Each node number is below `bound`.
    pub fn new(nodes: Vec<NodeId>, bound: usize) -> Self {
        Self {
            nodes,
            loads: vec![0; bound].into(),
            neighbours: vec![Vec::new(); bound].into(),
        }
    }

    /// Adds traffic between two nodes. If `a` and `b` are equal, adds traffic within a node. The traffic is a load for
    /// both nodes.
    pub fn connect(&mut self, a: NodeId, b: NodeId, load: u64) {
        self.loads[a] += load;
        self.loads[b] += load;
        if a != b {
            self.neighbours[a].push((b, load));
            self.neighbours[b].push((a, load));
        }
    }

    /// Assigns nodes to parts in the order of a breadth-first search from the edge of the graph. Each part has about
    /// equal load. Returns `None` if the graph has fewer nodes than parts.
    pub fn assign(&self, parts: usize) -> Option<Assignment> {
        if self.nodes.len() < parts {
            return None;
        }
        let first = *self.searched(&[]).last()?;
        let mut part = IdVec::from(vec![PartId(0); self.loads.len()]);
        let (sum, mut before) = (self.sum().max(1), 0);
        for node in self.searched(&[first]) {
            let middle = before + self.loads[node] / 2;
            let share = u128::from(middle) * parts as u128 / u128::from(sum);
            part[node] = PartId((share as u32).min(parts as u32 - 1));
            before += self.loads[node];
        }
        Some(part)
    }

    /// Moves nodes between parts while this reduces the traffic between parts. The largest load of a part does not
    /// increase, except to slightly above the mean. A large graph is not changed, because the time grows faster than
    /// the graph.
    pub fn refine(&self, part: &mut Assignment, parts: usize) {
        if self.nodes.len() > MAX_NODES {
            return;
        }
        for _ in 0..MAX_PASSES {
            if !self.pass(part, parts) {
                return;
            }
        }
    }

    /// Moves each node at most once. The move with the largest gain comes first. Then undoes the moves after the best
    /// state. Returns true if the traffic between parts has decreased.
    fn pass(&self, part: &mut Assignment, parts: usize) -> bool {
        let mut loads = IdVec::from(vec![0; parts]);
        for &node in &self.nodes {
            loads[part[node]] += self.loads[node];
        }
        let mean = self.sum() / parts as u64;
        let most = loads
            .iter()
            .copied()
            .max()
            .unwrap_or_default()
            .max(mean + mean / IMBALANCE_DIVISOR);
        let heaviest = self.loads.iter().max().copied().unwrap_or_default();
        let on_the_way = most.max(mean + heaviest); // load limit during a pass: a swap takes two moves
        let mut moves: BinaryHeap<Move> = self.nodes.iter().flat_map(|&node| self.moves(node, part)).collect();
        let mut full: IdVec<PartId, Vec<Move>> = vec![Vec::new(); parts].into();
        let mut moved = IdVec::from(vec![false; part.len()]);
        let (mut made, mut kept) = (Vec::new(), 0);
        let (mut gained, mut best) = (0, 0);
        while let Some((gain, Reverse(node), to)) = moves.pop() {
            let from = part[node];
            if moved[node] || gain != self.gain(node, to, part) {
                continue;
            }
            if loads[to] + self.loads[node] > on_the_way {
                full[to].push((gain, Reverse(node), to));
                continue;
            }
            loads[from] -= self.loads[node];
            loads[to] += self.loads[node];
            (part[node], moved[node]) = (to, true);
            made.push((node, from));
            gained += gain;
            if gained > best && loads.iter().all(|&load| load <= most) {
                (best, kept) = (gained, made.len());
            } else if made.len() - kept > MAX_FRUITLESS_MOVES {
                break;
            }
            moves.extend(full[from].drain(..));
            let beside = self.neighbours[node].iter().filter(|&&(other, _)| !moved[other]);
            moves.extend(beside.flat_map(|&(other, _)| self.moves(other, part)));
        }
        for (node, from) in made.drain(kept..).rev() {
            part[node] = from;
        }
        best > 0
    }

    /// Returns the moves of a node to the parts of its neighbours.
    fn moves<'a>(&'a self, node: NodeId, part: &'a Assignment) -> impl Iterator<Item = Move> + 'a {
        let own = part[node];
        let mut others: Vec<PartId> = self.neighbours[node].iter().map(|&(other, _)| part[other]).collect();
        others.sort_unstable();
        others.dedup();
        let others = others.into_iter().filter(move |&other| other != own);
        others.map(move |to| (self.gain(node, to, part), Reverse(node), to))
    }

    /// Returns the reduction in traffic between parts if the node moves.
    fn gain(&self, node: NodeId, to: PartId, part: &Assignment) -> i64 {
        let own = part[node];
        let passes = |&(other, load): &(NodeId, u64)| match part[other] {
            at if at == to => load.cast_signed(),
            at if at == own => -load.cast_signed(),
            _ => 0,
        };
        self.neighbours[node].iter().map(passes).sum()
    }

    fn sum(&self) -> u64 {
        self.loads.iter().sum()
    }

    /// Returns the nodes in breadth-first order, starting from `first`.
    fn searched(&self, first: &[NodeId]) -> Vec<NodeId> {
        let mut seen = IdVec::from(vec![false; self.loads.len()]);
        let mut order = Vec::new();
        for &root in first.iter().chain(&self.nodes) {
            let mut queue = VecDeque::from([root]);
            while let Some(node) = queue.pop_front() {
                if std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                order.push(node);
                let neighbours = self.neighbours[node].iter().map(|&(other, _)| other);
                queue.extend(neighbours.filter(|&other| !seen[other]));
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::id::Id;

    fn graph(nodes: u32, edges: &[(u32, u32, u64)]) -> Graph {
        let mut graph = Graph::new((0..nodes).map(NodeId).collect(), nodes as usize);
        for &(a, b, load) in edges {
            graph.connect(NodeId(a), NodeId(b), load);
        }
        graph
    }

    fn crossing(edges: &[(u32, u32, u64)], part: &Assignment) -> u64 {
        let crosses = |&&(a, b, _): &&(u32, u32, u64)| part[NodeId(a)] != part[NodeId(b)];
        edges.iter().filter(crosses).map(|&(_, _, load)| load).sum()
    }

    fn largest(edges: &[(u32, u32, u64)], part: &Assignment, parts: usize) -> u64 {
        let of = |k| {
            let ends = edges.iter().flat_map(|&(a, b, load)| [(a, load), (b, load)]);
            ends.filter(|&(node, _)| part[NodeId(node)] == k)
                .map(|(_, load)| load)
                .sum()
        };
        (0..parts as u32).map(PartId).map(of).max().unwrap_or_default()
    }

    /// Two cliques of six nodes, joined by one edge. Nodes are assigned to parts alternately. No single move leads to
    /// the best cut.
    #[test]
    fn cliques_are_put_together() {
        let pairs = |first: u32| (first..first + 6).flat_map(move |a| (a + 1..first + 6).map(move |b| (a, b, 1)));
        let edges: Vec<_> = pairs(0).chain(pairs(6)).chain([(5, 6, 1)]).collect();
        let mut part: Assignment = (0..12).map(|i| PartId(i % 2)).collect();
        graph(12, &edges).refine(&mut part, 2);
        assert_eq!(crossing(&edges, &part), 1, "{part:?}");
    }

    /// Two hubs with leaves that are assigned to parts alternately. Each move of a leaf changes the gain of its hub.
    #[test]
    fn leaves_go_to_their_hubs() {
        let nodes = 4000;
        let edges: Vec<_> = (2..nodes).map(|leaf| (leaf / 2 % 2, leaf, 1)).collect();
        let mut part: Assignment = (0..nodes).map(|i| PartId(i % 2)).collect();
        graph(nodes, &edges).refine(&mut part, 2);
        assert_eq!(crossing(&edges, &part), 0);
    }

    proptest! {
        #[test]
        fn less_crosses_and_no_part_is_too_large(
            edges in prop::collection::vec((0_u32..30, 0_u32..30, 0_u64..100), 1..120),
            parts in 2_usize..6,
        ) {
            let graph = graph(30, &edges);
            let before = graph.assign(parts).expect("more nodes than parts");
            let mut after = before.clone();
            graph.refine(&mut after, parts);
            prop_assert!(crossing(&edges, &after) <= crossing(&edges, &before));
            let mean = graph.sum() / parts as u64;
            let most = largest(&edges, &before, parts).max(mean + mean / IMBALANCE_DIVISOR);
            prop_assert!(largest(&edges, &after, parts) <= most);
            prop_assert!(after.iter().all(|&part| part.index() < parts));
        }
    }
}
