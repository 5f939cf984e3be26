//! The 20-byte header of EMKC, with a price that may exceed 1, and a field for the round-trip time.

use crate::emkc;
use crate::header::{Values, header};

header! {
    /// Fields of an EMKC-AVQ packet: the header of EMKC, with a price that may exceed 1, and the round-trip time.
    pub struct Header {
        id: u32 = Values::Number, Router, "see EMKC";
        seq: u32 = Values::Number, Router, "see EMKC";
        price: f32 = Values::FINITE, Router, "see EMKC; `C` is the virtual capacity";
        delta: f32 = Values::MAGNITUDE, Router, "see EMKC";
        usr: u32 = Values::Number, Sender, "see EMKC";
        rtt: f32 = Values::TIME, Sender, "smoothed round-trip time, s; 0 before the first measurement";
    }

    fn seen_by_router(&self) -> Option<bool> {
        self.emkc().seen_by_router()
    }
}

impl Header {
    /// Combines a header of EMKC and a round-trip time.
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

    /// Returns the fields that EMKC also has.
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
