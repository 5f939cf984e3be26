//! Steps of a flow: arrival, handshake, sending at the pace of the law, waiting for ACKs, and end.

use std::cmp::Reverse;

use levelflow_laws::{Opening, Protocol, SenderLaw};
use levelflow_path::scheduler::{Ecn, FlowKey};
use levelflow_transport::ENDLESS;
use levelflow_units::{Bytes, Time};

use super::Sim;
use crate::ackdelay::AckDelay;
use crate::alarm::{Alarm, Fired};
use crate::entry::{FlowEntry, LIMITS};
use crate::events::Target;
use crate::flow::{Flow, NO_SESSION, Phase, Writes};
use crate::host::Host;
use crate::id::{EntryId, FlowId, SessionId};
use crate::limit::max_packets;
use levelflow_random::Stream;
use levelflow_results::{Outcome, TransferRow};
use levelflow_scenario::{Application, RoundTrip};

/// Multiplier that gives each flow of an entry a different [`FlowKey::flow`]. It is odd, so 2^32 flows have 2^32
/// different numbers.
const FLOW_SEED_STEP: u32 = 0x9e37_79b1;

impl<P: Protocol> Sim<P> {
    /// Continues a flow after an ACK. The ACK may have changed the rate or congestion window, shown losses, or been the
    /// last expected ACK.
    #[inline]
    pub(super) fn try_send(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        if !flow.sender.law().paces() {
            return self.fill_window(i);
        }
        if !flow.pace.is_set() && !flow.sender.has_data(self.now) {
            return self.idle(i);
        }
        if flow.sender.may_send() {
            let due = flow.departure(self.now);
            if let Some(at) = flow.pace.set(due) {
                self.schedule(at, Target::Send(i));
            }
        } else {
            flow.pace.clear();
        }
        self.wait(i);
    }

    /// Sends packets now: one packet if the law paces, otherwise all packets that the congestion window allows.
    fn send_now(&mut self, i: FlowId) {
        if self.flows[i].sender.law().paces() {
            self.transmit(i);
        } else {
            self.fill_window(i);
        }
    }

    /// Sends all packets that the congestion window allows.
    fn fill_window(&mut self, i: FlowId) {
        while self.flows[i].sender.may_send() && !self.is_full() {
            if !self.send_data(i) {
                return self.idle(i);
            }
            if self.flows[i].sender.law().paces() {
                return self.try_send(i); // the flow was idle, and its law paces from now on
            }
        }
        self.wait(i);
    }

    /// Sends one packet and sets the time of the next packet. Pacing allows the packet now.
    pub(super) fn transmit(&mut self, i: FlowId) {
        if !self.flows[i].sender.may_send() {
            return self.wait(i);
        }
        if !self.send_data(i) {
            return self.idle(i);
        }
        let flow = &mut self.flows[i];
        if let Some(at) = flow.pace.set(flow.departure(self.now)) {
            self.schedule(at, Target::Send(i));
        }
        let flow = &self.flows[i];
        // With this order of the two conditions, a flow without a timer touches only four cache lines.
        if flow.incoming.is_some() && !flow.timer.is_set() {
            self.set_timer(i);
        }
    }

    /// Sends the next chunk. Returns false if no chunk is left.
    #[inline(always)] // runs once per packet
    fn send_data(&mut self, i: FlowId) -> bool {
        let flow = &mut self.flows[i];
        let rules = self.entries[flow.entry].rules.lend();
        let before = self.share.as_ref().map(|_| flow.sender.totals().retransmitted);
        let Some(packet) = flow.sender.transmit(&rules, self.now, ()) else {
            return false;
        };
        if before.is_some_and(|before| before != flow.sender.totals().retransmitted) {
            self.note_retransmission(i);
        }
        self.launch(i, packet);
        true
    }

    /// Sets the retransmission timer if an ACK is expected and the sender tracks its packets.
    #[inline]
    fn wait(&mut self, i: FlowId) {
        if self.flows[i].incoming.is_some() {
            self.set_timer(i);
        }
    }

