//! Load as its receiver counts it.

use crate::message::Arrived;

/// Counts load.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    arrived: Arrived,
}

impl Tally {
    /// Counts a packet of so many bytes on the wire. One that was overtaken counts; its times do not.
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

    /// What has come.
    pub(crate) fn arrived(&self) -> Arrived {
        self.arrived
    }
}

/// A way between two clocks, which may be negative.
pub(crate) fn signed(way: u64) -> i64 {
    way as i64
}
