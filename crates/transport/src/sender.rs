//! The sending half of a flow: handshake, pacing, window, loss recovery and the end.

use std::marker::PhantomData;

use levelflow_laws::{Feedback, Kind, Loss, Opening, Outgoing};
use levelflow_laws::{Protocol, SenderLaw, Transport};
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::controller::{Bare, Controller};
use crate::cumulative::Step;
use crate::pacer::{Limits, Pacer};
use crate::recovery::{Recovery, Totals};
use crate::rtt::{self, FIRST_RTO};
use crate::scoreboard::{Acked, Change};
#[cfg(test)]
use crate::scoreboard::{MAX_PACKETS, Scoreboard};
use crate::stream::Chunk;

/// A transfer without end.
pub const ENDLESS: u64 = u64::MAX;

/// What flows of a kind have in common; it is lent to each call, since thousands of flows share it.
#[derive(Debug)]
pub struct Rules<'a, P: Protocol> {
    /// Parameters of the law.
    pub params: &'a P::Params,
    /// What the law needs.
    pub transport: &'a Transport,
    /// What the host adds.
    pub limits: &'a Limits,
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transmit<H> {
    /// What it is.
    pub kind: Kind,
    /// Transmission number.
    pub number: u32,
    /// Size on the wire.
    pub size: u16,
    /// First byte of its data in the transfer.
    pub offset: u64,
    /// Header of the law.
    pub header: H,
}

/// An ACK that came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack<H> {
    /// Number of the packet that is acked.
    pub number: u32,
    /// What that packet was.
    pub kind: Kind,
    /// Time from sending to ACK, without the time that the receiver held it back.
    pub rtt: Duration,
    /// Header of the packet, as routers and receiver left it.
    pub header: H,
    /// Whether a queue marked it.
    pub marked: bool,
    /// Bit `i`: packet `number - 1 - i` arrived.
    pub history: u128,
}

/// One flow at its sender. It has no clock and no socket: `now` never goes back.
///
/// A host asks [`poll_timeout`](Self::poll_timeout) when to call next, [`poll_transmit`](Self::poll_transmit) for what leaves,
/// and hands over ACKs and timeouts by [`handle_ack`](Self::handle_ack) and [`handle_timeout`](Self::handle_timeout). `T` is
/// what it wants to remember of each packet.
#[derive(Debug)]
#[repr(C)]
pub struct Sender<P: Protocol, C = Bare<<P as Protocol>::Sender>, T = ()> {
    next_number: u32,
    open: bool,
    /// True if gaps grow without ACKs; see [`starvation`](crate::starvation).
    starves: bool,
    /// True if a packet was sent since the last ACK.
    waits: bool,
    retries: u8,
    pacer: Pacer,
    recovery: Option<Box<Recovery<T>>>,
    /// End of the transfer.
    size: u64,
    /// End of what the application has written of it.
    written: u64,
    /// Next byte that has never been sent.
    position: u64,
    stop: Time,
    /// Start of the current wait for an ACK: the last ACK, or the first packet after it.
    heard: Time,
    /// The latest round-trip time.
    rtt: Duration,
    law: C,
    protocol: PhantomData<P>,
}

impl<P: Protocol, C: Controller<P>, T: Copy> Sender<P, C, T> {
    /// A flow without end that begins at `now`.
    #[must_use]
    pub fn new(law: C, transport: &Transport, now: Time) -> Self {
        Self {
            next_number: 0,
            open: transport.opening == Opening::Immediate,
            starves: transport.acknowledged && !transport.constant && law.timeout().is_none(),
            waits: false,
            retries: 0,
            pacer: Pacer::new(now),
            recovery: None,
            size: ENDLESS,
            written: ENDLESS,
            position: 0,
            stop: Time::NEVER,
            heard: now,
            rtt: Duration::ZERO,
            law,
            protocol: PhantomData,
        }
    }

