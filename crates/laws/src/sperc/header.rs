//! The 28-byte header of s-PERC: the state of a flow at one hop, in packets and their ACKs.

use crate::header::{Bits, Values, header};

const LABEL: u8 = 3 << 6;
const LABEL_SHIFT: u32 = LABEL.trailing_zeros();
const IGNORE: u8 = 1 << 5;

const FLAGS: Values = Values::Bits(&[
    Bits {
        name: "label",
        mask: LABEL as u32,
        doc: "0: new, 1: unsatisfied, 2: satisfied, 3: finished",
    },
    Bits {
        name: "ignore",
        mask: IGNORE as u32,
        doc: "other hops ignore the limit of the target hop",
    },
]);

/// State of a flow at a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Label {
    /// Not counted by the hop.
    New,
    /// Limited by this hop: the flow takes an equal share of the capacity that satisfied flows do not use.
    Unsatisfied,
    /// Limited by another hop to a lower rate.
    Satisfied,
    /// Ended. One packet with this label signals the end to all hops.
    Finished,
}

impl Label {
    /// Decodes the lowest two bits.
    #[inline]
    pub(super) const fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::New,
            1 => Self::Unsatisfied,
            2 => Self::Satisfied,
            _ => Self::Finished,
        }
    }
}

header! {
    /// Fields of an s-PERC packet. A hop is the position of an s-PERC router on the path, counted from 1; 0 means no
    /// hop.
    pub struct Header {
        flags: u8 = FLAGS, Router, "label and ignore bit at the target hop; bits 4 to 0 are sent as 0 and not changed by routers";
        hop: u8 = Values::Number, Router, "routers passed so far";
        target: u8 = Values::Number, Sender, "hop that this packet updates; 0 for none";
        epoch: u8 = Values::Number, Router, "epoch, modulo 256, in which the target hop last counted the flow";
        allocation: f32 = Values::MAGNITUDE, Sender, "last allocation of the target hop, bit/s";
        elsewhere: f32 = Values::MAGNITUDE, Sender, "lowest limit of the other hops, without ignored limits, bit/s; 3.4e38 without other limits";
        limit: f32 = Values::MAGNITUDE, Router, "limit of the flow at the target hop, bit/s";
        period: f32 = Values::TIME, Sender, "duration of the previous round, i.e. time between two updates of a hop, s; 0 before the first round; for a finished flow, time since its last round began";
        leaving: u32 = Values::Number, Sender, "for a finished flow, its labels at hops 16 to 1, two bits each; otherwise 0";
        epochs: u32 = Values::Number, Sender, "for a finished flow, its epochs at hops 16 to 1, modulo 4, two bits each; otherwise 0";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.hop != 0)
    }
}

impl Header {
    /// Header of a packet without an update.
    pub(super) const PLAIN: Self = Self {
        flags: 0,
        hop: 0,
        target: 0,
        epoch: 0,
        allocation: 0.0,
        elsewhere: f32::MAX,
        limit: 0.0,
        period: 0.0,
        leaving: 0,
        epochs: 0,
    };

    /// Returns the label of the flow at the target hop.
    #[inline]
    #[must_use]
    pub fn label(&self) -> Label {
        Label::of(self.flags >> LABEL_SHIFT)
    }

    /// Returns true if other hops must ignore the limit of the target hop.
    #[inline]
    #[must_use]
    pub fn is_ignored(&self) -> bool {
        self.flags & IGNORE != 0
    }

    #[inline]
    pub(super) fn mark(&mut self, label: Label, ignored: bool) {
        let rest = self.flags & !(LABEL | IGNORE);
        self.flags = rest | (label as u8) << LABEL_SHIFT | if ignored { IGNORE } else { 0 };
    }

    /// Returns the label and the epoch, modulo 4, of a finished flow at a hop.
    #[inline]
    pub(super) fn left_behind(&self, hop: u8) -> (Label, u8) {
        let shift = 2 * u32::from(hop - 1);
        let at = |pairs: u32| pairs.checked_shr(shift).unwrap_or(0) as u8 & 3;
        (Label::of(at(self.leaving)), at(self.epochs))
    }

    #[inline]
    pub(super) fn leave_behind(&mut self, hop: u8, label: Label, epoch: u8) {
        let shift = 2 * u32::from(hop - 1);
        self.leaving |= (label as u32) << shift;
        self.epochs |= u32::from(epoch & 3) << shift;
    }
}
