//! Trace: arrival and departure times of packets at links.

use levelflow_laws::Protocol;
use levelflow_units::Time;

use super::Sim;
use crate::id::{LinkId, PacketId};
use crate::trace::{Fate, Stay, Trace};

impl<P: Protocol> Sim<P> {
    /// Records a packet that leaves a link now, or is dropped or lost.
    #[cold]
    pub(super) fn traced(&mut self, link: LinkId, id: PacketId, fate: Fate) {
        let Some(trace) = &self.trace else { return };
        let mut stay = self.stay(trace, link, id, fate);
        if fate == Fate::Dropped {
            stay.ends = self.now;
        } else {
            stay = stay.on_wire(self.now, self.links[link].delay());
        }
        if let Some(trace) = &mut self.trace {
            trace.ended(stay);
        }
    }

    /// Returns the packets that are at links now. Packets that arrived before the trace began have the arrival time
    /// NEVER.
    #[must_use]
    pub fn present(&self) -> Vec<Stay> {
        let Some(trace) = &self.trace else { return Vec::new() };
        let mut stays = Vec::new();
        for (i, link) in self.links.pairs() {
            for (id, due) in link.stays() {
                let stay = self.stay(trace, i, id, Fate::Present);
                stays.push(match due {
                    Some(at) => stay.on_wire(at, link.delay()),
                    None => stay,
                });
            }
        }
        stays
    }

    fn stay(&self, trace: &Trace, link: LinkId, id: PacketId, fate: Fate) -> Stay {
        let packet = &self.packets[id];
        Stay {
            link: link.0,
            flow: self.flows[packet.flow].entry.0,
            ack: packet.label.is_ack(),
            ecn: packet.label.ecn(),
            size: packet.size,
            offset: packet.offset,
            fate,
            arrived: trace.arrival(id),
            departed: Time::NEVER,
            ends: Time::NEVER,
        }
    }
}
