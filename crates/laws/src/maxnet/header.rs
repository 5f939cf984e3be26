//! The TCP option of fig 4: a 24-bit echo and a 24-bit price.

use crate::header::{Bits, Values, header};

/// Top bit of a field: set if the field contains a MaxStart rate instead of a price (section V).
pub(super) const MAX_START: u32 = 1 << 23;

/// Largest code in the lower 23 bits of a field.
pub(super) const MAX_CODE: u32 = MAX_START - 1;

/// Factor that converts a price in seconds to a code. A code has 4 integer bits and 19 fraction bits.
const CODES_PER_SECOND: f64 = (1_u32 << FRACTION_BITS) as f64;
pub(super) const FRACTION_BITS: u32 = 19;

const SIGNAL: Values = Values::Bits(&[
    Bits {
        name: "start",
        mask: MAX_START,
        doc: "set if the code is a rate of MaxStart; clear if the code is a price",
    },
    Bits {
        name: "code",
        mask: MAX_CODE,
        doc: "price, in units of 2^-19 s; 0 before the first router",
    },
]);

header! {
    /// Fields of a MaxNet packet: the TCP option of figure 4 of Andrew et al. A field is 0 until a router changes it.
    pub struct Header after [kind: 42 "kind of TCP option", length: 8 "length of the option"] {
        echo: u32 as 3 = SIGNAL, Receiver, "signal that the receiver returns to the sender; not changed by routers";
        price: u32 as 3 = SIGNAL, Router, "largest price, or smallest spare capacity, of the routers passed";
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.echo & MAX_CODE != 0)
    }
}

/// Encodes a price in seconds. The code is at least 1.
pub(super) fn code(price: f64) -> u32 {
    ((price * CODES_PER_SECOND + 0.5) as u32).clamp(1, MAX_CODE)
}

/// Decodes the price of a field, in seconds. For a MaxStart rate, this is the price at which the demand equals the
/// rate.
pub(super) fn price(field: u32) -> f64 {
    f64::from(field & MAX_CODE) / CODES_PER_SECOND
}