    fn set_timer(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        let Some(due) = flow.sender.timeout(&self.entries[flow.entry].rules.transport) else {
            return flow.timer.clear();
        };
        if let Some(at) = flow.timer.set(due.max(self.now)) {
            self.schedule(at, Target::Timer(i));
        }
    }

    /// Handles a flow without data to send. The flow waits for ACKs or ends.
    fn idle(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        if flow.sender.is_done(self.now) {
            return self.end_flow(i);
        }
        if let Some(writes) = &mut flow.writes
            && flow.sender.is_delivered()
        {
            writes.application.handle_delivery(self.now);
        }
        self.wait(i);
        self.await_write(i);
    }

    /// Sets the time of the next write of an application. If the flow stops earlier, sets the stop time.
    fn await_write(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        let Some(writes) = &mut flow.writes else { return };
        let due = writes.application.due().unwrap_or(Time::NEVER).min(flow.sender.stop());
        if let Some(at) = writes.alarm.set(due.max(self.now)) {
            self.schedule(at, Target::Write(i));
        }
    }

    /// Handles an event of an application: writes the data that is due.
    pub(super) fn write(&mut self, i: FlowId) {
        self.events.pop(Target::Write(i));
        let flow = &mut self.flows[i];
        let Some(writes) = &mut flow.writes else { return };
        match writes.alarm.fire(self.now) {
            Fired::Now if flow.phase == Phase::Live => {
                while writes.application.due().is_some_and(|at| at <= self.now) {
                    flow.sender.write(writes.application.write());
                }
                self.await_write(i);
                if self.flows[i].sender.is_open() {
                    self.try_send(i);
                }
            }
            Fired::Later(at) => self.schedule(at, Target::Write(i)),
            Fired::Now | Fired::Stale => {}
        }
    }

    fn end_flow(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        let entry = &mut self.entries[flow.entry];
        if entry.rules.transport.opening == Opening::Handshake {
            let end = flow.sender.transmit_end(&entry.rules.lend(), self.now, ());
            self.launch(i, end);
        }
        let flow = &mut self.flows[i];
        flow.phase = Phase::Done;
        flow.timer.clear();
        flow.pace.clear();
        flow.writes = None;
        self.ended.push(i);
        // A transfer ends when its receiver has all data, or when its last packet has left the network.
        match (flow.sender.size() == ENDLESS, self.share.is_some()) {
            (true, true) => self.close(i, None),
            (true, false) => self.no_longer_active(i, Outcome::Finished),
            (false, _) => {}
        }
    }

    /// Handles a timeout.
    pub(super) fn timeout(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        if flow.phase != Phase::Live {
            return;
        }
        if !flow.sender.is_open() {
            return self.open(i);
        }
        let rules = self.entries[flow.entry].rules.lend();
        flow.sender.handle_timeout(&rules, self.now);
        if flow.sender.law().timeout().is_some() {
            return self.try_send(i); // a law with a timeout of its own keeps its pace
        }
        self.send_now(i);
    }

    /// Sends the packet that opens a flow, or ends the flow after its stop time.
    fn open(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        let rules = self.entries[flow.entry].rules.lend();
        let Some(packet) = flow.sender.transmit(&rules, self.now, ()) else {
            return self.end_flow(i);
        };
        if let Some(at) = flow.timer.set(flow.sender.departure(&LIMITS)) {
            self.schedule(at, Target::Timer(i));
        }
        self.launch(i, packet);
    }

    /// Starts the flows of an entry that arrive now. Then schedules the next arrival.
    pub(super) fn arrival(&mut self, i: EntryId) {
        let entry = &mut self.entries[i];
        let next = entry.schedule.next(&entry.spec);
        let batch = std::mem::replace(&mut entry.batch, next.map_or(0, |arrival| arrival.flows));
        let sessions = entry.spec.session.is_some();
        for _ in 0..batch {
            if self.is_full() {
                return;
            }
            if sessions {
                self.start_session(i);
            } else {
                self.start_flow(i, NO_SESSION);
            }
        }
        if let Some(next) = next {
            self.schedule(next.at, Target::Arrival(i));
        }
    }

