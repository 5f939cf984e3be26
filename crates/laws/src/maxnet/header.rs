//! The TCP option of fig 4: kind 42, length 8, a 24-bit echo and a 24-bit price, big-endian.

use crate::Header;
use crate::bytes::{DecodeError, exactly};

const KIND: u8 = 42;

/// Top bit of a field: it carries a MaxStart rate instead of a price (section V).
pub(super) const MAX_START: u32 = 1 << 23;

/// Largest value of the other 23 bits.
pub(super) const LARGEST: u32 = MAX_START - 1;

/// Codes per second of price: 4 integer and 19 fraction bits.
const SCALE: f64 = (1_u32 << FRACTION_BITS) as f64;
pub(super) const FRACTION_BITS: u32 = 19;

/// What a MaxNet packet carries: two fields of 24 bits. A value of 0 is one that no router has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxNetHeader {
    /// What the receiver tells the sender; routers leave it alone.
    pub echo: u32,
    /// Largest price or smallest spare capacity so far on the path.
    pub price: u32,
}

/// The code of a price in seconds, as a router writes it: at least 1.
pub(super) fn code(price: f64) -> u32 {
    ((price * SCALE + 0.5) as u32).clamp(1, LARGEST)
}

/// The price, in seconds, that a field stands for; of a MaxStart rate, the price at which the demand is that rate.
pub(super) fn price(field: u32) -> f64 {
    f64::from(field & LARGEST) / SCALE
}

impl Header for MaxNetHeader {
    const WIRE: usize = 8;

    fn encode(&self, out: &mut [u8]) {
        out[0..2].copy_from_slice(&[KIND, Self::WIRE as u8]);
        out[2..5].copy_from_slice(&self.echo.to_be_bytes()[1..]);
        out[5..8].copy_from_slice(&self.price.to_be_bytes()[1..]);
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let &[kind, length, e0, e1, e2, p0, p1, p2] = exactly::<{ Self::WIRE }>(wire)?;
        let field = |name, allowed| Err(DecodeError::Field { name, allowed });
        if kind != KIND {
            return field("kind", "42");
        }
        if usize::from(length) != Self::WIRE {
            return field("length", "8");
        }
        Ok(Self {
            echo: u32::from_be_bytes([0, e0, e1, e2]),
            price: u32::from_be_bytes([0, p0, p1, p2]),
        })
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.echo & LARGEST != 0)
    }
}
