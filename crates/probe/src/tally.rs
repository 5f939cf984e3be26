//! Counter of received load, at its receiver.

use crate::message::Arrived;

/// Counter of received load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    arrived: Arrived,
}

impl Tally {
    /// Counts a packet of `bytes` on the wire. A reordered packet does not change the send and arrival times of the
    /// newest one.
    pub(crate) fn take(&mut self, at: u64, sent: u64, seq: u64, bytes: u64) {
        let way = at.wrapping_sub(sent);
        let all = &mut self.arrived;
        let first = all.packets == 0;
        all.packets += 1;
        all.bytes += bytes;
        if first || signed(way) > signed(all.longest) {
            all.longest = way;
        }
        if first || seq >= all.sent {
            all.sent = seq.saturating_add(1);
            (all.last_sent, all.last_arrived) = (sent, at);
        }
    }

    /// Counts of the load received.
    pub(crate) fn arrived(&self) -> Arrived {
        self.arrived
    }
}

/// Converts a one-way delay between two clocks to a signed number. It is negative if the receiver's clock is behind by
/// more than the delay.
pub(crate) fn signed(way: u64) -> i64 {
    way as i64
}
