//! Eight bytes: a price and a count of intervals.

use crate::header::{Values, header};

header! {
    /// What a packet of classic Kelly control carries.
    pub struct KellyHeader {
        price: f32 = Values::FINITE, Router, "sum of the prices of the routers passed so far";
        seq: u32 = Values::Number, Router, "intervals that the first router of the path has finished; 0 while none has";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.seq != 0)
    }
}

impl KellyHeader {
    /// What a sender writes.
    pub const UNSET: Self = Self { price: 0.0, seq: 0 };
}
