//! Ideal completion times of transfers. An ideal sender always fills its path in an otherwise idle network.

use levelflow_laws::Protocol;
use levelflow_laws::aqm::AnyQueueParams;
use levelflow_units::{Bytes, Duration, Rate};
use levelflow_wire::framing::Framing;

use crate::network::{LinkSpec, RouteSpec};
use crate::schedule::RoundTrip;

/// Path in an idle network. Each link has its largest capacity and its shortest delay during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct IdealPath {
    /// Forward links.
    links: Vec<IdealLink>,
    /// Forward propagation delay, s.
    there: f64,
    /// Round-trip time of the handshake, s. It excludes the delay at the hosts, and is zero without a handshake.
    opening: f64,
    handshake: bool,
}

/// Times per byte at a link, s.
#[derive(Debug, Clone, Copy, PartialEq)]
struct IdealLink {
    /// Transmission time per byte.
    transmission: f64,
    /// Time between the starts of two successive packets, per byte. A shaper increases this time above the transmission
    /// time.
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

/// Returns the shortest propagation delay of a link, s.
fn shortest_delay<P: Protocol>(link: &LinkSpec<P>) -> f64 {
    let delays = link.changes.iter().map(|state| state.wire.delay);
    delays.fold(link.wire.delay, Duration::min).as_secs_f64()
}

impl IdealPath {
    /// Creates the path of a route. `control` is the size of handshake packets.
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

    /// Returns the number of forward links.
    #[must_use]
    pub fn hops(&self) -> u32 {
        self.links.len() as u32
    }

    /// Returns the ideal completion time of a transfer, s. `size` is its payload in bytes. The time starts with the
    /// first packet sent and ends when all data has been received. With a handshake, the first packet is the opening
    /// packet.
    ///
    /// Links are store-and-forward and keep the order of packets. All packets except the last are full. The last full
    /// packet leaves a link after one transmission on this link and on each previous link. For each earlier packet, it
    /// also waits for one spacing of the slowest of these links. The last packet follows.
    #[must_use]
    pub fn time(&self, size: u64, framing: &Framing, hosts: &RoundTrip) -> f64 {
        let payload = framing.payload().get();
        let full = size.saturating_sub(1) / payload;
        let last = framing.headers.get() + size - full * payload;
        let (each, last) = (framing.packet.get().max(1) as f64, last as f64);
        let (mut crossed, mut slowest, mut left) = (0.0_f64, 0.0_f64, 0.0_f64);
        for link in &self.links {
            crossed += each * link.transmission;
            slowest = slowest.max(each * link.spacing);
            let free = if full > 0 {
                // The shaper of this link holds the last packet until `spacing` has passed since the previous packet.
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
