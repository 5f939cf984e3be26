//! Paths of all flows at the start and after each failure or repair of a link.

use std::collections::BTreeSet;

use levelflow_laws::Any;
use levelflow_random::Stream;
use levelflow_units::Time;

use crate::context::propagation;
use crate::error::{Fallible, Place, Problem};
use crate::format::{ArrivalProcess, Flow, Routing, Scenario};
use crate::network::{LONGEST_DELAY, LinkSpec, RouteSpec, Routes};
use crate::routing::{Request, Topology};

/// Number of hashes per entry that select among paths of equal weight. Later flows reuse these hashes.
const MAX_HASHED_FLOWS: u64 = 256;
/// Limit on path searches in a scenario.
const MOST_SEARCHES: usize = 10_000_000;

/// Requirements of a flow entry for its paths.
struct Wanted<'a> {
    place: &'a Place,
    ends: [&'a str; 2],
    /// Forward and reverse path. `None` if the flow does not specify the path.
    pinned: [Option<Vec<u32>>; 2],
    /// Hash keys. Each key selects one path.
    keys: Vec<u64>,
}

impl Scenario {
    /// Reads the paths of all flows. `places` contains the names of flows in error messages.
    pub(crate) fn read_routes(
        &self,
        places: &[Place],
        links: &[LinkSpec<Any>],
        topology: &Topology<'_>,
    ) -> Fallible<Vec<Fallible<Routes>>> {
        let wanted: Vec<_> = self
            .flow
            .iter()
            .zip(places)
            .map(|(flow, place)| self.wanted(place, flow, topology))
            .collect();
        let times = self.times(links)?;
        if times.len().saturating_mul(self.flow.len()) > MOST_SEARCHES {
            let problem = format!(
                "routes change {} times for {} flow entries; allowed: a product of up to {MOST_SEARCHES}",
                times.len(),
                self.flow.len()
            );
            return Err(Place::from("reroute").error(Problem::Value(problem)));
        }
        let mut routes: Vec<_> = wanted.iter().map(|_| Ok(Routes::default())).collect();
        for (from, down) in times {
            let works = |link: u32| !down.contains(&link);
            let requests: Vec<_> = wanted.iter().flatten().flat_map(Wanted::requests).collect();
            let mut found = topology.search(&requests, &works).into_iter();
            for (wanted, routes) in wanted.iter().zip(&mut routes) {
                let Ok(wanted) = wanted else { continue };
                let both = [found.next(), found.next()].map(|found| found.unwrap_or(Ok(Vec::new())));
                let Ok(known) = routes else { continue };
                match wanted.paths(topology, both) {
                    Ok(paths) => known.set(from, paths),
                    Err(blocked) if known.paths.is_empty() => *routes = Err(blocked),
                    // If no path is found, the flow keeps its previous path.
                    Err(_) => {}
                }
            }
        }
        let checked = wanted.into_iter().zip(routes).map(|(wanted, routes)| {
            let (wanted, routes) = (wanted?, routes?);
            if routes
                .paths
                .iter()
                .any(|path| propagation(path, links).is_none_or(|delay| delay > LONGEST_DELAY))
            {
                let problem = format!("the round-trip propagation delay is longer than {LONGEST_DELAY}");
                return Err(wanted.place.error(Problem::Route(problem)));
            }
            Ok(routes)
        });
        Ok(checked.collect())
    }

    /// Returns the times at which routes change, each with the links that are down from then on.
    fn times(&self, links: &[LinkSpec<Any>]) -> Fallible<Vec<(Time, BTreeSet<u32>)>> {
        let mut times = vec![(Time::ZERO, BTreeSet::new())];
        let Some(reroute) = self.reroute else { return Ok(times) };
        let mut changes = Vec::new();
        for (link, spec) in (0..).zip(links) {
            let mut down = false;
            for state in &spec.changes {
                if std::mem::replace(&mut down, state.is_down()) != down {
                    changes.push((state.at.saturating_add(reroute), link, down));
                }
            }
        }
        if changes.is_empty() {
            let problem = Problem::Conflict("needs a link that fails: changes with down = true".into());
            return Err(Place::from("reroute").error(problem));
        }
        changes.sort_unstable();
        for same_time in changes.chunk_by(|one, other| one.0 == other.0) {
            let mut down = times[times.len() - 1].1.clone();
            for &(_, link, fails) in same_time {
                if fails {
                    down.insert(link)
                } else {
                    down.remove(&link)
                };
            }
            times.push((same_time[0].0, down));
        }
        Ok(times)
    }

