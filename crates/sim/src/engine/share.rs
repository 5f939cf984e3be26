//! Simulation of one part of a network: packets sent to other parts, and decisions made for all parts.
//!
//! Every part contains all links, entries and flows, and starts every flow. Entities therefore have equal numbers in
//! all parts. A part handles only the events of its own queues, senders and receivers. Some decisions depend on several
//! parts. They are made when all parts have reached the same time.

use std::collections::HashSet;
use std::sync::Arc;

use levelflow_laws::{HeaderOf, Protocol};
use levelflow_results::{Outcome, TransferRow};
use levelflow_units::{Duration, Time};

use super::Sim;
use crate::cut::Cut;
use crate::events::Target;
use crate::id::{EntryId, FlowId, LinkId};
use crate::limit::LimitExceeded;
use crate::packet::Packet;

/// State for the exchange between this part and the other parts of the network.
#[derive(Debug)]
pub struct Share<H> {
    cut: Arc<Cut>,
    number: usize,
    /// Target of the current event.
    handling: Target,
    /// Flows that ended in this part since the latest call of `close_flows`, in order of time.
    closings: Vec<Closing>,
    /// Retransmissions by senders in this part since the latest call of `close_flows`, in order of time.
    retransmissions: Vec<(Place, FlowId)>,
    /// Links that lead to other parts.
    exits: Vec<LinkId>,
    /// Packets to be moved to each part.
    outbox: Vec<Vec<Crossing<H>>>,
}

/// Position of an event in the order of all events: time, and code of the target.
type Place = (Time, u32);

/// End of a flow. The receiver has all data, or the sender has stopped.
#[derive(Debug)]
struct Closing {
    place: Place,
    flow: FlowId,
    completion: Option<TransferRow>,
}

/// Packet on a link that leads from one part to another.
#[derive(Debug)]
pub struct Crossing<H> {
    /// Arrival time at the far end.
    deliver: Time,
    link: LinkId,
    packet: Packet<H>,
    /// History of an ACK, if its flow tracks packets.
    history: u128,
}

impl<H> Share<H> {
    pub fn new(cut: Arc<Cut>, number: usize) -> Self {
        Self {
            handling: Target::Sample,
            closings: Vec::new(),
            retransmissions: Vec::new(),
            exits: cut.exits(number),
            outbox: (0..cut.parts()).map(|_| Vec::new()).collect(),
            cut,
            number,
        }
    }
}

impl<P: Protocol> Sim<P> {
    /// Returns the part that contains the queue of a link.
    pub(super) fn queue_of(&self, link: LinkId) -> usize {
        self.share.as_ref().map_or(0, |share| share.cut.queue(link))
    }

    /// Returns the part that contains the senders of an entry, and the part that contains the receivers.
    pub(super) fn ends(&self, entry: EntryId) -> [usize; 2] {
        self.share.as_ref().map_or([0, 0], |share| share.cut.ends(entry))
    }

    /// Returns true if this part contains the queue of a link.
    pub(super) fn has_queue(&self, link: LinkId) -> bool {
        self.share
            .as_ref()
            .is_none_or(|share| share.cut.queue(link) == share.number)
    }

    /// Returns true if this part contains the senders of an entry.
    pub(super) fn sends(&self, entry: EntryId) -> bool {
        self.share
            .as_ref()
            .is_none_or(|share| share.cut.ends(entry)[0] == share.number)
    }

    /// Returns true for the first part, which counts the events that all parts have in common.
    pub(super) fn is_first(&self) -> bool {
        self.share.as_ref().is_none_or(|share| share.number == 0)
    }