    /// Starts a flow of an entry. The flow may belong to a session.
    pub(super) fn start_flow(&mut self, e: EntryId, session: SessionId) {
        let entry = &mut self.entries[e];
        let member = entry.counters.started as u32;
        let [at_first, now] = [0, entry.plan].map(|plan| entry.delays[entry.path(plan, member)]);
        let hop = entry.hop(member);
        let FlowEntry { spec, schedule, .. } = entry;
        let drawn = schedule.flow(spec, self.now);
        let rtt = RoundTrip::new(drawn.rtt, at_first);
        let recovers = spec.reliable || entry.rules.transport.tracks_losses;
        let stream = |of: &str| Stream::new(self.seed, of, &format!("{}.{member}", spec.name));
        let seed = if entry.rules.transport.draws {
            stream("law").bits()
        } else {
            0
        };
        let on_the_wire = |size| spec.framing().wire_size(Bytes::new(size));
        let info = entry.info.with(seed, drawn.size.map(on_the_wire));
        let mut flow = Flow::new(e, &entry.rules, &info, self.now, recovers);
        if drawn.size.is_some() {
            flow.incoming.get_or_insert_default();
        }
        let size = drawn.size.map_or(ENDLESS, |size| size.min(ENDLESS - 1));
        flow.sender = flow.sender.with_size(size).with_stop(drawn.stop.unwrap_or(Time::NEVER));
        if let Some(application) = &spec.application {
            let name = format!("{}.{member}", spec.name);
            let application = Application::new(application, spec.framing().payload(), self.now, self.seed, &name);
            flow.sender = flow.sender.with_application();
            flow.writes = Some(Box::new(Writes {
                application,
                alarm: Alarm::OFF,
            }));
        }
        flow.session = session;
        flow.member = member;
        flow.hop = hop;
        flow.base_rtt = rtt.at_hosts() + now[0] + now[1];
        flow.host_delay = rtt.forward;
        flow.pipe = self.pipes.join(rtt.at_hosts());
        if let Some(delay) = &spec.ack_delay {
            flow.ack_delay = self.ack_delays.push(AckDelay::new(delay.clone(), stream("ack delay")));
        }
        if spec.overhead.as_ps() > 0 {
            flow.host = Some(Box::new(Host::new(spec.overhead, spec.slow, stream("overhead"))));
        }
        entry.counters.started += 1;
        entry.active += 1;
        let opening = entry.rules.transport.opening;
        let i = self.place(flow);
        if self.classifies {
            self.classify(i, e, member);
        }
        if !self.sends(e) {
            return;
        }
        self.await_write(i);
        match opening {
            Opening::Handshake => self.open(i),
            Opening::Immediate => self.send_now(i),
        }
    }

    /// Sets the class of a flow's packets. Queue disciplines select the queue of a packet by its class.
    fn classify(&mut self, flow: FlowId, e: EntryId, member: u32) {
        let entry = &self.entries[e];
        let [source, destination] = entry.spec.ends;
        let class = FlowKey {
            flow: entry.identity.wrapping_add(member.wrapping_mul(FLOW_SEED_STEP)),
            source,
            destination,
            ecn: Ecn::NotCapable,
        };
        self.packets.set_class(flow, e, class);
    }

    /// Stores a flow in the first free slot of its own entry, or in a new slot. The order of events at equal times then
    /// does not depend on other entries.
    fn place(&mut self, flow: Flow<P>) -> FlowId {
        if let Some(Reverse(i)) = self.entries[flow.entry].free_flows.pop() {
            self.flows[i] = flow;
            return i;
        }
        let i = self.flows.push(flow);
        self.most_packets = max_packets(self.flows.len(), self.memory_limit);
        i
    }

    /// Frees the slots of flows that have ended and have no packets in flight.
    pub(super) fn release(parts: &mut [Self]) {
        let mut over = Vec::new();
        for part in 0..parts.len() {
            let mut ended = std::mem::take(&mut parts[part].ended);
            ended.retain(|&i| {
                let in_flight = parts.iter().map(|part| part.flows[i].in_flight);
                let is_over = in_flight.fold(0, u32::wrapping_add) == 0;
                if is_over {
                    over.push(i);
                }
                !is_over
            });
            parts[part].ended = ended;
        }
        over.sort_unstable();
        for &i in &over {
            if parts[0].flows[i].active {
                Self::record_unfinished(parts, i, Outcome::Aborted);
                parts[0].no_longer_active(i, Outcome::Aborted);
            }
            parts.iter_mut().for_each(|part| part.free(i));
        }
    }

