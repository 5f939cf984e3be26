//! Why bytes are refused, and arithmetic on what they hold.

use core::fmt;

/// Why bytes are not a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than the header has.
    Short {
        /// Bytes there.
        have: usize,
        /// Bytes needed.
        need: usize,
    },
    /// A field holds a value that is never written.
    Field {
        /// Which one.
        name: &'static str,
        /// What is allowed.
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

/// Checks that `wire` holds at least `N` bytes and returns them.
///
/// # Errors
/// [`DecodeError::Short`].
pub fn exactly<const N: usize>(wire: &[u8]) -> Result<&[u8; N], DecodeError> {
    wire.first_chunk().ok_or(DecodeError::Short {
        have: wire.len(),
        need: N,
    })
}

/// Whether packet number `a` is older than `b`, counting mod 2^32 as in RFC 1982.
#[inline]
#[must_use]
pub fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// `value * 2^shift`, rounded down, as routers add it up: integers give the same sum in any order and need no
/// floating-point unit. Negative values and NaN give 0, large ones saturate.
#[inline]
#[must_use]
pub fn fixed(value: f32, shift: u32) -> u64 {
    debug_assert!(shift < 127);
    let scale = f32::from_bits((127 + shift) << 23);
    (value * scale) as u64
}
