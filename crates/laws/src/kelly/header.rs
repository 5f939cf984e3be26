//! The 8-byte header: a price and a count of intervals.

use crate::header::{Values, header};

header! {
    /// Fields of a packet of classic Kelly control.
    pub struct Header {
        price: f32 = Values::FINITE, Router, "sum of the prices of the routers passed so far";
        seq: u32 = Values::Number, Router, "finished intervals of the first router of the path; 0 before the first";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.seq != 0)
    }
}

impl Header {
    /// Header of a packet as the sender writes it.
    pub const UNSET: Self = Self { price: 0.0, seq: 0 };
}
