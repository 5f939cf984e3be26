//! Loss recovery without SACK (RFC 5681, RFC 6582).
//!
//! Receivers always send selective ACKs. This sender computes the cumulative ACK from them and uses only the cumulative
//! ACK. If an ACK does not advance the cumulative ACK, it is a duplicate ACK. A duplicate ACK shows that a packet has
//! left the network.

use std::collections::VecDeque;

use levelflow_laws::RecoveryScheme;

use crate::scoreboard::REORDERING_THRESHOLD;
use crate::stream::{Assembly, Chunk};

/// Reaction to an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Duplicate ACK; nothing is retransmitted.
    Duplicate,
    /// Third duplicate ACK. The first missing chunk is declared lost and retransmitted at once.
    FastRetransmit,
    /// ACK that advances the cumulative ACK; nothing is retransmitted.
    Advance,
    /// Partial ACK: it acknowledges only a part of the data that was in flight at the loss. The first missing chunk is
    /// retransmitted at once.
    Partial {
        /// True for the first partial ACK of this recovery.
        first: bool,
    },
}

/// State of loss recovery without SACK.
#[derive(Debug)]
pub struct Cumulative {
    /// True for NewReno, which stays in recovery after a partial ACK.
    partial: bool,
    /// Data acknowledged by any ACK. The cumulative ACK is the end of the data received without a gap.
    arrived: Assembly,
    /// Chunks that have been sent but not cumulatively acknowledged, in order.
    unacked: VecDeque<Chunk>,
    /// Duplicate ACKs since the cumulative ACK advanced.
    duplicates: u32,
    /// Number of packets by which duplicate ACKs have increased the congestion window.
    inflation: u32,
    /// End of the data sent at the latest fast retransmit or timeout (`recover` in RFC 6582).
    recover: Option<u64>,
    /// True between a fast retransmit and the ACK that ends recovery.
    recovering: bool,
    /// True after a partial ACK in this recovery.
    has_partial: bool,
}

impl Cumulative {
    /// Creates the state of a flow that has sent nothing. Returns `None` if the flow uses SACK.
    #[must_use]
    pub fn new(recovery: RecoveryScheme) -> Option<Box<Self>> {
        let partial = match recovery {
            RecoveryScheme::Selective => return None,
            RecoveryScheme::Reno => false,
            RecoveryScheme::NewReno => true,
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

    /// Returns the cumulative ACK: the end of the data received without a gap.
    #[must_use]
    pub fn acked(&self) -> u64 {
        self.arrived.in_order()
    }

    /// Returns the end of the data sent.
    fn sent(&self) -> u64 {
        self.unacked.back().map_or(self.acked(), |last| last.end())
    }

    /// Returns the chunks that have been sent but not cumulatively acknowledged, in order.
    pub fn unacked(&self) -> impl Iterator<Item = Chunk> + '_ {
        self.unacked.iter().copied()
    }

    /// Returns true if an ACK is expected.
    #[must_use]
    pub fn waits(&self) -> bool {
        !self.unacked.is_empty()
    }

    /// Returns true during fast recovery. Retransmissions are then sent regardless of the congestion window.
    #[must_use]
    pub fn is_recovering(&self) -> bool {
        self.recovering
    }

    /// Returns the number of unacknowledged chunks in flight. `queued` is the number of chunks in the retransmission
    /// queue.
    #[must_use]
    pub fn flight(&self, queued: usize) -> u32 {
        self.unacked.len().saturating_sub(queued) as u32
    }

    /// Returns the packets in flight minus the increase of the window by duplicate ACKs. A packet may be sent if this
    /// number is below the congestion window, which does not include the increase.
    #[must_use]
    pub fn outstanding(&self, queued: usize) -> u32 {
        self.flight(queued).saturating_sub(self.inflation)
    }

    /// Records a chunk that is sent or retransmitted.
    pub fn on_send(&mut self, chunk: Chunk) {
        if chunk.offset >= self.sent() {
            self.unacked.push_back(chunk);
        }
    }

    /// Records a chunk that has arrived. The caller then calls [`on_ack`](Self::on_ack).
    pub fn arrive(&mut self, chunk: Chunk) {
        self.arrived.on_arrival(chunk);
    }

    /// Handles an ACK. `queued` is the number of chunks in the retransmission queue. Returns the reaction and the
    /// number of newly acknowledged packets. Packets counted at earlier duplicate ACKs are not included.
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
        } else if self.duplicates < REORDERING_THRESHOLD && queued == 0 {
            self.inflation += 1; // one packet of new data for each duplicate ACK: limited transmit (RFC 3042)
        } else if self.duplicates == REORDERING_THRESHOLD && self.may_retransmit() {
            //= RFC 5681, section 3.2
            //# The lost segment starting at SND.UNA MUST be retransmitted and cwnd set to ssthresh plus 3*SMSS.
            (self.recovering, self.has_partial) = (true, false);
            self.recover = Some(self.sent());
            self.inflation = REORDERING_THRESHOLD;
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

    /// Handles an expired timer. All unacknowledged data will be retransmitted. Until this data has arrived, duplicate
    /// ACKs start no fast retransmit. They may result from unnecessary retransmissions (RFC 6582, section 3.2, step 4).
    pub fn on_timeout(&mut self) {
        self.recover = Some(self.sent());
        (self.recovering, self.duplicates, self.inflation) = (false, 0, 0);
    }
}
