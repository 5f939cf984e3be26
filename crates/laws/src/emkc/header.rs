//! The 20-byte header of fig 18.

use crate::header::{Values, header};

header! {
    /// Fields of an EMKC packet (Zhang 2008, fig 18).
    pub struct Header {
        id: u32 = Values::Number, Router, "router that wrote this feedback; 0 before the first router";
        seq: u32 = Values::Number, Router, "number of finished intervals of this router";
        price: f32 = Values::float(f32::MIN, 1.0, "a finite number, at most 1"), Router,
            "`p = (X - C) / X` of the last finished interval of this router; -3.4e38 without a measurement";
        delta: f32 = Values::MAGNITUDE, Router, "length of the last finished interval, s";
        usr: u32 = Values::Number, Sender, "number of the packet; for naive senders, the sending rate in bit/s as a float";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.id != 0)
    }
}

impl Header {
    /// Returns the header that a sender writes.
    #[must_use]
    pub fn unset(usr: u32) -> Self {
        Self {
            id: 0,
            seq: 0,
            price: f32::MIN,
            delta: 0.0,
            usr,
        }
    }
}
