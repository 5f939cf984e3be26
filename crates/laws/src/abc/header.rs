//! Header of ABC: one byte with two flags.

use crate::header::{Bits, Values, header};

const BRAKE: u8 = 1 << 7;
const SEEN: u8 = 1 << 6;

const SIGNAL: Values = Values::Bits(&[
    Bits {
        name: "brake",
        mask: BRAKE as u32,
        doc: "set if a router on the path brakes; clear if all accelerate",
    },
    Bits {
        name: "seen",
        mask: SEEN as u32,
        doc: "the packet has passed an ABC router",
    },
]);

header! {
    /// Header of an ABC packet. The paper has the bit in the ECN field of IP (section 5.1.2).
    pub struct Header {
        signal: u8 = SIGNAL, Router, "as below";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.signal & SEEN != 0)
    }
}

impl Header {
    /// Header as a sender writes it: accelerate.
    pub const UNSET: Self = Self { signal: 0 };

    /// Returns true if a router on the path set the brake.
    #[inline]
    #[must_use]
    pub fn brakes(&self) -> bool {
        self.signal & BRAKE != 0
    }

    /// Records that the packet passed a router.
    #[inline]
    pub(super) fn see(&mut self) {
        self.signal |= SEEN;
    }

    /// Sets the brake, which no later router clears.
    #[inline]
    pub(super) fn brake(&mut self) {
        self.signal |= BRAKE;
    }
}
