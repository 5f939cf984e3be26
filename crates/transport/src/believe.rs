//! Answers that are not believed.

use levelflow_laws::wire::DecodeError;

/// Why an answer, or a packet, does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It is not of this flow, or not of this kind.
    Stranger,
    /// It is of another law.
    Law,
    /// It answers a packet that was never sent, or so long ago that nothing is known of it.
    Unknown,
    /// The packet was answered before.
    Replayed,
    /// Its time is before the packet was sent or after the answer came.
    Time,
    /// Its header is not one of the law.
    Header(DecodeError),
}

/// How many answers were refused, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Refusals {
    /// [`Refused::Stranger`] and [`Refused::Law`].
    pub stranger: u64,
    /// [`Refused::Unknown`].
    pub unknown: u64,
    /// [`Refused::Replayed`].
    pub replayed: u64,
    /// [`Refused::Time`].
    pub time: u64,
    /// [`Refused::Header`].
    pub header: u64,
}

impl Refusals {
    /// One more.
    pub fn count(&mut self, refused: Refused) {
        *match refused {
            Refused::Stranger | Refused::Law => &mut self.stranger,
            Refused::Unknown => &mut self.unknown,
            Refused::Replayed => &mut self.replayed,
            Refused::Time => &mut self.time,
            Refused::Header(_) => &mut self.header,
        } += 1;
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.stranger + self.unknown + self.replayed + self.time + self.header
    }
}
