//! What every step from a scenario to a network uses.

use levelflow_laws::{Any, AnyParams, AnyRouter, PortInfo, Protocol, RouterLaw};
use levelflow_units::{Bytes, Duration, Rate};

use crate::error::ScenarioError;
use crate::format::Link;
use crate::network::{FlowSpec, LinkSpec, RouteSpec};

/// A value, or the first mistake of a scenario.
pub type Fallible<T> = Result<T, ScenarioError>;

/// That of IP, bytes.
pub const LARGEST_PACKET: u64 = 65_535;

/// How error messages name a link: `link 1 (R1->R2)`.
pub fn link_place(i: usize, link: &Link) -> String {
    match &link.name {
        Some(name) => format!("link {} ({name})", i + 1),
        None => format!("link {} ({}->{})", i + 1, link.from, link.to),
    }
}

/// The router half of a law at a link of this capacity, as it starts.
pub fn router(capacity: Rate, params: &AnyParams) -> AnyRouter {
    AnyRouter::new(params, &PortInfo { id: 1, capacity })
}

/// Largest load that flows may reach at a link of this capacity: the smallest target of its routers, or the service rate.
pub fn target(link: &LinkSpec<Any>, capacity: Rate) -> Rate {
    let targets = link.routers.iter().map(|params| router(capacity, params).target());
    targets.fold(
        link.service_rate(capacity),
        |least, t| if t < least { t } else { least },
    )
}

/// Propagation delay there and back; `None` beyond what a duration holds.
pub fn propagation(route: &RouteSpec, links: &[LinkSpec<Any>]) -> Option<Duration> {
    let mut there_and_back = route.forward.iter().chain(&route.reverse);
    there_and_back.try_fold(Duration::ZERO, |sum, &l| sum.checked_add(links[l as usize].wire.delay))
}

/// Largest packet of a flow on a link, if it uses it.
pub fn largest_packet<P: Protocol>(flow: &FlowSpec<P>, link: u32) -> Option<Bytes> {
    let paths = &flow.routes.paths;
    let data = paths
        .iter()
        .any(|path| path.forward.contains(&link))
        .then_some(flow.packet);
    data.max(
        paths
            .iter()
            .any(|path| path.reverse.contains(&link))
            .then_some(flow.control),
    )
}
