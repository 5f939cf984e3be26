//! Loss recovery without selective ACKs: what a sender makes of the cumulative ones alone (RFC 5681, RFC 6582).
//!
//! A cumulative ACK says up to where a receiver has everything. ACKs here say more; of that, only this is used. While it does not
//! move, ACKs are duplicates, each of which says that some packet has left the network.

use std::collections::VecDeque;

use levelflow_laws::Recovery;

use crate::scoreboard::REORDERING;
use crate::stream::{Assembly, Chunk};

/// What an ACK calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is a duplicate, and nothing is sent again.
    Duplicate,
    /// The third duplicate: the first piece missing is lost and sent again at once.
    FastRetransmit,
    /// More has arrived, and nothing is sent again.
    Advance,
    /// Some of what was on its way at the loss has arrived: the first piece missing is sent again at once. `first`: no such ACK came
    /// before in this recovery.
    Partial {
        /// See above.
        first: bool,
    },
}

/// What a sender keeps for it.
#[derive(Debug)]
pub struct Cumulative {
    /// Whether partial ACKs leave the sender in recovery (NewReno).
    partial: bool,
    /// What ACKs have told of; the end of what is in order is the cumulative ACK.
    arrived: Assembly,
    /// What was sent and is not covered by it, in order.
    unacked: VecDeque<Chunk>,
    /// Duplicates since it moved last.
    duplicates: u32,
    /// Packets by which duplicates inflate the window.
    inflation: u32,
    /// End of what had been sent at the last fast retransmit or timeout.
    recover: Option<u64>,
    /// Between a fast retransmit and the ACK that ends it.
    recovering: bool,
    /// Whether a partial ACK came in this recovery.
    has_partial: bool,
}

impl Cumulative {
    /// For a flow that has sent nothing; none if it has selective ACKs.
    #[must_use]
    pub fn new(recovery: Recovery) -> Option<Box<Self>> {
        let partial = match recovery {
            Recovery::Selective => return None,
            Recovery::Reno => false,
            Recovery::NewReno => true,
        };
        Some(Box::new(Self {
            partial,
            arrived: Assembly::default(),
            unacked: VecDeque::new(),
            duplicates: 0,
            inflation: 0,
            recover: None,
            recovering: false,
            has_partial: false,
        }))
    }

    /// The cumulative ACK.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.arrived.in_order()
    }

    /// End of what was sent.
    fn sent(&self) -> u64 {
        self.unacked.back().map_or(self.acked(), |last| last.end())
    }

    /// What was sent and is not acknowledged, in order.
    pub fn unacked(&self) -> impl Iterator<Item = Chunk> + '_ {
        self.unacked.iter().copied()
    }

    /// Whether an ACK is to come.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.unacked.is_empty()
    }

    /// Whether a loss is being repaired: what is due again then leaves whatever the window.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.recovering
    }

    /// Packets on their way by the numbers, while `queued` wait to be sent again.
    #[must_use]
    pub fn flight(&self, queued: usize) -> u32 {
        self.unacked.len().saturating_sub(queued) as u32
    }

    /// The same without those that duplicates tell of, so that a window of so many packets is the inflated one.
    #[must_use]
    pub fn outstanding(&self, queued: usize) -> u32 {
        self.flight(queued).saturating_sub(self.inflation)
    }

    /// A piece leaves, for the first time or again.
    pub fn on_send(&mut self, chunk: Chunk) {
        if chunk.offset >= self.sent() {
            self.unacked.push_back(chunk);
        }
    }

    /// An ACK tells of a piece; [`on_ack`](Self::on_ack) follows.
    pub fn arrive(&mut self, chunk: Chunk) {
        self.arrived.on_arrival(chunk);
    }

    /// An ACK came, while `queued` pieces wait to be sent again; gives what to do, and the packets that it acknowledges beyond those
    /// of which duplicates told.
    pub fn on_ack(&mut self, queued: usize) -> (Step, u32) {
        let flight = self.flight(queued);
        let acked = self
            .unacked
            .iter()
            .take_while(|chunk| chunk.end() <= self.acked())
            .count();
        if acked == 0 {
            return (self.duplicate(queued), 0);
        }
        self.unacked.drain(..acked);
        self.advance(acked as u32, flight)
    }

    fn duplicate(&mut self, queued: usize) -> Step {
        if !self.waits() {
            return Step::Duplicate;
        }
        self.duplicates += 1;
        if self.recovering {
            //= RFC 5681, section 3.2
            //# For each additional duplicate ACK received (after the third), cwnd MUST be incremented by SMSS.
            self.inflation += 1;
        } else if self.duplicates < REORDERING && queued == 0 {
            self.inflation += 1; // a packet of new data each: limited transmit (RFC 3042)
        } else if self.duplicates == REORDERING && self.may_retransmit() {
            //= RFC 5681, section 3.2
            //# The lost segment starting at SND.UNA MUST be retransmitted and cwnd set to ssthresh plus 3*SMSS.
            (self.recovering, self.has_partial) = (true, false);
            self.recover = Some(self.sent());
            self.inflation = REORDERING;
            return Step::FastRetransmit;
        }
        Step::Duplicate
    }

    //= RFC 6582, section 3.2
    //# When the third duplicate ACK is received, the TCP sender first
    //# checks the value of recover to see if the Cumulative
    //# Acknowledgment field covers more than recover.
    fn may_retransmit(&self) -> bool {
        self.recover.is_none_or(|end| self.acked() > end)
    }

    fn advance(&mut self, acked: u32, flight: u32) -> (Step, u32) {
        let news = acked.min(flight).saturating_sub(self.inflation).max(1);
        self.duplicates = 0;
        if self.recovering && self.partial && self.recover.is_some_and(|end| self.acked() < end) {
            //= RFC 6582, section 3.2
            //# Deflate the congestion window by the amount of new data acknowledged by the Cumulative Acknowledgment field. If
            //# the partial ACK acknowledges at least one SMSS of new data, then add back SMSS bytes to the congestion window.
            self.inflation = self.inflation.saturating_sub(acked - 1);
            let first = !std::mem::replace(&mut self.has_partial, true);
            return (Step::Partial { first }, news);
        }
        (self.recovering, self.inflation) = (false, 0);
        (Step::Advance, news)
    }

    /// The timer ran out: all that is not acknowledged is to be sent again. Until it has arrived, duplicates may be the echo of
    /// what is sent in vain (RFC 6582, section 3.2, step 4).
    pub fn on_timeout(&mut self) {
        self.recover = Some(self.sent());
        (self.recovering, self.duplicates, self.inflation) = (false, 0, 0);
    }
}
