//! Rejected ACKs, by reason.

use levelflow_laws::bytes::DecodeError;

/// Reason to reject an ACK or another packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// Wrong flow, or wrong kind of packet.
    UnknownFlow,
    /// Wrong signalling.
    Signalling,
    /// ACK of a packet that was never sent or is no longer tracked.
    Unknown,
    /// ACK of a packet that was acknowledged before.
    Replayed,
    /// Timestamp before the packet was sent, or after the ACK arrived.
    Time,
    /// Invalid header.
    Header(DecodeError),
}

/// Numbers of rejected ACKs, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Rejections {
    /// [`Rejected::UnknownFlow`] and [`Rejected::Signalling`].
    pub stranger: u64,
    /// [`Rejected::Unknown`].
    pub unknown: u64,
    /// [`Rejected::Replayed`].
    pub replayed: u64,
    /// [`Rejected::Time`].
    pub time: u64,
    /// [`Rejected::Header`].
    pub header: u64,
}

impl Rejections {
    /// Counts one rejection.
    pub fn count(&mut self, refused: Rejected) {
        *match refused {
            Rejected::UnknownFlow | Rejected::Signalling => &mut self.stranger,
            Rejected::Unknown => &mut self.unknown,
            Rejected::Replayed => &mut self.replayed,
            Rejected::Time => &mut self.time,
            Rejected::Header(_) => &mut self.header,
        } += 1;
    }

    /// Returns the total over all reasons.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stranger + self.unknown + self.replayed + self.time + self.header
    }
}
