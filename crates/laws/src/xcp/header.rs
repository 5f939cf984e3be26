//! Twenty bytes, big-endian, in the order of draft-falk-xcp-spec-03, section 3.2: next protocol, length, version and
//! format, a byte of zero; gap and round-trip time (s), reverse feedback and throughput change (byte/s), 32-bit floats.

use crate::Header;
use crate::bytes::{DecodeError, exactly, magnitude, number, word};

/// Longest round-trip time and gap that a header may carry, seconds.
pub(super) const LONGEST_RTT: f32 = 100.0;

/// Next protocol: none is modelled. Length. Version 3 of the draft, and a format number that it leaves free: numbers
/// are floats.
const PREFIX: [u8; 4] = [0, XcpHeader::WIRE as u8, 0x33, 0];

/// What an XCP packet carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct XcpHeader {
    /// `X`: time between two packets of the flow as its window has it, seconds, or `H_rtt s / H_cwnd` in the terms of
    /// the paper; 0 while the sender knows no round-trip time.
    pub gap: f32,
    /// `H_rtt`: smoothed round-trip time of the sender, seconds; 0 while it knows none.
    pub rtt: f32,
    /// Feedback that routers granted the acknowledged packet, byte/s.
    pub reverse_feedback: f32,
    /// By how much the throughput of the flow may change for this packet, byte/s: `H_feedback / H_rtt` in the terms
    /// of the paper. The sender asks for as much as can be had, infinity; routers lower it.
    pub delta_throughput: f32,
}

impl XcpHeader {
    /// The header of the ACK.
    #[inline]
    #[must_use]
    pub fn reflected(&self) -> Self {
        Self {
            gap: 0.0,
            rtt: 0.0,
            reverse_feedback: self.delta_throughput,
            delta_throughput: 0.0,
        }
    }
}

impl Header for XcpHeader {
    const WIRE: usize = 20;

    fn encode(&self, out: &mut [u8]) {
        out[0..4].copy_from_slice(&PREFIX);
        out[4..8].copy_from_slice(&self.gap.to_be_bytes());
        out[8..12].copy_from_slice(&self.rtt.to_be_bytes());
        out[12..16].copy_from_slice(&self.reverse_feedback.to_be_bytes());
        out[16..20].copy_from_slice(&self.delta_throughput.to_be_bytes());
    }

    fn decode(wire: &[u8]) -> Result<Self, DecodeError> {
        let wire = exactly::<{ Self::WIRE }>(wire)?;
        if word(wire, 0) != PREFIX {
            return Err(DecodeError::Field {
                name: "length and version",
                allowed: "20 bytes, version 3, format 3",
            });
        }
        let (gap, rtt) = (time(word(wire, 4), "gap")?, time(word(wire, 8), "rtt")?);
        if (gap == 0.0) != (rtt == 0.0) {
            return Err(DecodeError::Field {
                name: "gap",
                allowed: "0 where rtt is 0, and above 0 elsewhere",
            });
        }
        Ok(Self {
            gap,
            rtt,
            reverse_feedback: change(word(wire, 12), "reverse_feedback")?,
            delta_throughput: change(word(wire, 16), "delta_throughput")?,
        })
    }

    fn seen_by_router(&self) -> Option<bool> {
        (self.reverse_feedback != 0.0).then(|| self.reverse_feedback.is_finite())
    }
}

fn time(bytes: [u8; 4], name: &'static str) -> Result<f32, DecodeError> {
    let allowed = "0 to 100 s";
    let value = magnitude(bytes, name)?;
    if value <= LONGEST_RTT {
        Ok(value)
    } else {
        Err(DecodeError::Field { name, allowed })
    }
}

fn change(bytes: [u8; 4], name: &'static str) -> Result<f32, DecodeError> {
    let allowed = "any number but minus infinity";
    let value = number(bytes, name)?;
    if value > f32::NEG_INFINITY {
        Ok(value)
    } else {
        Err(DecodeError::Field { name, allowed })
    }
}
