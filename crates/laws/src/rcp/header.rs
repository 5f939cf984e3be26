//! Eight bytes, big-endian: rate (bit/s) and round-trip time (s), both 32-bit floats.

use crate::Header;
use crate::bytes::{DecodeError, exactly, magnitude, number, word};

/// Longest round-trip time a header may carry, seconds: a router believes what packets say for as long as that.
pub(super) const LONGEST_RTT: f32 = 100.0;

/// What an RCP packet carries (Dukkipati et al. 2005, section II-B, step 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RcpHeader {
    /// `R_p`: smallest rate offered so far on the path, bit/s; infinite while no router has offered one.
    pub rate: f32,
    /// `RTT_p`: the sender's estimate of its round-trip time, seconds; 0 while it has none.
    pub rtt: f32,
}

impl Header for RcpHeader {
    const WIRE: usize = 8;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&self.rate.to_be_bytes());
        out[4..8].copy_from_slice(&self.rtt.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire = exactly::<{ Self::WIRE }>(wire)?;
        let rate = number(word(wire, 0), "rate")?;
        if rate <= 0.0 {
            return Err(DecodeError::Field {
                name: "rate",
                allowed: "a number above 0, or infinity",
            });
        }
        let rtt = magnitude(word(wire, 4), "rtt")?;
        if rtt > LONGEST_RTT {
            return Err(DecodeError::Field {
                name: "rtt",
                allowed: "0 to 100 s",
            });
        }
        Ok(Self { rate, rtt })
    }

    fn seen_by_router(&self) -> Option<bool> {
        Some(self.rate.is_finite())
    }
}