    /// It carries so many bytes.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        (self.size, self.written) = (size, size);
        self
    }

    /// Nothing of it is there before the application [writes](Self::write).
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.written = 0;
        self
    }

    /// The application has so many bytes more to send.
    pub fn write(&mut self, bytes: u64) {
        self.check_limited();
        self.written = self.written.saturating_add(bytes).min(self.size);
    }

    /// It sends no data from then on.
    #[must_use]
    pub fn with_stop(mut self, stop: Time) -> Self {
        self.stop = stop;
        self
    }

    /// It keeps track of packets in flight, at most `most`; `retransmits`: lost data are sent again, as they always are without
    /// selective ACKs. No change if there are no ACKs at all.
    #[must_use]
    pub fn with_recovery(mut self, transport: &Transport, retransmits: bool, most: usize) -> Self {
        if !transport.acknowledged {
            return self;
        }
        self.recovery = Some(Box::new(Recovery::new(transport, retransmits, self.next_number, most)));
        self
    }

    /// It sends data at once: its owner has had a handshake.
    #[must_use]
    pub fn without_handshake(mut self) -> Self {
        self.open = true;
        self
    }

    /// Before the first packet: another instance of the law.
    pub fn replace_law(&mut self, law: C) {
        self.law = law;
    }

    /// The pace begins now: the next packet may leave.
    pub fn restart_pacing(&mut self, now: Time) {
        self.pacer = Pacer::new(now);
    }

    /// As if so many packets had been sent.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u32) {
        self.next_number = number;
        if let Some(recovery) = &mut self.recovery {
            recovery.board = Scoreboard::new(number, MAX_PACKETS, recovery.board.takes_samples());
        }
    }

    /// The law.
    #[inline]
    pub fn law(&self) -> &P::Sender {
        &self.law
    }

    /// Bytes that the flow carries, or [`ENDLESS`].
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When it stops, [`Time::NEVER`] for never.
    #[inline]
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Whether data may leave; before that, only opening packets do.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Smoothed round-trip time; none before the first ACK, or without recovery.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.recovery.as_ref()?.rtt.smoothed()
    }

    /// Data packets under way, as far as is known; 0 without recovery.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.recovery.as_ref().map_or(0, |r| r.outstanding())
    }

    /// What was heard of data in all; nothing without recovery.
    pub fn totals(&self) -> Totals {
        self.recovery.as_ref().map_or(Totals::default(), |r| r.repair.totals)
    }

    /// What is remembered of a packet: its kind, its tag, and whether its own ACK came.
    pub fn sent(&self, number: u32) -> Option<(Kind, T, bool)> {
        self.recovery.as_ref()?.board.get(number)
    }

    /// Rate of the law, within the host's limit.
    #[inline]
    pub fn rate(&self, limits: &Limits) -> Rate {
        limits.bounded(self.law.rate())
    }

    /// Whether there is something to send at `now`.
    #[inline]
    pub fn has_data(&self, now: Time) -> bool {
        now < self.stop && self.has_unsent()
    }

    /// Notes that the application limits what is on its way, if it does: all that it has written has been sent, and the window has
    /// room (draft-ietf-ccwg-bbr, section 4.1.2.4).
    #[inline]
    fn check_limited(&mut self) {
        if !self.has_unsent()
            && let Some(recovery) = self.recovery.as_deref_mut()
            && recovery.board.outstanding() < self.law.window()
        {
            recovery.board.mark_limited();
        }
    }

    fn has_unsent(&self) -> bool {
        self.position < self.written || self.recovery.as_ref().is_some_and(|r| !r.repair.queue.is_empty())
    }

    /// Whether the window has room for a packet.
    #[inline]
    pub fn may_send(&self) -> bool {
        let window = match self.law.window() {
            u32::MAX => true,
            window => self.outstanding() < window || self.must_resend(),
        };
        window && !self.is_full()
    }

    fn must_resend(&self) -> bool {
        self.recovery.as_ref().is_some_and(|r| r.must_resend())
    }

    /// Whether as many packets are remembered as may be.
    #[inline]
    fn is_full(&self) -> bool {
        self.recovery.as_ref().is_some_and(|r| r.board.is_full())
    }

    /// Whether everything has been sent and, as far as that is known, has arrived, or the flow has stopped.
    pub fn is_done(&self, now: Time) -> bool {
        now >= self.stop || (self.position >= self.size && self.is_delivered())
    }

    /// Whether everything that the application has written has been sent and, as far as that is known, has arrived.
    pub fn is_delivered(&self) -> bool {
        let waits = self.recovery.as_ref().is_some_and(|r| r.waits());
        self.open && !waits && !self.has_unsent()
    }

    /// When the pace allows the next packet, whether or not there is one and the window has room.
    #[inline]
    pub fn departure(&self, limits: &Limits) -> Time {
        if !self.open {
            return self.retry();
        }
        if self.law.paces() {
            self.paced_departure(limits)
        } else if let Some(rate) = limits.max_rate {
            self.due(rate)
        } else {
            self.pacer.last()
        }
    }

    /// The same for an open flow whose law paces.
    #[inline]
    pub fn paced_departure(&self, limits: &Limits) -> Time {
        self.due(self.pace(limits))
    }

    /// Scheduled departure of the last packet, from which pacing counts.
    #[inline]
    pub fn departed(&self) -> Time {
        self.pacer.last()
    }

    /// Rate at which the next packet is paced, within the host's limit.
    #[inline]
    fn pace(&self, limits: &Limits) -> Rate {
        limits.bounded(self.law.pace())
    }

    #[inline]
    fn due(&self, rate: Rate) -> Time {
        let heard = if self.starves { self.heard } else { self.pacer.last() };
        self.pacer.due(rate, heard, self.rtt)
    }

    /// Returns the send time of the next opening packet: at once, then after the first RTO, which doubles at each retry.
    fn retry(&self) -> Time {
        match self.retries.checked_sub(1) {
            None => self.pacer.last(),
            Some(doublings) => self.pacer.last().saturating_add(rtt::backed_off(FIRST_RTO, doublings)),
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) unless an ACK comes before. A law that need not hear of losses
    /// waits for ACKs only when it has nothing else to send, and one with a timer of its own also while it sends.
    #[inline]
    pub fn timeout(&self, transport: &Transport) -> Option<Time> {
        if let Some(own) = self.law.timeout() {
            let recovery = self
                .recovery
                .as_ref()
                .filter(|r| self.open && (r.waits() || self.has_unsent()))?;
            return Some(recovery.armed.saturating_add(own));
        }
        if !transport.tracks_losses && self.has_unsent() && !self.is_full() {
            return None;
        }
        let recovery = self.recovery.as_ref().filter(|r| r.waits())?;
        Some(recovery.armed.saturating_add(recovery.rtt.timeout()))
    }

    /// When something is to be done, if no ACK comes before; it may be in the past.
    pub fn poll_timeout(&self, rules: &Rules<'_, P>) -> Option<Time> {
        let sends = !self.open || (self.has_unsent() && self.may_send());
        let departure = sends.then(|| self.departure(rules.limits));
        let times = [departure, self.timeout(rules.transport), Some(self.stop)];
        times.into_iter().flatten().min().filter(|at| *at < Time::NEVER)
    }

    /// The packet that leaves now, if one is due, with `tag` to remember it by.
    pub fn poll_transmit(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Option<Transmit<P::Header>> {
        let may_send = !self.open || self.may_send();
        if !may_send || self.departure(rules.limits) > now {
            return None;
        }
        self.transmit(rules, now, tag)
    }

    /// As [`poll_transmit`](Self::poll_transmit), for a host that knows that pace and window allow a packet.
    #[inline(always)]
    pub fn transmit(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Option<Transmit<P::Header>> {
        if !self.open {
            if now >= self.stop {
                return None;
            }
            self.retries = self.retries.saturating_add(1);
            return Some(self.control(rules, now, Kind::Syn, tag));
        }
        let chunk = self.next_chunk(rules, now)?;
        Some(self.send(rules, now, Kind::Data, chunk, chunk.length, tag))
    }

    /// A data packet of this size leaves, which the host has cut itself.
    pub fn transmit_sized(&mut self, rules: &Rules<'_, P>, now: Time, size: u16, tag: T) -> Transmit<P::Header> {
        let chunk = Chunk {
            offset: self.position,
            length: size,
        };
        self.send(rules, now, Kind::Data, chunk, size, tag)
    }

    /// The packet that tells the far end that the flow is over.
    pub fn transmit_end(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Transmit<P::Header> {
        self.control(rules, now, Kind::Fin, tag)
    }

    fn control(&mut self, rules: &Rules<'_, P>, now: Time, kind: Kind, tag: T) -> Transmit<P::Header> {
        self.send(rules, now, kind, Chunk::NONE, rules.limits.control, tag)
    }

    /// The next piece to send, if there is one: lost pieces first, then new data.
    #[inline(always)]
    fn next_chunk(&mut self, rules: &Rules<'_, P>, now: Time) -> Option<Chunk> {
        if now >= self.stop {
            return None;
        }
        if let Some(recovery) = &mut self.recovery
            && let Some(chunk) = recovery.repair.queue.pop_front()
        {
            recovery.repair.totals.retransmitted += 1;
            return Some(chunk);
        }
        let left = self.written - self.position;
        if left == 0 {
            return None;
        }
        let packet = self.law.packet_size(rules.params).get();
        let chunk = Chunk {
            offset: self.position,
            length: (packet.min(left) as u16).max(rules.limits.least),
        };
        self.position += u64::from(chunk.length).min(left);
        Some(chunk)
    }

    #[inline(always)]
    fn send(
        &mut self,
        rules: &Rules<'_, P>,
        now: Time,
        kind: Kind,
        chunk: Chunk,
        size: u16,
        tag: T,
    ) -> Transmit<P::Header> {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if number == 0 && self.law.paces() {
            self.pacer = Pacer::new(now); // the time before its first packet was not missed
        }
        if !self.waits {
            (self.heard, self.waits) = (now, true); // before, there was no ACK to wait for
        }
        let catch_up = rules.limits.catch_up;
        if catch_up == Duration::ZERO || !self.open {
            self.pacer.on_send(now, size);
        } else {
            let (due, rate) = (self.departure(rules.limits), self.pace(rules.limits));
            self.pacer.on_send_due(now, size, due, rate, catch_up);
        }
        if let Some(recovery) = &mut self.recovery {
            let waits = recovery.waits();
            if !rules.transport.tracks_losses || !waits {
                recovery.armed = now;
            }
            if kind == Kind::Data {
                if !waits && rules.transport.tracks_losses {
                    self.law.on_restart(rules.params, now, &recovery.restart(now));
                }
                recovery.left = Some(now);
                if let Some(cumulative) = &mut recovery.cumulative {
                    cumulative.on_send(chunk);
                }
            }
            let forgotten = recovery.board.on_send(now, kind, chunk, tag);
            if let Some(change) = forgotten {
                recovery.repair.take(change);
                Self::tell(&mut self.law, rules, now, change, number);
            }
        }
        let outgoing = Outgoing {
            number,
            size: Bytes::new(u64::from(size)),
            kind,
        };
        Transmit {
            kind,
            number,
            size,
            offset: chunk.offset,
            header: self.law.on_send(rules.params, now, &outgoing),
        }
    }

    /// The law hears of a loss, if it needs to.
    fn tell(law: &mut C, rules: &Rules<'_, P>, now: Time, change: Change, next: u32) {
        if let Change::Lost {
            number,
            outstanding,
            flight,
            ..
        } = change
            && rules.transport.tracks_losses
        {
            let loss = Loss {
                number,
                next,
                outstanding,
            };
            if let Some(flight) = flight.filter(|_| rules.transport.tells_flights) {
                law.on_flight(rules.params, now, &flight);
            }
            law.on_loss(rules.params, now, &loss);
        }
    }

    /// An ACK came. The law hears of the losses that it shows, then of the ACK.
    #[inline(always)]
    pub fn handle_ack(&mut self, rules: &Rules<'_, P>, now: Time, ack: &Ack<P::Header>) -> Acked {
        let in_time = rules.limits.catch_up > Duration::ZERO && !self.is_late(rules, now);
        if rules.transport.takes_samples() {
            self.check_limited();
        }
        let mut feedback = Feedback::plain(ack.number, ack.kind, ack.rtt, ack.header);
        feedback.marked = ack.marked;
        (self.heard, self.waits, self.rtt) = (now, false, ack.rtt);
        let mut acked = Acked::default();
        if let Some(recovery) = self.recovery.as_deref_mut() {
            acked = if recovery.cumulative.is_none() {
                Self::recover(recovery, &mut self.law, rules, now, *ack, self.next_number)
            } else {
                Self::recover_in_order(recovery, &mut self.law, rules, now, *ack, self.next_number)
            };
            let spared = std::mem::take(&mut recovery.repair.spared);
            if ack.kind == Kind::Data {
                // What was neither in flight nor sent again says nothing about the window.
                feedback.acked = acked.packets.saturating_sub(spared);
                (feedback.returned, feedback.gap) = (acked.returned, acked.gap);
                feedback.delivery = acked.delivery.filter(|_| rules.transport.measures_delivery);
            }
            feedback.outstanding = recovery.outstanding();
        }
        if let Some(flight) = acked.flight.filter(|_| rules.transport.tells_flights) {
            self.law.on_flight(rules.params, now, &flight);
        }
        self.law.on_feedback(rules.params, now, &feedback);
        if !self.open {
            self.open = true;
            self.pacer = Pacer::new(now);
        } else if in_time && self.departure(rules.limits) < now {
            // What window or rate held up until now was not missed.
            self.pacer = Pacer::new(now);
        }
        acked
    }

    #[inline(never)]
    fn recover(
        recovery: &mut Recovery<T>,
        law: &mut C,
        rules: &Rules<'_, P>,
        now: Time,
        ack: Ack<P::Header>,
        next: u32,
    ) -> Acked {
        recovery.rtt.on_sample(ack.rtt);
        recovery.armed = now;
        let repair = &mut recovery.repair;
        let mut acked = recovery.board.on_ack(now, ack.number, ack.history, |change| {
            repair.take(change);
            Self::tell(law, rules, now, change, next);
        });
        if acked.lost > 0 {
            repair.begin(next);
        }
        while let Some(chunk) = repair.resent.pop() {
            recovery.board.on_duplicate(chunk);
        }
        acked.gap |= repair.is_under_way(ack.number);
        repair.totals.delivered += u64::from(acked.packets);
        repair.totals.delivered_bytes += acked.bytes;
        acked
    }

    /// The same without selective ACKs: the law hears of a loss at a fast retransmit, and an ACK is progress if the cumulative one
    /// moves.
    #[inline(never)]
    fn recover_in_order(
        recovery: &mut Recovery<T>,
        law: &mut C,
        rules: &Rules<'_, P>,
        now: Time,
        ack: Ack<P::Header>,
        next: u32,
    ) -> Acked {
        recovery.rtt.on_sample(ack.rtt);
        let (board, repair) = (&mut recovery.board, &mut recovery.repair);
        let Some(cumulative) = &mut recovery.cumulative else {
            return Acked::default();
        };
        let heard = board.on_ack(now, ack.number, ack.history, |change| {
            if let Change::Arrived(chunk) = change {
                cumulative.arrive(chunk);
            }
        });
        repair.totals.delivered += u64::from(heard.packets);
        repair.totals.delivered_bytes += heard.bytes;
        if ack.kind != Kind::Data {
            return Acked::default();
        }
        let (step, packets) = cumulative.on_ack(repair.queue.len());
        repair.forget_before(cumulative.acked());
        if matches!(
            step,
            Step::FastRetransmit | Step::Advance | Step::Partial { first: true }
        ) {
            recovery.armed = now;
        }
        let missing = cumulative.unacked().next();
        if let (Step::FastRetransmit | Step::Partial { .. }, Some(chunk)) = (step, missing) {
            repair.totals.lost += 1;
            repair.totals.lost_bytes += u64::from(chunk.length);
            if step == Step::FastRetransmit {
                let number = board.last_sent(chunk).unwrap_or(ack.number);
                let outstanding = cumulative.outstanding(repair.queue.len());
                Self::tell(
                    law,
                    rules,
                    now,
                    Change::Lost {
                        number,
                        chunk,
                        outstanding,
                        flight: None,
                    },
                    next,
                );
            }
            repair.queue.push_front(chunk);
        }
        Acked {
            packets,
            gap: step != Step::Advance,
            delivery: heard.delivery,
            ..Acked::default()
        }
    }

    /// Whether a packet that could have left has not.
    fn is_late(&self, rules: &Rules<'_, P>, now: Time) -> bool {
        self.may_send() && self.departure(rules.limits) <= now
    }

    /// The timer expired: everything in flight is declared lost, and retransmitted at once. A timer of the law's own changes the
    /// pace alone, while there is more to send: the ACKs of that will show what was lost.
    pub fn handle_timeout(&mut self, rules: &Rules<'_, P>, now: Time) {
        if self.timeout(rules.transport).is_none_or(|timeout| now < timeout) {
            return;
        }
        self.check_limited();
        let paces_on = self.law.timeout().is_some();
        let goes_on = paces_on && self.has_unsent() && !self.is_full();
        let Some(recovery) = self.recovery.as_deref_mut() else {
            return;
        };
        recovery.on_timeout(now, self.next_number, goes_on);
        if rules.transport.tracks_losses {
            self.law.on_timeout(rules.params, now, self.next_number);
            if !paces_on {
                self.pacer = Pacer::new(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
