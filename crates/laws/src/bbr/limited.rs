//! Packets that leave while the sender itself keeps little in flight, as in ProbeRTT: samples of them say little about the
//! bandwidth (`MarkConnectionAppLimited` of the drafts).

use crate::bytes::before;

/// The packets from one number on, until so many packets have been delivered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Limited(Option<(u32, u32)>);

impl Limited {
    /// Marks what leaves from packet `next` on, until the `in_flight` packets have been delivered as well as the `delivered`.
    pub fn mark(&mut self, next: u32, delivered: u32, in_flight: u32) {
        let from = self.0.map_or(next, |(from, _)| from);
        self.0 = Some((from, delivered.wrapping_add(in_flight)));
    }

    /// Whether a packet that is not acknowledged is marked.
    pub fn holds(&self, number: u32) -> bool {
        self.0.is_some_and(|(from, _)| !before(number, from))
    }

    /// Whether an acknowledged packet was marked, before which `prior` packets had been delivered.
    pub fn held(&mut self, number: u32, prior: u32) -> bool {
        self.0 = self.0.filter(|(_, until)| !before(*until, prior));
        self.holds(number)
    }
}
