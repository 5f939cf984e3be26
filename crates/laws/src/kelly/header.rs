//! The 8-byte header: a price and a number of intervals.

use crate::header::{Values, header};

header! {
    /// Fields of a packet of classic Kelly control.
    pub struct Header {
        price: f32 = Values::FINITE, Router, "sum of the prices of the routers passed";
        seq: u32 = Values::Number, Router, "number of finished intervals of the first router; 0 before the first router";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.seq != 0)
    }
}

impl Header {
    /// Header that a sender writes.
    pub const UNSET: Self = Self { price: 0.0, seq: 0 };
}
