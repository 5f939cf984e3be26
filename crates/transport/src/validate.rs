//! ACKs that are rejected.

use levelflow_laws::bytes::DecodeError;

/// Why an ACK, or a packet, does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// It is not of this flow, or not of this kind.
    UnknownFlow,
    /// It is of another law.
    Law,
    /// It acks a packet that was never sent, or so long ago that nothing is known of it.
    Unknown,
    /// The packet was acked before.
    Replayed,
    /// Its time is before the packet was sent or after the ACK came.
    Time,
    /// Its header is not one of the law.
    Header(DecodeError),
}

/// How many ACKs were rejected, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Rejections {
    /// [`Rejected::UnknownFlow`] and [`Rejected::Law`].
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
    /// One more.
    pub fn count(&mut self, refused: Rejected) {
        *match refused {
            Rejected::UnknownFlow | Rejected::Law => &mut self.stranger,
            Rejected::Unknown => &mut self.unknown,
            Rejected::Replayed => &mut self.replayed,
            Rejected::Time => &mut self.time,
            Rejected::Header(_) => &mut self.header,
        } += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stranger + self.unknown + self.replayed + self.time + self.header
    }
}