    fn wanted<'a>(&self, place: &'a Place, flow: &'a Flow, topology: &Topology<'_>) -> Fallible<Wanted<'a>> {
        let Flow {
            from,
            to,
            path,
            reverse_path,
            ..
        } = flow;
        let wrong = |key: &str, problem| place.key(key).error(Problem::Route(problem));
        let end = |key: &str, given: &'a Option<String>, on_path: Option<&'a String>| match (given, on_path) {
            (Some(name), Some(node)) if name != node => Err(wrong(
                key,
                format!("{name:?} differs from the node at this end of path, {node:?}"),
            )),
            (Some(name), _) | (None, Some(name)) => Ok(name.as_str()),
            (None, None) => {
                let problem = Problem::Missing("is missing; write from and to, or a path".into());
                Err(place.key(key).error(problem))
            }
        };
        let first = end("from", from, path.as_ref().and_then(|p| p.first()))?;
        let last = end("to", to, path.as_ref().and_then(|p| p.last()))?;
        let along = |key: &str, nodes: &Option<Vec<String>>| {
            nodes
                .as_ref()
                .map(|nodes| topology.along(&place.key(key), nodes))
                .transpose()
        };
        let there = along("path", path)?;
        if let Some(nodes) = reverse_path
            && [nodes.first(), nodes.last()].map(|node| node.map(String::as_str)) != [Some(last), Some(first)]
        {
            return Err(wrong(
                "reverse_path",
                format!("must lead from {last:?} back to {first:?}"),
            ));
        }
        let back = along("reverse_path", reverse_path)?;
        let hashes = match (self.routing, &flow.arrivals) {
            (Routing::Shortest, _) => 1,
            (Routing::Ecmp, None) => flow.count.unwrap_or(1),
            (Routing::Ecmp, Some(ArrivalProcess::Times(times))) => times.len() as u64,
            (Routing::Ecmp, Some(ArrivalProcess::Transfers(all))) => all.len() as u64,
            (Routing::Ecmp, Some(_)) => MAX_HASHED_FLOWS,
        };
        let key = |n: u64| {
            Stream::new(self.seed, "route", &format!("{}.{n}", flow.name))
                .unit()
                .to_bits()
        };
        Ok(Wanted {
            place,
            ends: [first, last],
            pinned: [there, back],
            keys: (0..hashes.clamp(1, MAX_HASHED_FLOWS)).map(key).collect(),
        })
    }
}

impl Wanted<'_> {
    fn requests(&self) -> [Request<'_>; 2] {
        let [first, last] = self.ends;
        [(first, last), (last, first)].map(|(from, to)| Request {
            from,
            to,
            keys: &self.keys,
        })
    }

    /// Returns one forward and one reverse path for each hash key.
    fn paths(
        &self,
        topology: &Topology<'_>,
        found: [Result<Vec<Vec<u32>>, crate::routing::Blocked>; 2],
    ) -> Fallible<Vec<RouteSpec>> {
        let [there, back] = found;
        let [first, last] = self.ends;
        let choose = |pinned: &Option<Vec<u32>>, found: Result<Vec<Vec<u32>>, _>, place: &Place, from, to| match pinned
        {
            Some(path) => Ok(vec![path.clone(); self.keys.len()]),
            None => found.map_err(|why| topology.blocked(place, from, to, why)),
        };
        let there = choose(&self.pinned[0], there, self.place, first, last)?;
        let back = choose(&self.pinned[1], back, &self.place.key("way back"), last, first)?;
        let path = |(forward, reverse)| RouteSpec {
            forward,
            reverse,
            routers: Vec::new(),
        };
        Ok(there.into_iter().zip(back).map(path).collect())
    }
}

impl Routes {
    /// Sets the paths of the flows from the time `from` on.
    fn set(&mut self, from: Time, paths: Vec<RouteSpec>) {
        let mut plan = Vec::new();
        for path in paths {
            let known = self.paths.iter().position(|p| *p == path);
            plan.push(known.unwrap_or(self.paths.len()) as u32);
            if known.is_none() {
                self.paths.push(path);
            }
        }
        if self.plans.last().is_none_or(|(_, last)| *last != plan) {
            self.plans.push((from, plan));
        }
    }
}
