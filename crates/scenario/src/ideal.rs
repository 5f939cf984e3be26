//! Ideal completion times: what a transfer takes in an idle network, from a sender that fills its path.

use levelflow_laws::Protocol;
use levelflow_laws::aqm::AnyQueueParams;
use levelflow_units::{Bytes, Duration, Rate};

use crate::network::{LinkSpec, RouteSpec};
use crate::schedule::RoundTrip;

/// A path as an idle network offers it: of links that change, the largest capacity and the shortest delay.
#[derive(Debug, Clone, PartialEq)]
pub struct IdealPath {
    /// Links of the way there.
    links: Vec<IdealLink>,
    /// Propagation delay of the way there, s.
    there: f64,
    /// Round trip of the handshake beyond the delay at the hosts, s; zero without a handshake.
    opening: f64,
    handshake: bool,
}

/// Times of a link per byte, s.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IdealLink {
    /// Transmission of a packet.
    transmission: f64,
    /// From the start of one packet to the start of the next: longer than the transmission behind a shaper.
    spacing: f64,
}

impl IdealLink {
    fn new<P: Protocol>(link: &LinkSpec<P>) -> Self {
        let capacities = link.changes.iter().map(|state| state.capacity.bps());
        let transmission = 8.0 / capacities.fold(link.capacity.bps(), f64::max);
        let shaped = match &link.queue {
            AnyQueueParams::Cake(shaper) if shaper.rate > Rate::ZERO => 8.0 / shaper.rate.bps(),
            _ => 0.0,
        };
        Self {
            transmission,
            spacing: transmission.max(shaped),
        }
    }
}

/// Shortest propagation delay of a link, s.
fn shortest_delay<P: Protocol>(link: &LinkSpec<P>) -> f64 {
    let delays = link.changes.iter().map(|state| state.wire.delay);
    delays.fold(link.wire.delay, Duration::min).as_secs_f64()
}

impl IdealPath {
    /// The path of a route; packets that open a flow have the size `control`, if there is a handshake.
    #[must_use]
    pub fn new<P: Protocol>(links: &[LinkSpec<P>], route: &RouteSpec, control: Bytes, handshake: bool) -> Self {
        let of = |path: &[u32]| path.iter().map(|&l| &links[l as usize]).collect::<Vec<_>>();
        let (forward, reverse) = (of(&route.forward), of(&route.reverse));
        let propagation = |path: &[&LinkSpec<P>]| path.iter().map(|link| shortest_delay(link)).sum::<f64>();
        let (there, back) = (propagation(&forward), propagation(&reverse));
        let both = forward.iter().chain(&reverse);
        let sent: f64 = both.map(|link| IdealLink::new(link).transmission).sum();
        Self {
            links: forward.iter().map(|link| IdealLink::new(link)).collect(),
            there,
            opening: if handshake {
                there + back + control.get() as f64 * sent
            } else {
                0.0
            },
            handshake,
        }
    }

    /// Links of the way there.
    #[must_use]
    pub fn hops(&self) -> u32 {
        self.links.len() as u32
    }

    /// Ideal time of a transfer of `size` in packets of `packet`, s: from its first packet sent, which opens the flow if there is a
    /// handshake, to its last data received.
    ///
    /// Each link stores a packet before it forwards it, and packets keep their order. All packets but the last are equal, so
    /// the one before the last leaves a link after its transmission on each link so far, and one spacing of the slowest of
    /// them for each packet before it. The last packet follows it.
    #[must_use]
    pub fn time(&self, size: u64, packet: Bytes, hosts: &RoundTrip) -> f64 {
        let packet = packet.get().max(1);
        let full = size.saturating_sub(1) / packet;
        let (each, last) = (packet as f64, (size - full * packet) as f64);
        let (mut crossed, mut slowest, mut left) = (0.0_f64, 0.0_f64, 0.0_f64);
        for link in &self.links {
            crossed += each * link.transmission;
            slowest = slowest.max(each * link.spacing);
            let free = if full > 0 {
                // The shaper of this link holds the last packet back behind the one before it.
                crossed + (full as f64 - 1.0) * slowest + each * (link.spacing - link.transmission)
            } else {
                0.0
            };
            left = left.max(free) + last * link.transmission;
        }
        let at_hosts = if self.handshake {
            hosts.at_hosts()
        } else {
            Duration::ZERO
        };
        self.opening + at_hosts.as_secs_f64() + hosts.forward.as_secs_f64() + self.there + left
    }
}

#[cfg(test)]
mod tests;
