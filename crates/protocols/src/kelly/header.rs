//! Eight bytes, big-endian: price and rate (bit/s), both 32-bit floats.

use crate::Header;
use crate::wire::{DecodeError, exactly, magnitude, number, word};

/// What a packet of classic Kelly control carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KellyHeader {
    /// Sum of the prices of the routers passed so far.
    pub price: f32,
    /// Rate at which the packet was sent, bit/s.
    pub rate: f32,
}

impl Header for KellyHeader {
    const WIRE: usize = 8;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.price.to_be_bytes());
        out[4..8].copy_from_slice(&self.rate.to_be_bytes());
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
        let rate = magnitude(word(wire, 4), "rate")?;
        Ok(Self { price, rate })
    }
}
