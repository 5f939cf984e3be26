//! What a sender keeps of packets under way, and of lost data on their way to be sent again.

use std::collections::VecDeque;

use levelflow_laws::bytes::before;
use levelflow_laws::{Restart, Transport};
use levelflow_units::{Duration, Time};

use crate::cumulative::Cumulative;
use crate::rtt::RttEstimator;
use crate::scoreboard::{Change, Scoreboard};
use crate::stream::Chunk;

/// What a sender has heard of its data in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// Data packets and bytes known to have arrived.
    pub delivered: u64,
    /// See `delivered`.
    pub delivered_bytes: u64,
    /// Data packets and bytes taken for lost.
    pub lost: u64,
    /// See `lost`.
    pub lost_bytes: u64,
    /// Of `lost`, packets that turned out to have arrived.
    pub returned: u64,
    /// Packets with data that had been sent before.
    pub retransmitted: u32,
    /// Times that no ACK came in time.
    pub timeouts: u32,
}

/// What a sender keeps of packets under way. Flows do without that need not hear of losses.
#[derive(Debug)]
pub(crate) struct Recovery<T> {
    pub board: Scoreboard<T>,
    pub rtt: RttEstimator,
    /// When the timer was started: at an ACK, or when a packet left while none was under way; of a law that need not hear of
    /// losses, at each packet, since it waits only after the last.
    pub armed: Time,
    /// Time at which data was last sent.
    pub left: Option<Time>,
    pub repair: Repair,
    /// What recovery without selective ACKs keeps; none for flows that have them.
    pub cumulative: Option<Box<Cumulative>>,
}

impl<T: Copy> Recovery<T> {
    /// Nothing was sent; the next packet has this number, and at most `most` are remembered.
    pub fn new(transport: &Transport, retransmits: bool, next: u32, most: usize) -> Self {
        let cumulative = Cumulative::new(transport.recovery);
        Self {
            board: Scoreboard::new(next, most, transport.takes_samples()),
            rtt: RttEstimator::new(transport.min_timeout, transport.timeout_floor),
            armed: Time::ZERO,
            left: None,
            repair: Repair {
                retransmits: retransmits || cumulative.is_some(),
                ..Repair::default()
            },
            cumulative,
        }
    }

    /// Data packets under way, as far as is known.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        match &self.cumulative {
            None => self.board.outstanding(),
            Some(cumulative) => cumulative.outstanding(self.repair.queue.len()),
        }
    }

    /// Whether an ACK of data is to come.
    #[inline]
    pub fn waits(&self) -> bool {
        match &self.cumulative {
            None => self.board.outstanding() > 0,
            Some(cumulative) => cumulative.waits(),
        }
    }

    /// Returns the idle time before data that is sent with nothing in flight.
    pub fn restart(&self, now: Time) -> Restart {
        Restart {
            idle: self.left.map_or(Duration::ZERO, |left| now.since(left)),
            timeout: self.rtt.timeout(),
            limited: self.board.is_limited(),
        }
    }

    /// The timer expired: everything in flight is lost, unless the flow `goes_on`.
    pub fn on_timeout(&mut self, now: Time, next: u32, goes_on: bool) {
        let repair = &mut self.repair;
        if let Some(cumulative) = &mut self.cumulative {
            self.board.on_timeout(|_| {});
            repair.queue.clear();
            cumulative.on_timeout();
            cumulative.unacked().for_each(|chunk| repair.lose(chunk));
        } else if !goes_on {
            self.board.on_timeout(|chunk| repair.lose(chunk));
            repair.begin(next);
        }
        self.armed = now;
        repair.totals.timeouts += 1;
        self.rtt.on_timeout();
    }

    /// Whether a piece is to be sent again at once, whatever the window.
    pub fn must_resend(&self) -> bool {
        let recovers = self.cumulative.as_ref().is_some_and(|c| c.is_recovering());
        recovers && !self.repair.queue.is_empty()
    }
}

/// Lost data on their way to be sent again.
#[derive(Debug, Default)]
pub(crate) struct Repair {
    /// Whether they are.
    pub retransmits: bool,
    pub queue: VecDeque<Chunk>,
    /// What was lost is on its way again in packets up to this number.
    until: Option<u32>,
    /// What the latest ACK showed to have arrived that had been taken for lost: how many packets wait no longer to be sent again,
    /// and the data of those that are on their way again.
    pub spared: u32,
    pub resent: Vec<Chunk>,
    pub totals: Totals,
}

impl Repair {
    pub fn take(&mut self, change: Change) {
        match change {
            Change::Arrived(_) => {}
            Change::Lost { chunk, .. } => self.lose(chunk),
            Change::Returned(chunk) => {
                self.totals.returned += 1;
                if let Some(i) = self.queue.iter().position(|waiting| *waiting == chunk) {
                    self.queue.remove(i);
                    self.until = self.until.map(|number| number.wrapping_sub(1));
                    self.spared += 1;
                } else if self.retransmits {
                    self.resent.push(chunk);
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

    /// What came before this byte has arrived.
    pub fn forget_before(&mut self, acked: u64) {
        while self.queue.front().is_some_and(|chunk| chunk.offset < acked) {
            self.queue.pop_front();
        }
    }

    /// Losses were found; retransmissions take the numbers from `next` on.
    pub fn begin(&mut self, next: u32) {
        let more = (self.queue.len() as u32).saturating_sub(1);
        self.until = Some(next.wrapping_add(more));
    }

    /// Whether something that was sent before this packet, and lost, may be on its way again behind it.
    pub fn is_under_way(&mut self, number: u32) -> bool {
        let under_way = self.until.is_some_and(|until| before(number, until));
        if !under_way {
            self.until = None;
        }
        under_way
    }
}
