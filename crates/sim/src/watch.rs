//! Selection of the links to capture, by name.

use std::collections::BTreeMap;

use levelflow_laws::Any;
use levelflow_scenario::{Encapsulation, Place, Problem, Resolved, ScenarioError};

use crate::capture::{Capture, Watched};

impl Capture<Any> {
    /// Creates a capture of the links with these names. If `names` is empty, captures all links. Nodes are numbered in
    /// the order in which links name them.
    ///
    /// # Errors
    /// Returns an error if no link has one of the names, if packets do not have the headers that captures contain, or
    /// if a host lies.
    pub fn of(scenario: &Resolved, names: &[String]) -> Result<Self, ScenarioError> {
        if let Encapsulation::Ipv6 | Encapsulation::Quic = scenario.encapsulation {
            let why = "captures have the headers of \"ethernet+ipv4+udp\"; also allowed: \"none\"";
            return Err(Place::from("encapsulation").error(Problem::Conflict(why.into())));
        }
        let links = &scenario.network.links;
        let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Place::from("capture").error(Problem::unknown("the link", wrong, &known)));
        }
        if scenario.network.has_liars() {
            let problem = "packets of a network with lying hosts cannot be captured".to_owned();
            return Err(Place::from("capture").error(Problem::Conflict(problem)));
        }
        let mut nodes: BTreeMap<&str, u32> = BTreeMap::new();
        for name in scenario.ends.iter().flat_map(|(from, to)| [from, to]) {
            let next = nodes.len() as u32;
            nodes.entry(name).or_insert(next);
        }
        let ends = |link: u32| {
            let (from, to) = &scenario.ends[link as usize];
            (nodes[from.as_str()], nodes[to.as_str()])
        };
        let watched: Vec<Watched> = (0..)
            .zip(links)
            .filter(|(_, link)| names.is_empty() || names.contains(&link.name))
            .map(|(i, link)| Watched {
                link: i,
                name: link.name.clone(),
                capacity: link.capacity,
                nodes: ends(i),
            })
            .collect();
        let hosts = scenario.network.flows.iter().map(|flow| {
            let path = &flow.routes.first().forward;
            let end = |link: Option<&u32>| ends(link.copied().unwrap_or_default());
            (end(path.first()).0, end(path.last()).1)
        });
        Ok(Self::new(links.len(), &watched, hosts.collect()))
    }
}
