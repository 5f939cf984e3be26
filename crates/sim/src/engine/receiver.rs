//! Receivers of flows: they accept data, report complete transfers, and send ACKs.

use levelflow_laws::{Arrived, Kind, Protocol, Signalling};
use levelflow_transport::Chunk;
use levelflow_units::Bytes;

use super::Sim;
use crate::alarm::Fired;
use crate::events::Target;
use crate::flow::NO_ACK_DELAY;
use crate::id::{FlowId, PacketId};

impl<P: Protocol> Sim<P> {
    /// Handles a packet at its receiver, and turns the packet into its ACK.
    pub(super) fn receive(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        let (i, kind) = (packet.flow, packet.label.kind());
        let flow = &mut self.flows[i];
        let entry = &mut self.entries[flow.entry];
        entry.counters.data.delivered += 1;
        entry.counters.delivered_bytes += u64::from(packet.size);
        entry.window.delivered_bytes += u64::from(packet.size);
        flow.delivered_bytes += u64::from(packet.size);
        let (mut new, mut complete, mut in_order) = (0, false, true);
        if kind == Kind::Data {
            let chunk = Chunk {
                offset: packet.offset,
                length: packet.size - entry.rules.limits.headers,
            };
            new = u64::from(chunk.length);
            if let Some(incoming) = &mut flow.incoming {
                in_order = incoming.assembly.expects(chunk);
                new = incoming.assembly.on_arrival(chunk);
                complete = incoming.assembly.in_order() == flow.sender.size();
            }
        }
        entry.count_overhead(u64::from(packet.size) - new);
        if kind == Kind::Fin {
            self.packets.remove(id);
            return self.left_network(i);
        }
        let arrived = Arrived {
            now: self.now,
            kind,
            size: Bytes::new(u64::from(packet.size)),
        };
        if !entry.rules.transport.acknowledged {
            if complete && flow.active {
                self.complete(i);
            }
            self.packets.remove(id);
            return self.left_network(i);
        }
        packet.label = packet.label.acked();
        packet.size = entry.rules.limits.control;
        <P::Signalling as Signalling>::reflect_in_place(&mut flow.receiver, &arrived, &mut packet.header);
        packet.hop = packet.hop.next();
        if let Some(incoming) = &mut flow.incoming {
            incoming.history.on_arrival(packet.number);
            let history = incoming.history.below(packet.number);
            self.packets.set_history(id, history);
        }
        let patient = entry.rules.transport.ack_every > 1 && kind == Kind::Data;
        if complete && flow.active {
            self.complete(i);
        }
        if patient {
            self.hold_or_ack(i, id, in_order && !complete);
        } else {
            self.ack(i, id);
        }
    }

    /// Delays an ACK if it may wait. Otherwise sends the ACK.
    fn hold_or_ack(&mut self, i: FlowId, id: PacketId, may_wait: bool) {
        let flow = &mut self.flows[i];
        let transport = self.entries[flow.entry].rules.transport;
        let incoming = flow.incoming.as_mut().expect("losses are tracked");
        let marked = self.packets[id].label.is_marked();
        if let Some(held) = incoming.delayed.take() {
            incoming.delay.clear();
            if self.packets[held].label.is_marked() == marked {
                self.packets[id].acks += self.packets[held].acks;
                self.packets.remove(held);
                self.left_network(i);
            } else {
                self.ack(i, held);
            }
        }
        let flow = &mut self.flows[i];
        let incoming = flow.incoming.as_mut().expect("losses are tracked");
        if !may_wait || self.packets[id].acks >= transport.ack_every {
            return self.ack(i, id);
        }
        incoming.delayed = Some(id);
        if let Some(at) = incoming.delay.set(self.now.saturating_add(transport.ack_delay)) {
            self.schedule(at, Target::Ack(i));
        }
    }

    /// Handles the timer of a delayed ACK.
    pub(super) fn delayed_ack(&mut self, i: FlowId) {
        let Some(incoming) = self.flows[i].incoming.as_mut() else {
            return;
        };
        match incoming.delay.fire(self.now) {
            Fired::Now => {
                if let Some(held) = incoming.delayed.take() {
                    self.ack(i, held);
                }
            }
            Fired::Later(at) => self.schedule(at, Target::Ack(i)),
            Fired::Stale => {}
        }
    }

    /// Sends an ACK.
    #[inline(always)] // runs once per ACK
    fn ack(&mut self, i: FlowId, id: PacketId) {
        let flow = &self.flows[i];
        self.entries[flow.entry].counters.acks.sent += 1;
        let delay = flow.ack_delay;
        if delay == NO_ACK_DELAY {
            self.forward(id);
        } else if let Some(at) = self.ack_delays[delay].push(self.now, id) {
            self.events.push(at, Target::AckDelay(delay));
        }
    }

    /// Returns the delayed ACKs of all receivers.
    pub(super) fn held_acks(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.flows.iter().filter_map(|f| f.incoming.as_ref()?.delayed)
    }
}
