//! Sender of a flow: handshake, pacing, congestion window, loss recovery and end of the flow.

mod losses;

use std::marker::PhantomData;

use levelflow_laws::{Feedback, HeaderOf, Kind, Opening, Outgoing};
use levelflow_laws::{Protocol, SenderLaw, Transport};
use levelflow_units::{Bytes, Duration, Rate, Time};

use crate::pacer::{Limits, Pacer};
use crate::recovery::{Recovery, Totals};
use crate::rtt::{self, FIRST_RTO};
use crate::scoreboard::Acked;
#[cfg(test)]
use crate::scoreboard::{MAX_PACKETS, Scoreboard};
use crate::stream::Chunk;

/// Size of a transfer that never ends.
pub const ENDLESS: u64 = u64::MAX;

/// Settings shared by all flows with the same law and host.
#[derive(Debug)]
pub struct Rules<'a, P: Protocol> {
    /// Parameters of the law.
    pub params: &'a P::Params,
    /// Transport requirements of the law.
    pub transport: &'a Transport,
    /// Limits of the host.
    pub limits: &'a Limits,
}

/// Packet to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transmit<H> {
    /// Kind of the packet.
    pub kind: Kind,
    /// Packet number.
    pub number: u32,
    /// Size on the wire.
    pub size: u16,
    /// Position of the packet's first byte in the transfer.
    pub offset: u64,
    /// Header of the law.
    pub header: H,
}

/// ACK received by a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ack<H> {
    /// Number of the acknowledged packet.
    pub number: u32,
    /// Kind of the acknowledged packet.
    pub kind: Kind,
    /// Round-trip time, minus the delay of the ACK at the receiver.
    pub rtt: Duration,
    /// Header of the acknowledged packet, after routers and the receiver have processed it.
    pub header: H,
    /// True if a queue marked the acknowledged packet.
    pub marked: bool,
    /// ACK history. Bit `i` is set if packet `number - 1 - i` arrived.
    pub history: u128,
}

/// Sender of one flow. It has no clock and no socket. The argument `now` never decreases.
///
/// [`poll_timeout`](Self::poll_timeout) returns the time of the host's next call.
/// [`poll_transmit`](Self::poll_transmit) returns packets. The host passes ACKs to [`handle_ack`](Self::handle_ack) and
/// timeouts to [`handle_timeout`](Self::handle_timeout). `T` is the type of the host's own data about each packet.
#[derive(Debug)]
#[repr(C)]
pub struct Sender<P: Protocol, L = <P as Protocol>::Sender, T = ()> {
    next_number: u32,
    open: bool,
    /// True if inter-packet times increase without ACKs; see [`starvation`](crate::starvation).
    starves: bool,
    /// True if a packet has been sent since the latest ACK.
    waits: bool,
    retries: u8,
    pacer: Pacer,
    recovery: Option<Box<Recovery<T>>>,
    /// Size of the transfer, bytes.
    size: u64,
    /// Bytes written by the application so far.
    written: u64,
    /// Position of the first byte not yet sent.
    position: u64,
    stop: Time,
    /// Start of the current wait for an ACK. This is the time of the latest ACK, or the send time of the first packet
    /// after it.
    last_ack_at: Time,
    /// Latest round-trip time.
    rtt: Duration,
    law: L,
    protocol: PhantomData<P>,
}

