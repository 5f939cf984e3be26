//! Wire of a link, and deliveries at its far end. The far end may be in another part of the network.

use std::cmp::Reverse;

use levelflow_laws::{HeaderOf, Protocol};
use levelflow_units::{Duration, Time};

use super::{COUNTED, Link, Transit};
use crate::id::PacketId;
use crate::packet::Slab;
use crate::prefetch::ahead;

/// Packet that overtakes other packets: its delivery time, a consecutive number, and its index.
pub(super) type Overtaking = (Time, u64, PacketId);

/// Packet at the far end of a link.
#[derive(Debug)]
pub struct Delivery {
    pub packet: PacketId,
    /// True if the wire lost the packet.
    pub lost: bool,
    /// Time of the next delivery.
    pub next: Option<Time>,
}

impl<P: Protocol> Link<P> {
    /// Puts a departed packet on the wire. The packet may overtake other packets. Returns true if this packet is
    /// delivered next.
    pub(super) fn put_on_wire(&mut self, transit: Transit) -> bool {
        let first = self.next_delivery().is_none_or(|next| transit.deliver < next);
        let overtakes = self.transit.back().is_some_and(|last| last.deliver > transit.deliver);
        match &mut self.served {
            Some(served) if overtakes => {
                served.overtaken += 1;
                let entry = (transit.deliver, served.overtaken, transit.packet);
                served.overtaking.push(Reverse(entry));
            }
            _ => {
                self.transit.push_back(transit);
                self.departed += 1;
            }
        }
        first
    }

    /// Returns the time of the next delivery.
    pub fn next_delivery(&self) -> Option<Time> {
        let served = self.served.as_ref();
        let overtaking = served
            .and_then(|served| served.overtaking.peek())
            .map(|entry| entry.0.0);
        let in_order = self.transit.front().map(|transit| transit.deliver);
        overtaking.into_iter().chain(in_order).min()
    }

    /// Removes and returns the next packet to be delivered if it has overtaken another packet.
    fn take_overtaking(&mut self) -> Option<PacketId> {
        let overtaking = &mut self.served.as_mut()?.overtaking;
        let &Reverse((deliver, _, packet)) = overtaking.peek()?;
        if self.transit.front().is_some_and(|next| next.deliver <= deliver) {
            return None;
        }
        overtaking.pop();
        Some(packet)
    }

    /// Delivers the next packet on a FIFO link.
    #[inline(always)] // runs once per delivery
    pub fn deliver_in_order(&mut self, packets: &mut Slab<HeaderOf<P>>) -> (PacketId, Option<Time>) {
        self.counters.delivered += 1;
        self.next_in_order::<true>(packets)
    }

    /// Delivers the next packet on any link.
    #[inline(never)]
    pub fn deliver(&mut self, packets: &mut Slab<HeaderOf<P>>) -> Delivery {
        let overtaking = self.take_overtaking();
        let packet = overtaking.unwrap_or_else(|| self.next_in_order::<false>(packets).0);
        let lost = self.wire.is_some() && packets[packet].label.is_lost();
        if lost {
            self.counters.lost += 1;
        } else {
            self.counters.delivered += 1;
        }
        Delivery {
            packet,
            lost,
            next: self.next_delivery(),
        }
    }

    /// Removes the first packet on the link. If the packet is still queued, removes it from the queue, too.
    #[inline(always)]
    fn next_in_order<const FIFO: bool>(&mut self, packets: &mut Slab<HeaderOf<P>>) -> (PacketId, Option<Time>) {
        let (transit, next) = self.transit.pop_front().expect("a delivery event has a packet");
        let Transit {
            delay, packet, size, ..
        } = transit;
        self.count_delay(delay);
        match self.departed.checked_sub(1) {
            Some(departed) => self.departed = departed,
            None => _ = self.leave::<FIFO>(packet, size, packets),
        }
        (packet, next.map(|next| next.deliver))
    }

    /// Records the queueing delay of a packet that leaves the link, unless the delay has been recorded.
    #[inline(always)]
    fn count_delay(&mut self, delay: Duration) {
        if delay != COUNTED {
            self.counters.delays.record(delay.as_ps());
        }
    }

    /// Returns the packets to prefetch; see [`ahead`].
    #[inline]
    pub fn ahead(&self) -> Option<[PacketId; 2]> {
        ahead(&self.transit, |t| t.packet)
    }

    /// Records that the far end is in another part of the network.
    pub fn lead_elsewhere(&mut self) {
        self.leads_elsewhere = true;
    }

    /// Removes and returns the next packet that has departed to another part of the network, and its delivery time.
    pub fn pass_on(&mut self) -> Option<(Time, PacketId)> {
        self.departed = self.departed.checked_sub(1)?;
        let (transit, _) = self.transit.pop_front()?;
        self.count_delay(transit.delay);
        Some((transit.deliver, transit.packet))
    }

    /// Returns the departure time of the next packet to another part of the network. No event is pending at this time.
    pub fn next_departure(&self) -> Option<Time> {
        let next = self.transit.get(self.departed as usize)?;
        Some(Time::from_ps(next.deliver.as_ps() - self.delay.as_ps()))
    }

    /// Adds a packet from another part of the network. Returns true if no other packet is on this link.
    pub fn accept(&mut self, deliver: Time, packet: PacketId, size: u32) -> bool {
        self.transit.push_back(Transit {
            deliver,
            delay: COUNTED,
            packet,
            size,
        });
        self.departed += 1;
        self.transit.len() == 1
    }

    /// Returns true if a delivery is due. False for the obsolete event of a packet that has been overtaken.
    #[inline]
    pub fn is_due(&self, now: Time) -> bool {
        self.served.is_none() || self.next_delivery().is_some_and(|next| next <= now)
    }

    /// Returns the packets on the wire that overtake other packets, with their delivery times.
    pub(super) fn overtaking(&self) -> impl Iterator<Item = (PacketId, Time)> + '_ {
        let served = self.served.iter();
        served.flat_map(|served| {
            served
                .overtaking
                .iter()
                .map(|&Reverse((deliver, _, packet))| (packet, deliver))
        })
    }
}
