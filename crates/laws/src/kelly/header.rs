//! Eight bytes, big-endian: price, a 32-bit float, and the count of intervals, an unsigned integer.

use crate::Header;
use crate::bytes::{DecodeError, exactly, number, word};

/// What a packet of classic Kelly control carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KellyHeader {
    /// Sum of the prices of the routers passed so far.
    pub price: f32,
    /// How many intervals the first router of the path has finished; 0 while no router has finished one.
    pub seq: u32,
}

impl KellyHeader {
    /// What a sender writes.
    pub const UNSET: Self = Self { price: 0.0, seq: 0 };
}

impl Header for KellyHeader {
    const WIRE: usize = 8;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.price.to_be_bytes());
        out[4..8].copy_from_slice(&self.seq.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire = exactly::<{ Self::WIRE }>(wire)?;
        let price = number(word(wire, 0), "price")?;
        if !price.is_finite() {
            return Err(DecodeError::Field {
                name: "price",
                allowed: "a finite number",
            });
        }
        let seq = u32::from_be_bytes(word(wire, 4));
        Ok(Self { price, seq })
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.seq != 0)
    }
}
