//! The life of a flow: it arrives, opens, sends at its law's pace, waits for ACKs, and ends.

use std::cmp::Reverse;

use levelflow_laws::{Opening, Protocol, SenderLaw};
use levelflow_path::scheduler::{Class, Ecn};
use levelflow_transport::ENDLESS;
use levelflow_units::Time;

use super::Sim;
use crate::ackdelay::AckDelay;
use crate::alarm::{Alarm, Fired};
use crate::entry::Entry;
use crate::events::Target;
use crate::flow::{Flow, LIMITS, NO_SESSION, Phase, Writes};
use crate::limit::packets_beside;
use crate::overhead::Overhead;
use levelflow_random::Stream;
use levelflow_results::CompletionRow;
use levelflow_scenario::{Application, RoundTrip};

/// What tells the flows of an entry apart: an odd number, so that none of 2^32 are the same.
const APART: u32 = 0x9e37_79b1;

impl<P: Protocol> Sim<P> {
    /// An ACK may have changed rate or window, or brought something to send again, or been the last.
    #[inline]
    pub(super) fn pump(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
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

    /// Sends now, a packet or what the window allows.
    fn resume(&mut self, i: u32) {
        if self.flows[i as usize].sender.law().paces() {
            self.transmit(i);
        } else {
            self.fill_window(i);
        }
    }

    /// Sends what the window allows.
    fn fill_window(&mut self, i: u32) {
        while self.flows[i as usize].sender.may_send() && !self.is_full() {
            if !self.send_data(i) {
                return self.idle(i);
            }
        }
        self.wait(i);
    }

    /// The pace allows a packet: sends it and sets the time of the one after it.
    pub(super) fn transmit(&mut self, i: u32) {
        if !self.flows[i as usize].sender.may_send() {
            return self.wait(i);
        }
        if !self.send_data(i) {
            return self.idle(i);
        }
        let flow = &mut self.flows[i as usize];
        if let Some(at) = flow.pace.set(flow.departure(self.now)) {
            self.schedule(at, Target::Send(i));
        }
        let flow = &self.flows[i as usize];
        // In this order, a flow without a timer needs four cache lines.
        if flow.incoming.is_some() && !flow.timer.is_set() {
            self.set_timer(i);
        }
    }

    /// Sends the next piece; false if there is none.
    #[inline(always)] // per packet
    fn send_data(&mut self, i: u32) -> bool {
        let flow = &mut self.flows[i as usize];
        let rules = self.entries[flow.entry as usize].rules.lend();
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

    /// Sets the time at which a sender that keeps track of its packets gives up waiting for an ACK, if one is to come.
    #[inline]
    fn wait(&mut self, i: u32) {
        if self.flows[i as usize].incoming.is_some() {
            self.set_timer(i);
        }
    }

    fn set_timer(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let Some(due) = flow.sender.timeout(&self.entries[flow.entry as usize].rules.transport) else {
            return flow.timer.clear();
        };
        if let Some(at) = flow.timer.set(due.max(self.now)) {
            self.schedule(at, Target::Timer(i));
        }
    }

    /// Nothing to send now: wait for ACKs, or end.
    fn idle(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
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

    /// Sets the time at which an application writes, or its flow stops.
    fn await_write(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let Some(writes) = &mut flow.writes else { return };
        let due = writes.application.due().unwrap_or(Time::NEVER).min(flow.sender.stop());
        if let Some(at) = writes.alarm.set(due.max(self.now)) {
            self.schedule(at, Target::Write(i));
        }
    }

    /// An application may have something to send.
    pub(super) fn write(&mut self, i: u32) {
        self.events.pop(Target::Write(i));
        let flow = &mut self.flows[i as usize];
        let Some(writes) = &mut flow.writes else { return };
        match writes.alarm.fire(self.now) {
            Fired::Now if flow.phase == Phase::Live => {
                while writes.application.due().is_some_and(|at| at <= self.now) {
                    flow.sender.write(writes.application.write());
                }
                self.await_write(i);
                if self.flows[i as usize].sender.is_open() {
                    self.pump(i);
                }
            }
            Fired::Later(at) => self.schedule(at, Target::Write(i)),
            Fired::Now | Fired::Stale => {}
        }
    }

    fn end_flow(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let entry = &mut self.entries[flow.entry as usize];
        if entry.rules.transport.opening == Opening::Handshake {
            let end = flow.sender.transmit_end(&entry.rules.lend(), self.now, ());
            self.launch(i, end);
        }
        let flow = &mut self.flows[i as usize];
        flow.phase = Phase::Done;
        flow.timer.clear();
        flow.pace.clear();
        flow.writes = None;
        let stopped = flow.sender.size() == ENDLESS || self.now >= flow.sender.stop();
        self.ended.push(i);
        match (stopped, self.share.is_some()) {
            (true, true) => self.close(i, None),
            (true, false) => self.no_longer_active(i),
            (false, _) => {}
        }
    }

    /// No ACK came in time.
    pub(super) fn timeout(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if flow.phase != Phase::Live {
            return;
        }
        if !flow.sender.is_open() {
            return self.open(i);
        }
        let rules = self.entries[flow.entry as usize].rules.lend();
        flow.sender.handle_timeout(&rules, self.now);
        self.resume(i);
    }

    /// Sends the packet that opens a flow, or gives up after the flow's stop.
    fn open(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let rules = self.entries[flow.entry as usize].rules.lend();
        let Some(packet) = flow.sender.transmit(&rules, self.now, ()) else {
            return self.end_flow(i);
        };
        if let Some(at) = flow.timer.set(flow.sender.departure(&LIMITS)) {
            self.schedule(at, Target::Timer(i));
        }
        self.launch(i, packet);
    }

    /// An entry starts flows and says when it will do so again.
    pub(super) fn arrival(&mut self, i: u32) {
        let entry = &mut self.entries[i as usize];
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

    /// One more flow of an entry, which may be part of a session.
    pub(super) fn start_flow(&mut self, e: u32, session: u32) {
        let entry = &mut self.entries[e as usize];
        let member = entry.counters.started as u32;
        let [at_first, now] = [0, entry.plan].map(|plan| entry.delays[entry.path(plan, member)]);
        let hop = entry.hop(member);
        let Entry { spec, schedule, .. } = entry;
        let drawn = schedule.flow(spec, self.now);
        let rtt = RoundTrip::new(drawn.rtt, at_first);
        let recovers = spec.reliable || entry.rules.transport.tracks_losses;
        let mut flow = Flow::new(e, &entry.rules.params, &entry.info, self.now, recovers);
        let size = drawn.size.map_or(ENDLESS, |size| size.min(ENDLESS - 1));
        flow.sender = flow.sender.with_size(size).with_stop(drawn.stop.unwrap_or(Time::NEVER));
        if let Some(application) = &spec.application {
            let name = format!("{}.{member}", spec.name);
            let application = Application::new(application, spec.packet, self.now, self.seed, &name);
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
            let name = format!("{}.{}", spec.name, flow.member);
            flow.ack_delay = self.ack_delays.len() as u32;
            self.ack_delays
                .push(AckDelay::new(delay.clone(), Stream::new(self.seed, "ack delay", &name)));
        }
        if spec.overhead.as_ps() > 0 {
            let name = format!("{}.{}", spec.name, flow.member);
            let stream = Stream::new(self.seed, "overhead", &name);
            flow.overhead = Some(Box::new(Overhead::new(spec.overhead, stream)));
        }
        entry.counters.started += 1;
        entry.active += 1;
        let (opening, [source, destination]) = (entry.rules.transport.opening, entry.spec.ends);
        let identity = entry.identity.wrapping_add(member.wrapping_mul(APART));
        let i = self.place(flow);
        if self.classifies {
            let class = Class {
                flow: identity,
                source,
                destination,
                ecn: Ecn::NotCapable,
            };
            self.packets.set_class(i, class);
        }
        if !self.sends(e) {
            return;
        }
        self.await_write(i);
        match opening {
            Opening::Handshake => self.open(i),
            Opening::Immediate => self.resume(i),
        }
    }

    /// Puts a flow into the first slot that its own entry left, or a new one, so that the order of simultaneous events does not
    /// depend on other entries.
    fn place(&mut self, flow: Flow<P>) -> u32 {
        if let Some(Reverse(i)) = self.entries[flow.entry as usize].free_flows.pop() {
            self.flows[i as usize] = flow;
            return i;
        }
        self.flows.push(flow);
        self.most_packets = packets_beside(self.flows.len(), self.memory_limit);
        (self.flows.len() - 1) as u32
    }

    /// Frees the slots of flows that have ended and have no packets on their way.
    pub(super) fn release(parts: &mut [Self]) {
        let mut over = Vec::new();
        for part in 0..parts.len() {
            let mut ended = std::mem::take(&mut parts[part].ended);
            ended.retain(|&i| {
                let in_flight = parts.iter().map(|part| part.flows[i as usize].in_flight);
                let is_over = in_flight.fold(0, u32::wrapping_add) == 0;
                if is_over {
                    over.push(i);
                }
                !is_over
            });
            parts[part].ended = ended;
        }
        over.sort_unstable();
        for part in parts {
            over.iter().for_each(|&i| part.free(i));
        }
    }

    fn free(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        (flow.phase, flow.in_flight) = (Phase::Free, 0);
        self.pipes.leave(flow.pipe);
        self.entries[flow.entry as usize].free_flows.push(Reverse(i));
        if self.is_first() {
            self.no_longer_active(i);
        }
    }

    pub(super) fn no_longer_active(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if std::mem::take(&mut flow.active) {
            let entry = &mut self.entries[flow.entry as usize];
            entry.active -= 1;
            entry.counters.finished += 1;
        }
    }

    /// A receiver has everything.
    pub(super) fn complete(&mut self, i: u32) {
        let flow = &self.flows[i as usize];
        let fct = (self.now - flow.started) + flow.host_delay;
        let row = CompletionRow {
            flow: flow.entry,
            start_s: flow.started.as_secs_f64(),
            fct_s: fct.as_secs_f64(),
            bytes: flow.sender.size(),
            rtt_s: flow.base_rtt.as_secs_f64(),
            retransmitted: flow.sender.totals().retransmitted,
        };
        if self.share.is_some() {
            return self.close(i, Some(row));
        }
        self.no_longer_active(i);
        self.recorder.completion(&row);
        self.object_is_there(i);
    }
}
