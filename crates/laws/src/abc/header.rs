//! Header of ABC: one byte with two flags.

use crate::header::{Bits, Values, header};

const BRAKE: u8 = 1 << 7;
const SEEN: u8 = 1 << 6;

const SIGNAL: Values = Values::Bits(&[
    Bits {
        name: "brake",
        mask: BRAKE as u32,
        doc: "set if any router on the path signals brake; clear if every router signals accelerate",
    },
    Bits {
        name: "seen",
        mask: SEEN as u32,
        doc: "the packet has passed an ABC router",
    },
]);

header! {
    /// Header of an ABC packet. In the paper, the brake bit is in the ECN field of IP (section 5.1.2).
    pub struct Header {
        signal: u8 = SIGNAL, Router, "flags";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.signal & SEEN != 0)
    }
}

impl Header {
    /// Header that a sender writes: accelerate.
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

    /// Sets the brake. No later router clears it.
    #[inline]
    pub(super) fn brake(&mut self) {
        self.signal |= BRAKE;
    }
}
