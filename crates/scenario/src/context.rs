//! Helpers for the conversion of a scenario to a network.

use levelflow_laws::{Any, AnyRouter, AnyRouterParams, PortInfo, Protocol, RouterLaw};
use levelflow_units::{Bytes, Duration, Rate};

use crate::error::Place;
use crate::format::Link;
use crate::network::{FlowSpec, LinkSpec, RouteSpec};

/// Maximum size of an IP packet, in bytes.
pub const LARGEST_PACKET: u64 = 65_535;

/// Returns the name of a link in error messages, for example `link 1 (R1->R2)`.
pub fn link_place(i: usize, link: &Link) -> Place {
    match &link.name {
        Some(name) => Place::entry("link", i, name),
        None => Place::entry("link", i, &format!("{}->{}", link.from, link.to)),
    }
}

/// Creates a router for a link with this capacity.
pub fn router(capacity: Rate, params: &AnyRouterParams) -> AnyRouter {
    AnyRouter::new(params, &PortInfo { id: 1, capacity })
}

/// Returns the target rate of a link with this capacity. This is the lowest target rate of its routers, or the service
/// rate if that is lower.
pub fn target(link: &LinkSpec<Any>, capacity: Rate) -> Rate {
    let targets = link.routers.iter().map(|params| router(capacity, params).target());
    targets.fold(
        link.service_rate(capacity),
        |least, t| if t < least { t } else { least },
    )
}

/// Returns the sum of the propagation delays of the forward and the reverse path. Returns `None` if the sum exceeds the
/// range of a duration.
pub fn propagation(route: &RouteSpec, links: &[LinkSpec<Any>]) -> Option<Duration> {
    let mut there_and_back = route.forward.iter().chain(&route.reverse);
    there_and_back.try_fold(Duration::ZERO, |sum, &l| sum.checked_add(links[l as usize].wire.delay))
}

/// Returns the size of the largest packet that crosses each link. Returns `None` for a link without flows.
pub fn largest_packets<P: Protocol>(flows: &[FlowSpec<P>], links: usize) -> Vec<Option<Bytes>> {
    let mut largest = vec![None; links];
    for flow in flows {
        for path in &flow.routes.paths {
            for (links, packet) in [(&path.forward, flow.packet), (&path.reverse, flow.control)] {
                links
                    .iter()
                    .for_each(|&l| largest[l as usize] = largest[l as usize].max(Some(packet)));
            }
        }
    }
    largest
}
