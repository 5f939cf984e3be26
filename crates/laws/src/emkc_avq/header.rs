//! EMKC's 20 bytes, of which the price may exceed 1, then the round-trip time.

use crate::emkc::EmkcHeader;
use crate::header::{Values, header};

header! {
    /// What an EMKC-AVQ packet carries: EMKC's header, whose price may exceed 1, and the round-trip time.
    pub struct EmkcAvqHeader {
        id: u32 = Values::Number, Router, "as in EMKC";
        seq: u32 = Values::Number, Router, "as in EMKC";
        price: f32 = Values::FINITE, Router, "as in EMKC, with the virtual capacity for `C`";
        delta: f32 = Values::MAGNITUDE, Router, "as in EMKC";
        usr: u32 = Values::Number, Sender, "as in EMKC";
        rtt: f32 = Values::TIME, Sender, "smoothed round-trip time, s; 0 while there is none";
    }

    fn seen_by_router(&self) -> Option<bool> {
        self.emkc().seen_by_router()
    }
}

impl EmkcAvqHeader {
    /// EMKC's header and the round-trip time.
    #[must_use]
    pub fn new(emkc: EmkcHeader, rtt: f32) -> Self {
        let EmkcHeader {
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

    /// EMKC's part.
    #[must_use]
    pub fn emkc(&self) -> EmkcHeader {
        let Self {
            id,
            seq,
            price,
            delta,
            usr,
            rtt: _,
        } = *self;
        EmkcHeader {
            id,
            seq,
            price,
            delta,
            usr,
        }
    }
}
