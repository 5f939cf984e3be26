//! Events of links, and the movement of packets over links. *Packets of hosts* have been sent by a host but are not yet
//! in the queue of their first link.

use levelflow_laws::{Protocol, RouterLaw};
use levelflow_units::{Duration, Time};

use super::{IN_CACHE, RECEIVER, SENDER, Sim};
use crate::capture::Whose;
use crate::events::Target;
use crate::id::{FlowId, HopId, LinkId, PacketId, RouterId};
use crate::link::{Admission, Delivery};
use crate::pipe::NO_PIPE;
use crate::prefetch::prefetch;
use crate::trace::Fate;
use levelflow_results::PacketCounts;

impl<P: Protocol> Sim<P> {
    /// Prefetches a packet that will be delivered soon, and the flow of the next packet.
    #[inline]
    pub(super) fn prefetch(&self, ahead: Option<[PacketId; 2]>) {
        if let Some([next, later]) = ahead {
            self.packets.prefetch(later);
            let packet = &self.packets[next];
            let leaves = |hop| self.hops.get(hop).is_some_and(|&to| to >= SENDER);
            if leaves(packet.hop) || leaves(packet.hop.next()) {
                prefetch(&self.flows[packet.flow]);
            }
        }
    }

    #[inline(always)] // has one caller, and runs once per event
    pub(super) fn link_delivers(&mut self, i: LinkId) {
        let link = &mut self.links[i];
        if !link.is_fifo() || link.first_entry <= self.now {
            return self.special_link_delivers(i);
        }
        let (id, next) = link.deliver_in_order(&mut self.packets);
        if self.packets.most() > IN_CACHE {
            self.prefetch(self.links[i].ahead());
        }
        if let Some(at) = next {
            self.events.replace(at, Target::Link(i));
        } else {
            self.events.pop(Target::Link(i));
            self.enter(i);
        }
        self.reach_far_end(i, id);
    }

    /// Handles a delivery on a link that is no FIFO, or whose queue must first admit packets of hosts.
    #[inline(never)]
    fn special_link_delivers(&mut self, i: LinkId) {
        self.admit_pending(i);
        let link = &mut self.links[i];
        if !link.is_due(self.now) {
            let next = link.next_delivery();
            return self.reschedule(next, Target::Link(i));
        }
        let Delivery { packet: id, lost, next } = link.deliver(&mut self.packets);
        let ahead = (self.packets.most() > IN_CACHE).then(|| link.ahead()).flatten();
        self.reschedule(next, Target::Link(i));
        self.prefetch(ahead);
        if next.is_none() {
            self.enter(i);
        }
        if lost {
            return self.discard(i, id, Fate::Lost);
        }
        self.reach_far_end(i, id);
    }

    /// Moves a packet from the far end of a link to its next hop.
    #[inline(always)] // runs once per delivery
    fn reach_far_end(&mut self, i: LinkId, id: PacketId) {
        if self.capture.is_some() {
            self.captured(i, id);
        }
        if self.trace.is_some() {
            self.traced(i, id, Fate::Delivered);
        }
        let packet = &mut self.packets[id];
        packet.hop = packet.hop.next();
        let (hop, flow) = (packet.hop, packet.flow);
        self.move_on(id, hop, flow);
    }

    /// Adds a packet at the far end of a link to the capture.
    #[cold]
    fn captured(&mut self, link: LinkId, id: PacketId) {
        let packet = &self.packets[id];
        let flow = &self.flows[packet.flow];
        let whose = Whose {
            entry: flow.entry,
            slot: packet.flow,
            started: flow.started,
        };
        let params = &self.entries[flow.entry].rules.params;
        if let Some(capture) = &mut self.capture {
            capture.pass(self.now, link, packet, params, whose);
        }
    }

    /// Moves a packet to the next hop of its path.
    pub(super) fn forward(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        self.move_on(id, packet.hop, packet.flow);
    }

    /// Does the same as [`forward`](Self::forward). This function is inlined, because deliveries spend most of their
    /// time here.
    #[inline(always)]
    pub(super) fn move_on(&mut self, id: PacketId, hop: HopId, flow: FlowId) {
        match self.hops[hop] {
            RECEIVER => self.receive(id),
            SENDER => match self.flows[flow].pipe {
                NO_PIPE => self.feedback(id),
                pipe => {
                    if let Some(at) = self.pipes.push(pipe, self.now, id) {
                        self.events.push(at, Target::Pipe(pipe));
                    }
                }
            },
            link => {
                let to = &mut self.links[link];
                if to.is_plain() && to.first_entry > self.now && self.trace.is_none() {
                    let admission = to.offer_plain(self.now, id, &mut self.packets);
                    self.admitted(link, id, admission);
                } else {
                    self.offer_in_turn(link, id);
                }
            }
        }
    }

    /// Handles the result of a packet's arrival at a link. Schedules an event or drops the packet if needed.
    #[inline(always)] // runs once per hop
    fn admitted(&mut self, link: LinkId, id: PacketId, admission: Admission) {
        match admission {
            Admission::First(at) => self.events.push(at, Target::Link(link)),
            Admission::Served(at) => self.events.push(at, Target::Transmitter(link)),
            Admission::Follows => {}
            Admission::Dropped => self.discard(link, id, Fate::Dropped),
        }
    }

