//! One byte, of which ABC needs one bit.

use crate::header::{Bits, Values, header};

const BRAKE: u8 = 1 << 7;
const SEEN: u8 = 1 << 6;

const SIGNAL: Values = Values::Bits(&[
    Bits {
        name: "brake",
        mask: BRAKE as u32,
        doc: "a router of the path brakes; without, all accelerate",
    },
    Bits {
        name: "seen",
        mask: SEEN as u32,
        doc: "an ABC router has been passed",
    },
]);

header! {
    /// What an ABC packet carries. The paper has the bit in the ECN field of IP (section 5.1.2).
    pub struct AbcHeader {
        signal: u8 = SIGNAL, Router, "as below";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.signal & SEEN != 0)
    }
}

impl AbcHeader {
    /// What a sender writes: accelerate.
    pub const UNSET: Self = Self { signal: 0 };

    /// Whether a router brakes.
    #[inline]
    #[must_use]
    pub fn brakes(&self) -> bool {
        self.signal & BRAKE != 0
    }

    /// A router has been passed.
    #[inline]
    pub(super) fn see(&mut self) {
        self.signal |= SEEN;
    }

    /// A router brakes. No later one takes that back.
    #[inline]
    pub(super) fn brake(&mut self) {
        self.signal |= BRAKE;
    }
}
