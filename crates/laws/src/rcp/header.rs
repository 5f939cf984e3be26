//! The 8-byte header: a rate and a round-trip time.

use crate::header::{Values, header};

header! {
    /// Fields of an RCP packet (Dukkipati et al. 2005, section II-B, step 2).
    pub struct Header {
        rate: f32 = Values::float(f32::from_bits(1), f32::INFINITY, "a number above 0, or infinity"), Router,
            "`R_p`: smallest rate offered by the routers passed, bit/s; infinite before the first router";
        rtt: f32 = Values::TIME, Sender, "`RTT_p`: the sender's estimate of its round-trip time, s; 0 before the first measurement";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.rate.is_finite())
    }
}
