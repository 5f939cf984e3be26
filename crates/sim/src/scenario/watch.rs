//! Which links to capture, by name.

use std::collections::BTreeMap;

use levelflow_laws::Any;

use super::Resolved;
use super::error::{ScenarioError, unknown_key};
use super::resolve::Fallible;
use crate::capture::{Capture, Watched};

impl Resolved {
    /// A capture of the links with these names, all if there are none. Nodes have numbers in the order in which links name
    /// them.
    ///
    /// # Errors
    /// When no link has such a name.
    pub fn capture(&self, names: &[String]) -> Fallible<Capture<Any>> {
        let links = &self.network.links;
        let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        if let Some(wrong) = names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(ScenarioError::at(
                "capture",
                format!("the link {}", unknown_key(wrong, &known)),
            ));
        }
        let mut nodes: BTreeMap<&str, u32> = BTreeMap::new();
        for name in self.ends.iter().flat_map(|(from, to)| [from, to]) {
            let next = nodes.len() as u32;
            nodes.entry(name).or_insert(next);
        }
        let ends = |link: u32| {
            let (from, to) = &self.ends[link as usize];
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
        let hosts = self.network.flows.iter().map(|flow| {
            let path = &flow.route.forward;
            let end = |link: Option<&u32>| ends(link.copied().unwrap_or_default());
            (end(path.first()).0, end(path.last()).1)
        });
        Ok(Capture::new(links.len(), &watched, hosts.collect()))
    }
}
