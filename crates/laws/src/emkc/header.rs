//! The 20 bytes of fig 18.

use crate::header::{Values, header};

header! {
    /// What an EMKC packet carries (Zhang 2008, fig 18).
    pub struct EmkcHeader {
        id: u32 = Values::Number, Router, "router whose feedback this is; 0 while no router has written any";
        seq: u32 = Values::Number, Router, "that router's count of finished intervals";
        price: f32 = Values::float(f32::MIN, 1.0, "a finite number, at most 1"), Router,
            "`p = (X - C) / X` of its last finished interval; -3.4e38 where nothing is known";
        delta: f32 = Values::MAGNITUDE, Router, "length of that interval, s";
        usr: u32 = Values::Number, Sender, "number of the packet, or with `proper = false` the rate in bit/s as a float";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.id != 0)
    }
}

impl EmkcHeader {
    /// What a sender writes.
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
