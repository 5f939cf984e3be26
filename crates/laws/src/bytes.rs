//! Decoding errors of headers, and arithmetic on their fields.

use core::fmt;

/// Decoding error of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// The input is shorter than the header.
    Short {
        /// Available bytes.
        have: usize,
        /// Required bytes.
        need: usize,
    },
    /// A field has a value that is not allowed.
    Field {
        /// Name of the field.
        name: &'static str,
        /// Allowed values.
        allowed: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { have, need } => write!(f, "header has {have} bytes; {need} are needed"),
            Self::Field { name, allowed } => write!(f, "header field {name} is out of range; allowed: {allowed}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Returns the first `N` bytes of `wire`.
///
/// # Errors
/// [`DecodeError::Short`] if `wire` has fewer than `N` bytes.
pub fn exactly<const N: usize>(wire: &[u8]) -> Result<&[u8; N], DecodeError> {
    wire.first_chunk().ok_or(DecodeError::Short {
        have: wire.len(),
        need: N,
    })
}

/// Returns true if packet number `a` precedes `b`, modulo 2^32 (RFC 1982).
#[inline]
#[must_use]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Converts to fixed point: returns `value * 2^shift`, rounded down. Routers sum these integers. The sum does not
/// depend on the packet order and needs no floating-point unit. Negative values and NaN give 0; large values saturate.
#[inline]
#[must_use]
pub fn fixed(value: f32, shift: u32) -> u64 {
    debug_assert!(shift < 127);
    let scale = f32::from_bits((127 + shift) << 23);
    (value * scale) as u64
}