    /// Offers a packet to a link, after the packets of hosts that arrived earlier.
    #[inline(never)]
    fn offer_in_turn(&mut self, link: LinkId, id: PacketId) {
        self.admit_pending(link);
        self.offer(link, self.now, id);
    }

    /// Offers a packet to a link.
    fn offer(&mut self, link: LinkId, at: Time, id: PacketId) {
        if let Some(trace) = &mut self.trace {
            trace.arrives(at, id);
        }
        let to = &mut self.links[link];
        if to.is_plain() {
            // A plain link evicts no packet. Packets from hosts with a processing time reach this branch.
            let admission = to.offer_plain(at, id, &mut self.packets);
            return self.admitted(link, id, admission);
        }
        let admission = to.offer(at, id, &mut self.packets);
        self.admitted(link, id, admission);
        self.drop_evicted(link);
    }

    /// Admits the packets of hosts that have arrived at a link by now. Callers do this before they read the link.
    #[inline(never)]
    pub(super) fn admit_pending(&mut self, link: LinkId) {
        while let Some((at, id)) = self.links[link].entered(self.now) {
            self.offer(link, at, id);
        }
    }

    /// Admits the packets of hosts that have arrived at a link by now. Then schedules the next arrival.
    pub(super) fn enter(&mut self, link: LinkId) {
        self.admit_pending(link);
        if let Some(at) = self.links[link].next_entry() {
            self.events.push(at, Target::FlowEntry(link));
        }
    }

    /// Handles a change of a link.
    #[cold]
    pub(super) fn change(&mut self, i: LinkId) {
        self.admit_pending(i);
        let link = &mut self.links[i];
        let (done, next) = (link.change(self.now, &mut self.packets), link.next_change());
        self.reschedule(next, Target::Change(i));
        if let Some(at) = done {
            self.schedule(at, Target::Transmitter(i));
        }
        self.drop_evicted(i);
        self.enter(i);
    }

    /// Handles the end of a transmission.
    pub(super) fn transmitted(&mut self, i: LinkId) {
        if !self.links[i].has_sent(self.now) {
            return self.events.pop(Target::Transmitter(i));
        }
        self.admit_pending(i);
        let (first, done) = self.links[i].transmitted(self.now, &mut self.packets);
        self.reschedule(done, Target::Transmitter(i));
        if let Some(at) = first {
            self.events.push(at, Target::Link(i));
        }
        self.drop_evicted(i);
        self.enter(i);
    }

    /// Counts and frees the packets that a queue has evicted.
    #[inline]
    fn drop_evicted(&mut self, link: LinkId) {
        while let Some(packet) = self.links[link].next_evicted() {
            self.discard(link, packet, Fate::Dropped);
        }
    }

    /// Counts and frees a packet that a link has dropped, evicted or lost.
    #[cold]
    fn discard(&mut self, link: LinkId, id: PacketId, fate: Fate) {
        if self.trace.is_some() {
            self.traced(link, id, fate);
        }
        self.forget(id, fate);
    }

    /// Counts and frees a packet that does not arrive.
    #[cold]
    pub(super) fn forget(&mut self, id: PacketId, fate: Fate) {
        let count = |books: &mut PacketCounts| match fate {
            Fate::Lost => books.lost += 1,
            _ => books.dropped += 1,
        };
        let packet = &self.packets[id];
        let (flow, ack) = (packet.flow, packet.label.is_ack());
        let entry = &mut self.entries[self.flows[flow].entry];
        if ack {
            count(&mut entry.counters.acks);
        } else {
            count(&mut entry.counters.data);
            entry.window.lost += 1;
        }
        self.packets.remove(id);
        self.left_network(flow);
    }

    pub(super) fn close_interval(&mut self, i: RouterId) {
        self.admit_pending(self.routers[i].link);
        let router = &mut self.routers[i];
        let link = &mut self.links[router.link];
        link.catch_up(self.now, &mut self.packets);
        link.close_interval(router.port, self.now - router.since);
        router.since = self.now;
        let port = &link.ports[router.port];
        let interval = port.law.interval(&port.params).max(Duration::from_ps(1));
        self.reschedule(self.now.checked_add(interval), Target::Interval(i));
    }

    pub(super) fn close_queue_interval(&mut self, i: LinkId) {
        self.admit_pending(i);
        let link = &mut self.links[i];
        link.catch_up(self.now, &mut self.packets);
        link.close_queue_interval(self.now);
        let next = link.queue_interval().and_then(|d| self.now.checked_add(d));
        self.reschedule(next, Target::Queue(i));
    }

    pub(super) fn size_buffer(&mut self, i: LinkId) {
        self.admit_pending(i);
        let link = &mut self.links[i];
        link.catch_up(self.now, &mut self.packets);
        link.size_buffer(self.now);
        let next = link.sizing_interval().and_then(|d| self.now.checked_add(d));
        match (self.memory_of[i], link.wanted_packets()) {
            (Some(memory), _) => self.share_memory(memory),
            (None, Some(packets)) => link.grant(packets),
            (None, None) => {}
        }
        self.reschedule(next, Target::Buffer(i));
    }
}
