//! EMKC's 20 bytes, then the round-trip time (s) as a 32-bit float, big-endian.

use crate::Header;
use crate::bytes::{DecodeError, exactly, magnitude, word};
use crate::emkc::EmkcHeader;

/// Longest round-trip time a header may carry, seconds: one packet sets the gain of a whole interval.
pub(super) const LONGEST_RTT: f32 = 100.0;

/// What an EMKC-AVQ packet carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmkcAvqHeader {
    /// As in EMKC, but the price may exceed 1.
    pub emkc: EmkcHeader,
    /// The sender's smoothed round-trip time, seconds; 0 while it has none.
    pub rtt: f32,
}

impl Header for EmkcAvqHeader {
    const WIRE: usize = EmkcHeader::WIRE + 4;

    fn encode(&self, out: &mut [u8]) {
        self.emkc.encode(out);
        out[EmkcHeader::WIRE..Self::WIRE].copy_from_slice(&self.rtt.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire = exactly::<{ Self::WIRE }>(wire)?;
        let rtt = magnitude(word(wire, EmkcHeader::WIRE), "rtt")?;
        if rtt > LONGEST_RTT {
            return Err(DecodeError::Field {
                name: "rtt",
                allowed: "0 to 100 s",
            });
        }
        let emkc = EmkcHeader::read(wire)?;
        Ok(Self { emkc, rtt })
    }

    fn seen_by_router(&self) -> Option<bool> {
        self.emkc.seen_by_router()
    }
}
