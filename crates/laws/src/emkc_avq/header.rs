//! EMKC's 20-byte header, with a price that may exceed 1, followed by the round-trip time.

use crate::emkc;
use crate::header::{Values, header};

header! {
    /// Fields of an EMKC-AVQ packet: EMKC's header, with a price that may exceed 1, and the round-trip time.
    pub struct Header {
        id: u32 = Values::Number, Router, "as in EMKC";
        seq: u32 = Values::Number, Router, "as in EMKC";
        price: f32 = Values::FINITE, Router, "as in EMKC, with the virtual capacity for `C`";
        delta: f32 = Values::MAGNITUDE, Router, "as in EMKC";
        usr: u32 = Values::Number, Sender, "as in EMKC";
        rtt: f32 = Values::TIME, Sender, "smoothed round-trip time, s; 0 before the first";
    }

    fn seen_by_router(&self) -> Option<bool> {
        self.emkc().seen_by_router()
    }
}

impl Header {
    /// Combines EMKC's header and the round-trip time.
    #[must_use]
    pub fn new(emkc: emkc::Header, rtt: f32) -> Self {
        let emkc::Header {
            id,
            seq,
            price,
            delta,
            usr,
        } = emkc;
        Self {
            id,
            seq,
            price,
            delta,
            usr,
            rtt,
        }
    }

    /// Returns EMKC's part of the header.
    #[must_use]
    pub fn emkc(&self) -> emkc::Header {
        let Self {
            id,
            seq,
            price,
            delta,
            usr,
            rtt: _,
        } = *self;
        emkc::Header {
            id,
            seq,
            price,
            delta,
            usr,
        }
    }
}
