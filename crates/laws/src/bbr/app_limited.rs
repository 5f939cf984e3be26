//! Packets sent while the sender itself limits the packets in flight, as in ProbeRTT. Their delivery rates are not
//! bandwidth samples (`MarkConnectionAppLimited` of the drafts).

use crate::bytes::before;

/// Lowest number of a marked packet, and the number of delivered packets at which marking ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limited(Option<(u32, u32)>);

impl Limited {
    /// Marks packets from number `next` on. Marking ends when all packets now delivered or in flight have been
    /// delivered.
    pub fn mark(&mut self, next: u32, delivered: u32, in_flight: u32) {
        let from = self.0.map_or(next, |(from, _)| from);
        self.0 = Some((from, delivered.wrapping_add(in_flight)));
    }

    /// Returns true if the packet in flight with this number is marked.
    pub fn holds(&self, number: u32) -> bool {
        self.0.is_some_and(|(from, _)| !before(number, from))
    }

    /// Returns true if the acknowledged packet with this number was marked. `prior` is the number of packets that had
    /// been delivered when it was sent.
    pub fn held(&mut self, number: u32, prior: u32) -> bool {
        self.0 = self.0.filter(|(_, until)| !before(*until, prior));
        self.holds(number)
    }
}
