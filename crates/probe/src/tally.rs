//! Counter of the load packets that a receiver has received.

use crate::message::{Arrived, MAX_ECN};

/// Counter of received load packets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    arrived: Arrived,
}

impl Tally {
    /// Counts a packet of `bytes` on the wire with the ECN field `ecn`. A reordered packet does not change the times of
    /// the newest packet.
    pub(crate) fn take(&mut self, at: u64, sent: u64, seq: u64, bytes: u64, ecn: u8) {
        let way = at.wrapping_sub(sent);
        let all = &mut self.arrived;
        let first = all.packets == 0;
        all.packets += 1;
        all.bytes += bytes;
        all.marked += u64::from(ecn == MAX_ECN);
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

/// Converts a one-way delay between two clocks to a signed number. The number is negative if the receiver's clock is
/// behind the sender's clock by more than the delay.
pub(crate) fn signed(way: u64) -> i64 {
    way as i64
}
