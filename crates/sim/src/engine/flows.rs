//! The life of a flow: it arrives, opens, sends at its law's pace, waits for answers, and ends.

use levelflow_laws::{Kind, Opening, Protocol, SenderLaw};

use super::{Entry, Sim};
use crate::ackdelay::AckDelay;
use crate::events::Target;
use crate::flow::{ENDLESS, Flow, NEVER, NO_SESSION, Phase, later};
use crate::overhead::Overhead;
use crate::reliable::{Chunk, Reliable};
use levelflow_random::Stream;
use levelflow_scenario::RoundTrip;

impl<P: Protocol> Sim<P> {
    /// Feedback may have changed rate or window, or brought something to send again, or been the last.
    #[inline]
    pub(super) fn pump(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if !flow.sender.paces() {
            return self.fill_window(i);
        }
        if flow.pace.is_set() || flow.has_data(self.now) {
            if !flow.may_send() {
                flow.pace.clear();
                return self.wait(i);
            }
            let due = flow.next_departure(self.now);
            if let Some(at) = flow.pace.set(due) {
                self.schedule(at, Target::Send(i));
            }
            if self.tracks_losses(i) {
                self.wait(i);
            } else {
                self.flows[i as usize].timer.clear();
            }
        } else {
            self.idle(i);
        }
    }

    fn tracks_losses(&self, i: u32) -> bool {
        let entry = self.flows[i as usize].entry;
        self.entries[entry as usize].transport.tracks_losses
    }

    /// Sends now, a packet or what the window allows.
    fn resume(&mut self, i: u32) {
        if self.flows[i as usize].sender.paces() {
            self.transmit(i);
        } else {
            self.fill_window(i);
        }
    }

    /// Sends what the window allows.
    fn fill_window(&mut self, i: u32) {
        while self.flows[i as usize].may_send() && !self.is_full() {
            if !self.send_chunk(i) {
                return self.idle(i);
            }
        }
        self.wait(i);
    }

    /// The pace allows a packet: sends it and sets the time of the one after it.
    pub(super) fn transmit(&mut self, i: u32) {
        if !self.flows[i as usize].may_send() {
            return self.wait(i);
        }
        if !self.send_chunk(i) {
            return self.idle(i);
        }
        let flow = &mut self.flows[i as usize];
        if let Some(at) = flow.pace.set(flow.next_departure(self.now)) {
            self.schedule(at, Target::Send(i));
        }
        if self.tracks_losses(i) && !self.flows[i as usize].timer.is_set() {
            self.wait(i);
        }
    }

    /// Sends the next piece; false if there is none.
    fn send_chunk(&mut self, i: u32) -> bool {
        let flow = &mut self.flows[i as usize];
        let params = &self.entries[flow.entry as usize].spec.params;
        let size = flow.sender.packet_size(params);
        let Some(chunk) = flow.next_chunk(self.now, size) else {
            return false;
        };
        if let Some(reliable) = &mut flow.reliable {
            reliable.on_send(self.now, flow.next_number, chunk);
        }
        self.send(i, Kind::Data, chunk);
        true
    }

    /// Sets the time at which the sender gives up waiting for an answer, if one is to come.
    fn wait(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        let Some(reliable) = flow.reliable.as_ref().filter(|r| r.outstanding() > 0) else {
            return flow.timer.clear();
        };
        let timeout = reliable.timeout();
        if let Some(at) = flow.timer.set(later(self.now, timeout)) {
            self.schedule(at, Target::Timer(i));
        }
    }

    /// Nothing to send now: wait for answers, or end.
    fn idle(&mut self, i: u32) {
        if self.flows[i as usize].is_waiting(self.now) {
            self.wait(i);
        } else {
            self.end_flow(i);
        }
    }

    fn end_flow(&mut self, i: u32) {
        let entry = &mut self.entries[self.flows[i as usize].entry as usize];
        if entry.transport.opening == Opening::Handshake {
            self.send(i, Kind::Fin, Chunk { offset: 0, length: 0 });
        }
        let flow = &mut self.flows[i as usize];
        flow.phase = Phase::Over;
        flow.timer.clear();
        flow.pace.clear();
        let stopped = flow.size == ENDLESS || self.now >= flow.stop;
        flow.in_flight += 1;
        if stopped {
            self.no_longer_active(i);
        }
        self.left_network(i);
    }

    /// No answer came in time.
    pub(super) fn timeout(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        match flow.phase {
            Phase::Opening => {
                flow.retries += 1;
                self.open(i);
            }
            Phase::Running => {
                if let Some(reliable) = &mut flow.reliable {
                    reliable.on_timeout();
                    let params = &self.entries[flow.entry as usize].spec.params;
                    flow.sender.on_timeout(params, self.now, flow.next_number);
                }
                self.resume(i);
            }
            Phase::Over | Phase::Free => {}
        }
    }

    /// Sends the packet that opens a flow, or gives up after the flow's stop.
    fn open(&mut self, i: u32) {
        let flow = &mut self.flows[i as usize];
        if self.now >= flow.stop {
            return self.end_flow(i);
        }
        let timeout = flow.retry_timeout();
        if let Some(at) = flow.timer.set(self.now + timeout) {
            self.schedule(at, Target::Timer(i));
        }
        self.send(i, Kind::Syn, Chunk { offset: 0, length: 0 });
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
        let Entry { spec, schedule, .. } = entry;
        let drawn = schedule.flow(spec, self.now);
        let rtt = RoundTrip::new(drawn.rtt, entry.delays);
        let mut flow = Flow::new(e, &spec.params, &entry.info, self.now);
        flow.size = drawn.size.map_or(ENDLESS, |size| size.min(ENDLESS - 1));
        flow.session = session;
        flow.stop = drawn.stop.unwrap_or(NEVER);
        flow.base_rtt = rtt.total;
        flow.host_delay = rtt.forward;
        flow.pipe = self.pipes.join(rtt.at_hosts());
        if let Some(delay) = &spec.ack_delay {
            let name = format!("{}.{}", spec.name, entry.counters.started);
            flow.ack_delay = self.ack_delays.len() as u32;
            self.ack_delays
                .push(AckDelay::new(delay.clone(), Stream::new(self.seed, "ack delay", &name)));
        }
        if spec.overhead.as_ps() > 0 {
            let name = format!("{}.{}", spec.name, entry.counters.started);
            let stream = Stream::new(self.seed, "overhead", &name);
            flow.overhead = Some(Box::new(Overhead::new(spec.overhead, stream)));
        }
        if spec.reliable || entry.transport.tracks_losses {
            flow.reliable = Some(Box::new(Reliable::new(entry.transport.min_timeout)));
        }
        entry.counters.started += 1;
        entry.active += 1;
        let opening = entry.transport.opening;
        let i = self.place(flow);
        match opening {
            Opening::Handshake => self.open(i),
            Opening::Immediate => {
                self.flows[i as usize].phase = Phase::Running;
                self.resume(i);
            }
        }
    }

    /// Puts a flow into a slot that its own entry left, or a new one, so that the order of simultaneous events does not
    /// depend on other entries.
    fn place(&mut self, flow: Flow<P>) -> u32 {
        if let Some(i) = self.entries[flow.entry as usize].free_flows.pop() {
            self.flows[i as usize] = flow;
            return i;
        }
        self.flows.push(flow);
        (self.flows.len() - 1) as u32
    }
}
