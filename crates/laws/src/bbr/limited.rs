//! Packets sent while the sender itself keeps little in flight, as in ProbeRTT. Their delivery rates are no samples of the
//! bandwidth (`MarkConnectionAppLimited` of the drafts).

use crate::bytes::before;

/// Lowest number of the marked packets, and delivered packets at which marking ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limited(Option<(u32, u32)>);

impl Limited {
    /// Marks the packets from `next` on, until `delivered` and `in_flight` packets have been delivered.
    pub fn mark(&mut self, next: u32, delivered: u32, in_flight: u32) {
        let from = self.0.map_or(next, |(from, _)| from);
        self.0 = Some((from, delivered.wrapping_add(in_flight)));
    }

    /// Returns true for a packet in flight that is marked.
    pub fn holds(&self, number: u32) -> bool {
        self.0.is_some_and(|(from, _)| !before(number, from))
    }

    /// Returns true for an acknowledged packet that was marked; `prior` packets had been delivered when it was sent.
    pub fn held(&mut self, number: u32, prior: u32) -> bool {
        self.0 = self.0.filter(|(_, until)| !before(*until, prior));
        self.holds(number)
    }
}
