//! Loss recovery of a sender: packets in flight, retransmission timer and retransmission queue.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Restart, Transport};
use levelflow_units::{Duration, Time};

use crate::cumulative::Cumulative;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Change, Scoreboard};
use crate::stream::Chunk;

/// Counts of a sender's data. Loss recovery counts bytes without headers, [`FlowCounters`](crate::FlowCounters) with
/// headers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Data packets that have arrived, according to ACKs.
    pub delivered: u64,
    /// Bytes of the data packets known to have arrived.
    pub delivered_bytes: u64,
    /// Data packets declared lost.
    pub lost: u64,
    /// Bytes of the data packets declared lost.
    pub lost_bytes: u64,
    /// Packets spuriously declared lost.
    pub spurious: u64,
    /// Data packets retransmitted.
    pub retransmitted: u32,
    /// Expirations of the retransmission timer.
    pub timeouts: u32,
}

/// State of loss recovery. Flows whose law tracks no losses do not need this state.
#[derive(Debug)]
pub(crate) struct Recovery<T> {
    pub board: Scoreboard<T>,
    pub rtt: RttEstimator,
    /// Start time of the timer. Each ACK starts the timer again, and so does a packet that is sent while no packet is
    /// in flight. If the law does not track losses, each packet starts the timer again. Such a law uses the timer only
    /// after its last packet.
    pub armed: Time,
    /// Send time of the latest data packet.
    pub left: Option<Time>,
    pub retransmit_queue: RetransmitQueue,
    /// State of loss recovery without SACK. `None` if the flow uses SACK.
    pub cumulative: Option<Box<Cumulative>>,
}

impl<T: Copy> Recovery<T> {
    /// Creates the state of a flow that has sent nothing. The next packet has the number `next`. At most `most` packets
    /// are tracked.
    pub fn new(transport: &Transport, retransmits: bool, next: u32, most: usize) -> Self {
        let cumulative = Cumulative::new(transport.recovery);
        Self {
            board: Scoreboard::new(next, most, transport.takes_samples()),
            rtt: RttEstimator::new(transport.min_timeout, transport.timeout_floor),
            armed: Time::ZERO,
            left: None,
            retransmit_queue: RetransmitQueue {
                retransmits: retransmits || cumulative.is_some(),
                ..RetransmitQueue::default()
            },
            cumulative,
        }
    }

    /// Returns the number of data packets in flight, according to the ACKs received so far.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        match &self.cumulative {
            None => self.board.outstanding(),
            Some(cumulative) => cumulative.outstanding(self.retransmit_queue.queue.len()),
        }
    }

    /// Returns true if an ACK of data is expected.
    #[inline]
    pub fn waits(&self) -> bool {
        match &self.cumulative {
            None => self.board.outstanding() > 0,
            Some(cumulative) => cumulative.waits(),
        }
    }

    /// Returns the state of a flow that sends after an idle period. No packet is in flight.
    pub fn restart(&self, now: Time) -> Restart {
        Restart {
            idle: self.left.map_or(Duration::ZERO, |left| now.since(left)),
            timeout: self.rtt.timeout(),
            app_limited: self.board.is_app_limited(),
        }
    }

    /// Handles an expired timer. All packets in flight are declared lost. `goes_on` is true if the law keeps sending at
    /// its pace. If `goes_on` is true and the flow uses SACK, no packet is declared lost.
    pub fn on_timeout(&mut self, now: Time, next: u32, goes_on: bool) {
        let retransmits = &mut self.retransmit_queue;
        if let Some(cumulative) = &mut self.cumulative {
            self.board.on_timeout(|_| {});
            retransmits.queue.clear();
            cumulative.on_timeout();
            cumulative.unacked().for_each(|chunk| retransmits.lose(chunk));
        } else if !goes_on {
            self.board.on_timeout(|chunk| retransmits.lose(chunk));
            retransmits.begin(next);
        }
        self.armed = now;
        retransmits.totals.timeouts += 1;
        self.rtt.on_timeout();
    }

    /// Returns true if a chunk must be retransmitted at once, regardless of the congestion window.
    pub fn must_resend(&self) -> bool {
        let recovers = self.cumulative.as_ref().is_some_and(|c| c.is_recovering());
        recovers && !self.retransmit_queue.queue.is_empty()
    }
}

/// Retransmission queue.
#[derive(Debug, Default)]
pub(crate) struct RetransmitQueue {
    /// True if lost data is retransmitted.
    pub retransmits: bool,
    pub queue: VecDeque<Chunk>,
    /// Number of the last packet that retransmits the latest losses.
    until: Option<u32>,
    /// Number of spurious losses, shown by the latest ACK, with data that was still queued. This data is not
    /// retransmitted.
    pub spared: u32,
    /// Data of the other spurious losses shown by the latest ACK. This data has already been retransmitted.
    pub retransmitted: Vec<Chunk>,
    pub totals: Totals,
}

impl RetransmitQueue {
    pub fn take(&mut self, change: Change) {
        match change {
            Change::Arrived(_) => {}
            Change::Lost { chunk, .. } => self.lose(chunk),
            Change::Spurious(chunk) => {
                self.totals.spurious += 1;
                if let Some(i) = self.queue.iter().position(|waiting| *waiting == chunk) {
                    self.queue.remove(i);
                    self.until = self.until.map(|number| number.wrapping_sub(1));
                    self.spared += 1;
                } else if self.retransmits {
                    self.retransmitted.push(chunk);
                }
            }
        }
    }

    pub fn lose(&mut self, chunk: Chunk) {
        self.totals.lost += 1;
        self.totals.lost_bytes += u64::from(chunk.length);
        if self.retransmits {
            self.queue.push_back(chunk);
        }
    }

    /// Removes queued chunks that start before byte `acked`. The receiver has these chunks.
    pub fn forget_before(&mut self, acked: u64) {
        while self.queue.front().is_some_and(|chunk| chunk.offset < acked) {
            self.queue.pop_front();
        }
    }

    /// Records that the next packets retransmit new losses. These packets have the numbers from `next` on.
    pub fn begin(&mut self, next: u32) {
        let more = (self.queue.len() as u32).saturating_sub(1);
        self.until = Some(next.wrapping_add(more));
    }

    /// Returns true if retransmissions of the latest losses may be in flight. `number` is the number of the
    /// acknowledged packet.
    pub fn is_in_flight(&mut self, number: u32) -> bool {
        let in_flight = self.until.is_some_and(|until| before(number, until));
        if !in_flight {
            self.until = None;
        }
        in_flight
    }
}
