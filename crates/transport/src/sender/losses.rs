//! Losses of a sender: loss recovery with and without SACK, and the retransmission timeout.

use levelflow_laws::{HeaderOf, Kind, Loss, Protocol, SenderLaw};
use levelflow_units::Time;

use super::{Ack, Rules, Sender};
use crate::cumulative::Step;
use crate::pacer::Pacer;
use crate::recovery::Recovery;
use crate::scoreboard::{Acked, Change};

impl<P, L, T> Sender<P, L, T>
where
    P: Protocol,
    L: SenderLaw<Params = P::Params, Header = HeaderOf<P>>,
    T: Copy,
{
    /// Notifies the law of a loss if the law tracks losses.
    pub(super) fn notify_loss(law: &mut L, rules: &Rules<'_, P>, now: Time, change: Change, next: u32) {
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
            if let Some(flight) = flight.filter(|_| rules.transport.needs_rate_samples) {
                law.on_flight(rules.params, now, &flight);
            }
            law.on_loss(rules.params, now, &loss);
        }
    }

    #[inline(never)]
    pub(super) fn recover(
        recovery: &mut Recovery<T>,
        law: &mut L,
        rules: &Rules<'_, P>,
        now: Time,
        ack: Ack<HeaderOf<P>>,
        next: u32,
    ) -> Acked {
        recovery.rtt.on_sample(ack.rtt);
        recovery.armed = now;
        let retransmits = &mut recovery.retransmit_queue;
        let mut acked = recovery.board.on_ack(now, ack.number, ack.history, |change| {
            retransmits.take(change);
            Self::notify_loss(law, rules, now, change, next);
        });
        if acked.lost > 0 {
            retransmits.begin(next);
        }
        while let Some(chunk) = retransmits.retransmitted.pop() {
            recovery.board.on_duplicate(chunk);
        }
        acked.gap |= retransmits.is_in_flight(ack.number);
        retransmits.totals.delivered += u64::from(acked.packets);
        retransmits.totals.delivered_bytes += acked.bytes;
        acked
    }

    /// Handles an ACK without SACK. The law is notified of one loss at each fast retransmit. `gap` is true unless the
    /// cumulative ACK advances and recovery is over.
    #[inline(never)]
    pub(super) fn recover_in_order(
        recovery: &mut Recovery<T>,
        law: &mut L,
        rules: &Rules<'_, P>,
        now: Time,
        ack: Ack<HeaderOf<P>>,
        next: u32,
    ) -> Acked {
        recovery.rtt.on_sample(ack.rtt);
        let (board, retransmits) = (&mut recovery.board, &mut recovery.retransmit_queue);
        let Some(cumulative) = &mut recovery.cumulative else {
            return Acked::default();
        };
        let acked = board.on_ack(now, ack.number, ack.history, |change| {
            if let Change::Arrived(chunk) = change {
                cumulative.arrive(chunk);
            }
        });
        retransmits.totals.delivered += u64::from(acked.packets);
        retransmits.totals.delivered_bytes += acked.bytes;
        if ack.kind != Kind::Data {
            return Acked::default();
        }
        let (step, packets) = cumulative.on_ack(retransmits.queue.len());
        retransmits.forget_before(cumulative.acked());
        if matches!(
            step,
            Step::FastRetransmit | Step::Advance | Step::Partial { first: true }
        ) {
            recovery.armed = now;
        }
        let missing = cumulative.unacked().next();
        if let (Step::FastRetransmit | Step::Partial { .. }, Some(chunk)) = (step, missing) {
            retransmits.totals.lost += 1;
            retransmits.totals.lost_bytes += u64::from(chunk.length);
            if step == Step::FastRetransmit {
                let number = board.last_sent(chunk).unwrap_or(ack.number);
                let outstanding = cumulative.outstanding(retransmits.queue.len());
                Self::notify_loss(
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
            retransmits.queue.push_front(chunk);
        }
        Acked {
            packets,
            gap: step != Step::Advance,
            delivery: acked.delivery,
            ..Acked::default()
        }
    }

    /// Handles an expired timer. All packets in flight are declared lost and are then retransmitted. An exception is a
    /// flow with SACK and more data to send, whose law has its own timer. Only the pace of this flow changes. ACKs of
    /// later packets then show the losses.
    pub fn handle_timeout(&mut self, rules: &Rules<'_, P>, now: Time) {
        if self.timeout(rules.transport).is_none_or(|timeout| now < timeout) {
            return;
        }
        self.check_app_limited();
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