    /// Advances the clock to `time`. This part has no events before `time`.
    pub(crate) fn advance_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }

    /// Returns the end of the run and the sampling interval.
    pub(crate) fn times(&self) -> (Time, Duration) {
        (self.end, self.sample)
    }

    /// Records a sample. All parts have reached the same time.
    pub(crate) fn take_sample(parts: &mut [Self]) {
        parts[0].processed += 1;
        Self::record(parts);
    }

    /// Records the last sample at the end of the run, unless it has been recorded.
    pub(crate) fn finish(parts: &mut [Self]) {
        if parts[0].last_sample < parts[0].end {
            Self::record(parts);
        }
    }

    /// # Errors
    /// Returns an error if the packets and flows of all parts exceed the memory limit, or if their events exceed the
    /// limit.
    pub(crate) fn check_limits(parts: &mut [Self]) -> Result<(), LimitExceeded> {
        let packets: usize = parts.iter().map(|part| part.packets.len()).sum();
        if packets > parts[0].most_packets {
            return Err(Self::exceeded(parts));
        }
        let events = parts.iter().map(|part| part.processed).sum();
        if parts[0].budget.is_exceeded(events) {
            return Err(Self::exceeds_events(parts));
        }
        Ok(())
    }

    /// Returns the end of the second in which events are currently counted for the limit.
    pub(crate) const fn end_of_second(&self) -> Time {
        self.budget.end()
    }

    /// Begins to count the events of the next second for the limit. All parts have reached the end of the current
    /// second.
    pub(crate) fn next_second(parts: &mut [Self]) {
        let events = parts.iter().map(|part| part.processed).sum();
        parts[0].budget.next_second(events);
    }

    /// Marks the links that lead to other parts.
    pub(super) fn lead_elsewhere(&mut self) {
        let Some(share) = &self.share else { return };
        share.exits.iter().for_each(|&link| self.links[link].lead_elsewhere());
    }

    /// Handles the events before `end`. `end` is at most one window after the earliest event of all parts.
    pub(crate) fn run_before(&mut self, end: Time) {
        while let Some((at, target)) = self.next_event(end) {
            self.now = at;
            self.processed += u64::from(self.is_first() || !matches!(target, Target::Arrival(_) | Target::Routes));
            if let Some(share) = &mut self.share {
                share.handling = target;
            }
            self.handle(target);
        }
    }

    /// Collects the packets that have departed before `end` on links to other parts. Returns the earliest time at which
    /// this part has an event or one of these packets is delivered.
    pub(crate) fn depart(&mut self, end: Time) -> Time {
        let mut next = self.next_event(Time::NEVER).map_or(Time::NEVER, |(at, _)| at);
        let last = Time::from_ps(end.as_ps() - 1);
        self.advance_to(last);
        let Some(mut share) = self.share.take() else {
            return next;
        };
        for &i in &share.exits {
            self.admit_pending(i);
            let link = &mut self.links[i];
            link.catch_up(last, &mut self.packets);
            while let Some((deliver, id)) = link.pass_on() {
                next = next.min(deliver);
                let packet = self.packets[id].clone();
                let tracks = packet.label.is_ack() && self.flows[packet.flow].incoming.is_some();
                let history = if tracks { self.packets.history(id) } else { 0 };
                self.packets.remove(id);
                share.outbox[share.cut.far_end(i)].push(Crossing {
                    deliver,
                    link: i,
                    packet,
                    history,
                });
            }
            next = link
                .next_departure()
                .map_or(next, |at| next.min(at))
                .min(link.first_entry);
        }
        self.share = Some(share);
        next
    }

    /// Returns the packets to be moved to another part.
    pub(crate) fn outbox(&mut self, part: usize) -> Option<&mut Vec<Crossing<HeaderOf<P>>>> {
        self.share.as_mut().map(|share| &mut share.outbox[part])
    }

    /// Accepts packets from another part. On each link, packets are in order of time.
    pub(crate) fn accept(&mut self, crossings: &mut Vec<Crossing<HeaderOf<P>>>) {
        for Crossing {
            deliver,
            link,
            packet,
            history,
        } in crossings.drain(..)
        {
            let size = u32::from(packet.size);
            let tracks = packet.label.is_ack() && self.flows[packet.flow].incoming.is_some();
            let id = self.packets.insert(packet);
            if tracks {
                self.packets.set_history(id, history);
            }
            if self.links[link].accept(deliver, id, size) {
                self.events.push(deliver, Target::Link(link));
            }
        }
    }

    fn here(&self) -> Place {
        let handling = self.share.as_ref().map_or(0, |share| share.handling.code());
        (self.now, handling)
    }

    /// Records a retransmission of a sender.
    #[cold]
    pub(super) fn note_retransmission(&mut self, flow: FlowId) {
        let place = self.here();
        if let Some(share) = &mut self.share {
            share.retransmissions.push((place, flow));
        }
    }

    /// Makes a flow inactive in this part and records its end. Does nothing for an inactive flow.
    pub(super) fn close(&mut self, flow: FlowId, completion: Option<TransferRow>) {
        let place = self.here();
        let active = std::mem::take(&mut self.flows[flow].active);
        if let Some(share) = self.share.as_mut().filter(|_| active) {
            share.closings.push(Closing {
                place,
                flow,
                completion,
            });
        }
    }

    /// Makes ended flows inactive in all parts, in the order of the events that ended them.
    pub(super) fn close_flows(parts: &mut [Self]) {
        let shares = parts.iter_mut().filter_map(|part| part.share.as_mut());
        let mut closings: Vec<_> = shares.flat_map(|share| share.closings.drain(..)).collect();
        closings.sort_by_key(|closing| closing.place);
        let mut closed = HashSet::new();
        for Closing {
            place,
            flow,
            completion,
        } in closings
        {
            if !closed.insert(flow) {
                continue;
            }
            let entry = parts[0].flows[flow].entry;
            if let Some(mut row) = completion {
                row.retransmitted = parts[parts[0].ends(entry)[0]].retransmitted_before(flow, place);
                parts[0].recorder.transfer(&row);
            }
            parts[0].flows[flow].active = true;
            parts[0].no_longer_active(flow, Outcome::Finished);
            parts.iter_mut().for_each(|part| part.flows[flow].active = false);
        }
        for share in parts.iter_mut().filter_map(|part| part.share.as_mut()) {
            share.retransmissions.clear();
        }
    }

    /// Returns the number of a flow's retransmissions before an event. This part must contain the sender of the flow.
    fn retransmitted_before(&self, flow: FlowId, place: Place) -> u32 {
        let later = self.share.iter().flat_map(|share| share.retransmissions.iter().rev());
        let later = later.take_while(|&&(other, _)| other > place);
        let later = later.filter(|&&(_, other)| other == flow).count() as u32;
        self.flows[flow].sender.totals().retransmitted - later
    }
}
