//! The TCP option of fig 4: a 24-bit echo and a 24-bit price.

use crate::header::{Bits, Values, header};

/// Top bit of a field: it carries a MaxStart rate instead of a price (section V).
pub(super) const MAX_START: u32 = 1 << 23;

/// Largest value of the other 23 bits.
pub(super) const LARGEST: u32 = MAX_START - 1;

/// Codes per second of price: 4 integer and 19 fraction bits.
const SCALE: f64 = (1_u32 << FRACTION_BITS) as f64;
pub(super) const FRACTION_BITS: u32 = 19;

const SIGNAL: Values = Values::Bits(&[
    Bits {
        name: "start",
        mask: MAX_START,
        doc: "a rate of MaxStart, not a price",
    },
    Bits {
        name: "code",
        mask: LARGEST,
        doc: "price, 2^-19 s; 0 before any router",
    },
]);

header! {
    /// What a MaxNet packet carries: the TCP option of figure 4 of Andrew et al. A value of 0 is one that no router has written.
    pub struct MaxNetHeader after [kind: 42 "kind of TCP option", length: 8 "length of the option"] {
        echo: u32 as 3 = SIGNAL, Receiver, "what the receiver tells the sender; routers leave it alone";
        price: u32 as 3 = SIGNAL, Router, "largest price or smallest spare capacity so far on the path";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.echo & LARGEST != 0)
    }
}

/// The code of a price in seconds, as a router writes it: at least 1.
pub(super) fn code(price: f64) -> u32 {
    ((price * SCALE + 0.5) as u32).clamp(1, LARGEST)
}

/// The price, in seconds, that a field stands for; of a MaxStart rate, the price at which the demand is that rate.
pub(super) fn price(field: u32) -> f64 {
    f64::from(field & LARGEST) / SCALE
}