impl<P, L, T> Sender<P, L, T>
where
    P: Protocol,
    L: SenderLaw<Params = P::Params, Header = HeaderOf<P>>,
    T: Copy,
{
    /// Creates an unlimited flow that starts at `now`.
    #[must_use]
    pub fn new(law: L, transport: &Transport, now: Time) -> Self {
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
            last_ack_at: now,
            rtt: Duration::ZERO,
            law,
            protocol: PhantomData,
        }
    }

    /// Sets the size of the transfer, bytes.
    #[must_use]
    pub fn with_size(mut self, size: u64) -> Self {
        (self.size, self.written) = (size, size);
        self
    }

    /// Makes the flow start without data. The application [writes](Self::write) data later.
    #[must_use]
    pub fn with_application(mut self) -> Self {
        self.written = 0;
        self
    }

    /// Adds data written by the application. `bytes` is its length.
    pub fn write(&mut self, bytes: u64) {
        self.check_app_limited();
        self.written = self.written.saturating_add(bytes).min(self.size);
    }

    /// Sets the stop time. No data is sent from this time on.
    #[must_use]
    pub fn with_stop(mut self, stop: Time) -> Self {
        self.stop = stop;
        self
    }

    /// Makes the sender track at most `most` packets. Lost data is retransmitted if `retransmits` is true. Without
    /// SACK, lost data is always retransmitted. The method does nothing for a law without ACKs.
    #[must_use]
    pub fn with_recovery(mut self, transport: &Transport, retransmits: bool, most: usize) -> Self {
        if !transport.acknowledged {
            return self;
        }
        self.recovery = Some(Box::new(Recovery::new(transport, retransmits, self.next_number, most)));
        self
    }

    /// Opens the flow at once. The owner has already completed a handshake.
    #[must_use]
    pub fn without_handshake(mut self) -> Self {
        self.open = true;
        self
    }

    /// Replaces the law. The new law has no state of packets in flight, so call this method before the first packet, or
    /// for laws without reaction to feedback.
    pub fn replace_law(&mut self, law: L) {
        self.law = law;
    }

    /// Restarts pacing. The next packet may leave at `now`.
    pub fn restart_pacing(&mut self, now: Time) {
        self.pacer = Pacer::new(now);
    }

    /// Skips packet numbers up to `number`.
    #[cfg(test)]
    pub(crate) fn skip_to(&mut self, number: u32) {
        self.next_number = number;
        if let Some(recovery) = &mut self.recovery {
            recovery.board = Scoreboard::new(number, MAX_PACKETS, recovery.board.takes_samples());
        }
    }

    /// Returns the law.
    #[inline]
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Returns the size of the transfer in bytes, or [`ENDLESS`].
    #[inline]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the time at which the flow stops, or [`Time::NEVER`].
    #[inline]
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Returns true if data may be sent. Until the handshake is complete, the flow sends only opening packets.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Returns the smoothed round-trip time. `None` before the first ACK, or without loss recovery.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.recovery.as_ref()?.rtt.smoothed()
    }

    /// Returns the number of data packets in flight, according to the ACKs received so far; 0 without loss recovery.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.recovery.as_ref().map_or(0, |r| r.outstanding())
    }

    /// Returns counts of data delivered, lost and retransmitted. All counts are zero without loss recovery.
    pub fn totals(&self) -> Totals {
        self.recovery
            .as_ref()
            .map_or(Totals::default(), |r| r.retransmit_queue.totals)
    }

    /// Returns kind and tag of a packet, and true if its own ACK has arrived.
    pub fn sent(&self, number: u32) -> Option<(Kind, T, bool)> {
        self.recovery.as_ref()?.board.get(number)
    }

    /// Returns the rate of the law, or the host's rate limit if that is lower.
    #[inline]
    pub fn rate(&self, limits: &Limits) -> Rate {
        limits.bounded(self.law.rate())
    }

    /// Returns true if the flow has data to send at `now`.
    #[inline]
    pub fn has_data(&self, now: Time) -> bool {
        now < self.stop && self.has_unsent()
    }

    /// Marks the packets in flight as application-limited (draft-ietf-ccwg-bbr, section 4.1.2.4). This applies if all
    /// written data has been sent and the congestion window is not full.
    #[inline]
    fn check_app_limited(&mut self) {
        if !self.has_unsent()
            && let Some(recovery) = self.recovery.as_deref_mut()
            && recovery.board.outstanding() < self.law.window()
        {
            recovery.board.mark_limited();
        }
    }

    fn has_unsent(&self) -> bool {
        self.position < self.written
            || self
                .recovery
                .as_ref()
                .is_some_and(|r| !r.retransmit_queue.queue.is_empty())
    }

    /// Returns true if the congestion window and the scoreboard have room for a packet.
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

    /// Returns true if the scoreboard has no room for another packet.
    #[inline]
    fn is_full(&self) -> bool {
        self.recovery.as_ref().is_some_and(|r| r.board.is_full())
    }

    /// Returns true if the flow has stopped, or if ACKs show that all its data has arrived.
    pub fn is_done(&self, now: Time) -> bool {
        now >= self.stop || (self.position >= self.size && self.is_delivered())
    }

    /// Returns true if ACKs show that all written data has arrived.
    pub fn is_delivered(&self) -> bool {
        let waits = self.recovery.as_ref().is_some_and(|r| r.waits());
        self.open && !waits && !self.has_unsent()
    }

    /// Returns the time at which pacing allows the next packet, regardless of data and congestion window.
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

    /// Returns [`departure`](Self::departure) for an open flow whose law paces.
    #[inline]
    pub fn paced_departure(&self, limits: &Limits) -> Time {
        self.due(self.pace(limits))
    }

    /// Returns the scheduled departure of the latest packet. Pacing continues from this time.
    #[inline]
    pub fn departed(&self) -> Time {
        self.pacer.last()
    }

    /// Returns the pacing rate of the next packet, or the host's rate limit if that is lower.
    #[inline]
    fn pace(&self, limits: &Limits) -> Rate {
        limits.bounded(self.law.pace())
    }

    #[inline]
    fn due(&self, rate: Rate) -> Time {
        let last_ack_at = if self.starves {
            self.last_ack_at
        } else {
            self.pacer.last()
        };
        self.pacer.due(rate, last_ack_at, self.rtt)
    }

    /// Returns the send time of the next opening packet. The first retry follows after the first RTO, which doubles for
    /// each later retry.
    fn retry(&self) -> Time {
        match self.retries.checked_sub(1) {
            None => self.pacer.last(),
            Some(doublings) => self.pacer.last().saturating_add(rtt::backed_off(FIRST_RTO, doublings)),
        }
    }

    /// Returns the deadline for the next ACK. The host calls [`handle_timeout`](Self::handle_timeout) at this time. If
    /// the law does not track losses, a deadline exists only while the flow has no other packet to send. If the law has
    /// its own timer, a deadline also exists while the flow sends.
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

    /// Returns the time of the next action, under the assumption that no ACK arrives earlier. This time may be in the
    /// past.
    pub fn poll_timeout(&self, rules: &Rules<'_, P>) -> Option<Time> {
        let sends = !self.open || (self.has_unsent() && self.may_send());
        let departure = sends.then(|| self.departure(rules.limits));
        let times = [departure, self.timeout(rules.transport), Some(self.stop)];
        times.into_iter().flatten().min().filter(|at| *at < Time::NEVER)
    }

    /// Returns a packet if one is due now. Records the packet with `tag`.
    pub fn poll_transmit(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Option<Transmit<HeaderOf<P>>> {
        let may_send = !self.open || self.may_send();
        if !may_send || self.departure(rules.limits) > now {
            return None;
        }
        self.transmit(rules, now, tag)
    }

    /// Does the same as [`poll_transmit`](Self::poll_transmit). The host has already checked pacing and congestion
    /// window.
    #[inline(always)]
    pub fn transmit(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Option<Transmit<HeaderOf<P>>> {
        if !self.open {
            if now >= self.stop {
                return None;
            }
            self.retries = self.retries.saturating_add(1);
            return Some(self.control(rules, now, Kind::Syn, tag));
        }
        let chunk = self.next_chunk(rules, now)?;
        let size = (chunk.length + rules.limits.headers).max(rules.limits.least);
        Some(self.send(rules, now, Kind::Data, chunk, size, tag))
    }

    /// Returns a data packet of a size chosen by the host.
    pub fn transmit_sized(&mut self, rules: &Rules<'_, P>, now: Time, size: u16, tag: T) -> Transmit<HeaderOf<P>> {
        let chunk = Chunk {
            offset: self.position,
            length: size - rules.limits.headers,
        };
        self.send(rules, now, Kind::Data, chunk, size, tag)
    }

    /// Returns the packet that signals the end of the flow.
    pub fn transmit_end(&mut self, rules: &Rules<'_, P>, now: Time, tag: T) -> Transmit<HeaderOf<P>> {
        self.control(rules, now, Kind::Fin, tag)
    }

    fn control(&mut self, rules: &Rules<'_, P>, now: Time, kind: Kind, tag: T) -> Transmit<HeaderOf<P>> {
        self.send(rules, now, kind, Chunk::NONE, rules.limits.control, tag)
    }

    /// Returns the next chunk to send: retransmissions first, then new data.
    #[inline(always)]
    fn next_chunk(&mut self, rules: &Rules<'_, P>, now: Time) -> Option<Chunk> {
        if now >= self.stop {
            return None;
        }
        if let Some(recovery) = &mut self.recovery
            && let Some(chunk) = recovery.retransmit_queue.queue.pop_front()
        {
            recovery.retransmit_queue.totals.retransmitted += 1;
            return Some(chunk);
        }
        let left = self.written - self.position;
        if left == 0 {
            return None;
        }
        let Limits { headers, least, .. } = *rules.limits;
        let packet = self.law.packet_size(rules.params).get().max(u64::from(least));
        let length = (packet - u64::from(headers)).min(left);
        let chunk = Chunk {
            offset: self.position,
            length: length as u16,
        };
        self.position += length;
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
    ) -> Transmit<HeaderOf<P>> {
        let number = self.next_number;
        self.next_number = number.wrapping_add(1);
        if number == 0 && self.law.paces() {
            self.pacer = Pacer::new(now); // the sender does not compensate for the time before its first packet
        }
        if !self.waits {
            (self.last_ack_at, self.waits) = (now, true); // no ACK was expected before this packet
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
                    let paced = self.law.paces();
                    self.law.on_restart(rules.params, now, &recovery.restart(now));
                    if !paced && self.law.paces() {
                        self.pacer.on_send(now, size); // pacing begins here and does not compensate for the idle time
                    }
                }
                recovery.left = Some(now);
                if let Some(cumulative) = &mut recovery.cumulative {
                    cumulative.on_send(chunk);
                }
            }
            let forgotten = recovery.board.on_send(now, kind, chunk, tag);
            if let Some(change) = forgotten {
                recovery.retransmit_queue.take(change);
                Self::notify_loss(&mut self.law, rules, now, change, number);
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

    /// Handles an ACK. The law is first notified of the losses that the ACK shows, then of the ACK.
    #[inline(always)]
    pub fn handle_ack(&mut self, rules: &Rules<'_, P>, now: Time, ack: &Ack<HeaderOf<P>>) -> Acked {
        let in_time = rules.limits.catch_up > Duration::ZERO && !self.is_late(rules, now);
        if rules.transport.takes_samples() {
            self.check_app_limited();
        }
        let mut feedback = Feedback::plain(ack.number, ack.kind, ack.rtt, ack.header);
        feedback.marked = ack.marked;
        (self.last_ack_at, self.waits, self.rtt) = (now, false, ack.rtt);
        let mut acked = Acked::default();
        if let Some(recovery) = self.recovery.as_deref_mut() {
            acked = if recovery.cumulative.is_none() {
                Self::recover(recovery, &mut self.law, rules, now, *ack, self.next_number)
            } else {
                Self::recover_in_order(recovery, &mut self.law, rules, now, *ack, self.next_number)
            };
            let spared = std::mem::take(&mut recovery.retransmit_queue.spared);
            if ack.kind == Kind::Data {
                // A spurious loss whose data is still queued was not in flight, and does not count as acknowledged.
                feedback.acked = acked.packets.saturating_sub(spared);
                (feedback.spurious, feedback.gap) = (acked.spurious, acked.gap);
                feedback.delivery = acked.delivery.filter(|_| rules.transport.measures_delivery);
            }
            feedback.outstanding = recovery.outstanding();
        }
        if let Some(flight) = acked.flight.filter(|_| rules.transport.needs_rate_samples) {
            self.law.on_flight(rules.params, now, &flight);
        }
        self.law.on_feedback(rules.params, now, &feedback);
        if !self.open {
            self.open = true;
            self.pacer = Pacer::new(now.max(self.law.opens_at()));
        } else if in_time && self.departure(rules.limits) < now {
            // Congestion window or rate allowed no packet until now, so there is no lag to compensate.
            self.pacer = Pacer::new(now);
        }
        acked
    }

    /// Returns true if the host polls late: the congestion window and pacing already allow a packet.
    fn is_late(&self, rules: &Rules<'_, P>, now: Time) -> bool {
        self.may_send() && self.departure(rules.limits) <= now
    }
}

#[cfg(test)]
mod tests;