    fn free(&mut self, i: FlowId) {
        let flow = &mut self.flows[i];
        (flow.phase, flow.in_flight, flow.active) = (Phase::Free, 0, false);
        self.pipes.leave(flow.pipe);
        self.entries[flow.entry].free_flows.push(Reverse(i));
    }

    /// Makes a flow inactive and counts its outcome.
    pub(super) fn no_longer_active(&mut self, i: FlowId, outcome: Outcome) {
        let flow = &mut self.flows[i];
        if std::mem::take(&mut flow.active) {
            let entry = &mut self.entries[flow.entry];
            entry.active -= 1;
            match outcome {
                Outcome::Finished => entry.counters.finished += 1,
                Outcome::Aborted => entry.counters.aborted += 1,
                Outcome::Unfinished => {}
            }
        }
    }

    /// Completes a transfer whose receiver has all data.
    pub(super) fn complete(&mut self, i: FlowId) {
        let flow = &self.flows[i];
        let fct = (self.now - flow.started) + flow.host_delay;
        let row = self.transfer(i).ended(Outcome::Finished, Some(fct.as_secs_f64()));
        if self.share.is_some() {
            return self.close(i, Some(row));
        }
        self.no_longer_active(i, Outcome::Finished);
        self.recorder.transfer(&row);
        self.object_is_there(i);
    }

    /// Returns the result row of an unfinished transfer. The number of retransmissions is correct only if the sender is
    /// in this part of the network.
    fn transfer(&self, i: FlowId) -> TransferRow {
        let flow = &self.flows[i];
        let entry = &self.entries[flow.entry];
        let path = entry.first_path(flow.started, flow.member);
        let [there, back] = entry.delays[path];
        let at_hosts = flow.base_rtt - there - back;
        let hosts = RoundTrip {
            total: flow.base_rtt,
            forward: flow.host_delay,
            reverse: at_hosts - flow.host_delay,
        };
        let bytes = flow.sender.size();
        TransferRow {
            flow: flow.entry.0,
            member: flow.member,
            start_s: flow.started.as_secs_f64(),
            bytes,
            hops: entry.ideal[path].hops(),
            rtt_s: flow.base_rtt.as_secs_f64(),
            ideal_s: entry.ideal_time(flow.member, bytes, &hosts),
            fct_s: f64::NAN,
            slowdown: f64::NAN,
            retransmitted: flow.sender.totals().retransmitted,
            outcome: Outcome::Unfinished.code(),
        }
    }

    /// Records the result of a transfer whose receiver lacks data.
    fn record_unfinished(parts: &mut [Self], i: FlowId, outcome: Outcome) {
        let [sender, _] = parts[0].ends(parts[0].flows[i].entry);
        let row = parts[sender].transfer(i).ended(outcome, None);
        parts[0].recorder.transfer(&row);
    }

    /// Records the unfinished transfers at the end of the run. The run must not continue afterwards.
    pub fn record_end(&mut self) {
        Self::record_end_of(std::slice::from_mut(self));
    }

    /// Records the unfinished transfers at the end of a run in several parts, in order of entries and start times.
    pub(crate) fn record_end_of(parts: &mut [Self]) {
        Self::close_flows(parts);
        Self::release(parts);
        let whole = &parts[0];
        let goes_on = |&i: &FlowId| {
            let flow = &whole.flows[i];
            flow.active && whole.entries[flow.entry].has_transfers()
        };
        let mut unfinished: Vec<_> = whole.flows.ids().filter(goes_on).collect();
        unfinished.sort_by_key(|&i| {
            let flow = &whole.flows[i];
            (flow.entry, flow.member)
        });
        for i in unfinished {
            Self::record_unfinished(parts, i, Outcome::Unfinished);
        }
    }
}
