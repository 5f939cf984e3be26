//! The 20-byte header: a request of a sender, and the reply of the routers.

use crate::header::{Values, header};

header! {
    /// Fields of a Slots packet.
    pub struct Header {
        rtt: f32 = Values::TIME, Sender, "latest round-trip time of the sender, s; 0 before the first ACK";
        request: f32 = Values::MAGNITUDE, Sender, "data for which the sender requests a slot, bits; 0 for no request";
        grant: f32 = Values::MAGNITUDE, Router, "smallest amount of data granted by the routers passed, bits; the request before the first router";
        wait: f32 = Values::TIME, Router, "longest time until a slot of the routers passed starts, s";
        rate: f32 = Values::MAGNITUDE, Router, "lowest rate of the slots of the routers passed, bit/s; 3.4e38 before the first router";
    }

    fn seen_by_router(&self) -> Option<bool> {
        (self.request > 0.0).then(|| self.is_granted())
    }
}

impl Header {
    /// Returns true if a router has granted a slot.
    #[inline]
    #[must_use]
    pub fn is_granted(&self) -> bool {
        self.rate < f32::MAX
    }
}
