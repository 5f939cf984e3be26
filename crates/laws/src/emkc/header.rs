//! The 20 bytes of fig 18, big-endian: router id, router sequence number, price, interval, user field.

use crate::Header;
use crate::bytes::{DecodeError, exactly, magnitude, number, word};

/// What an EMKC packet carries (Zhang 2008, fig 18).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmkcHeader {
    /// Router whose feedback this is; 0 while no router has written any.
    pub id: u32,
    /// That router's count of finished intervals.
    pub seq: u32,
    /// Signed loss `(X - C)/X` of its last finished interval, at most 1; `f32::MIN` where nothing is known.
    pub price: f32,
    /// Length of that interval, seconds.
    pub delta: f32,
    /// Written by the sender: packet number (proper) or rate in bit/s as `f32` bits (naive).
    pub usr: u32,
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

    /// Reads a header whose price may be any finite number, as it is where capacities are virtual.
    pub(crate) fn read(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire = exactly::<{ Self::WIRE }>(wire)?;
        let price = number(word(wire, 8), "p")?;
        if !price.is_finite() {
            return Err(DecodeError::Field {
                name: "p",
                allowed: "a finite number",
            });
        }
        Ok(Self {
            id: u32::from_be_bytes(word(wire, 0)),
            seq: u32::from_be_bytes(word(wire, 4)),
            price,
            delta: magnitude(word(wire, 12), "Delta")?,
            usr: u32::from_be_bytes(word(wire, 16)),
        })
    }
}

impl Header for EmkcHeader {
    const WIRE: usize = 20;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.id.to_be_bytes());
        out[4..8].copy_from_slice(&self.seq.to_be_bytes());
        out[8..12].copy_from_slice(&self.price.to_be_bytes());
        out[12..16].copy_from_slice(&self.delta.to_be_bytes());
        out[16..20].copy_from_slice(&self.usr.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let header = Self::read(wire)?;
        if header.price > 1.0 {
            return Err(DecodeError::Field {
                name: "p",
                allowed: "at most 1",
            });
        }
        Ok(header)
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.id != 0)
    }
}
