//! Marks for packets that are sent in ProbeRTT, in which the sender limits the packets in flight. The delivery rates of
//! these packets are not bandwidth samples (`MarkConnectionAppLimited` of the drafts).

use crate::bytes::before;

/// Lowest marked packet number, and number of delivered packets at which marking ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limited(Option<(u32, u32)>);

impl Limited {
    /// Marks packets from number `next` on. Marking ends when `delivered + in_flight` packets have been delivered.
    pub fn mark(&mut self, next: u32, delivered: u32, in_flight: u32) {
        let from = self.0.map_or(next, |(from, _)| from);
        self.0 = Some((from, delivered.wrapping_add(in_flight)));
    }

    /// Returns true if packet `number`, which is in flight, is marked.
    pub fn holds(&self, number: u32) -> bool {
        self.0.is_some_and(|(from, _)| !before(number, from))
    }

    /// Returns true if the acknowledged packet `number` was marked. `prior` is the number of packets delivered before
    /// this packet was sent.
    pub fn held(&mut self, number: u32, prior: u32) -> bool {
        self.0 = self.0.filter(|(_, until)| !before(*until, prior));
        self.holds(number)
    }
}
