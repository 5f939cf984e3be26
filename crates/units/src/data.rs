//! Amounts of data, in bytes and in packets.

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub, SubAssign};

use crate::parse::{Kind, Quantity, Unit, parsed};
use crate::print::write_decimal;
use crate::{Duration, Rate};

parsed!(Bytes whole, Packets whole);

/// Number of decimal units at the start of [`BYTE_UNITS`]. Binary units follow.
const DECIMAL: usize = 5;
const BYTE_UNITS: &[Unit] = &[
    Unit::new("B", 1),
    Unit::new("kB", 1_000),
    Unit::new("MB", 1_000_000),
    Unit::new("GB", 1_000_000_000),
    Unit::new("TB", 1_000_000_000_000),
    Unit::new("KiB", 1 << 10),
    Unit::new("MiB", 1 << 20),
    Unit::new("GiB", 1 << 30),
];

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(u64);

macro_rules! counter {
    ($type:ident, $what:literal) => {
        impl $type {
            #[doc = concat!("No ", $what, ".")]
            pub const ZERO: $type = $type(0);

            #[doc = concat!("`count` ", $what, ".")]
            #[inline]
            pub const fn new(count: u64) -> $type {
                $type(count)
            }

            #[doc = concat!("The number of ", $what, ".")]
            #[inline]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// Returns the sum, or `None` if the sum is 2^64 or more.
            #[inline]
            pub fn checked_add(self, other: $type) -> Option<$type> {
                self.0.checked_add(other.0).map($type)
            }

            /// Returns the difference, or `None` if `other` is larger.
            #[inline]
            pub fn checked_sub(self, other: $type) -> Option<$type> {
                self.0.checked_sub(other.0).map($type)
            }
        }

        /// Panics if the sum is 2^64 or more; see `checked_add`.
        impl Add for $type {
            type Output = $type;

            #[inline]
            fn add(self, other: $type) -> $type {
                self.checked_add(other).expect(concat!("2^64 or more ", $what))
            }
        }

        /// Panics if the sum is 2^64 or more; see `checked_add`.
        impl AddAssign for $type {
            #[inline]
            fn add_assign(&mut self, other: $type) {
                *self = *self + other;
            }
        }

        /// Panics if the right-hand side is larger; see `checked_sub`.
        impl Sub for $type {
            type Output = $type;

            #[inline]
            fn sub(self, other: $type) -> $type {
                self.checked_sub(other).expect(concat!("fewer than no ", $what))
            }
        }

        /// Panics if the right-hand side is larger; see `checked_sub`.
        impl SubAssign for $type {
            #[inline]
            fn sub_assign(&mut self, other: $type) {
                *self = *self - other;
            }
        }

        /// Panics if the sum is 2^64 or more.
        impl Sum for $type {
            fn sum<I: Iterator<Item = $type>>(iter: I) -> $type {
                iter.fold($type::ZERO, Add::add)
            }
        }
    };
}

counter!(Bytes, "bytes");
counter!(Packets, "packets");

impl Bytes {
    /// Returns the amount in bits, rounded to the nearest `f64`.
    #[inline]
    #[must_use]
    pub fn as_bits_f64(self) -> f64 {
        self.0 as f64 * 8.0
    }

    /// Returns the rate `amount/time`, or `None` if `time` is zero.
    #[inline]
    #[must_use]
    pub fn per(self, time: Duration) -> Option<Rate> {
        Rate::new(self.as_bits_f64() * 1e12 / time.as_ps() as f64)
    }
}

impl Packets {
    /// Returns the total size of this number of packets, each of `size` bytes. Returns `None` if the result is 2^64
    /// bytes or more.
    #[inline]
    #[must_use]
    pub fn times(self, size: Bytes) -> Option<Bytes> {
        self.0.checked_mul(size.0).map(Bytes)
    }
}

/// Units of bits, which are rejected as data sizes.
const BIT_PITFALLS: &[(&str, &str)] = &[
    ("b", "counts bits, and an amount of data counts bytes: 8 b is 1 B"),
    ("kb", "counts bits, and an amount of data counts bytes: 8 kb is 1 kB"),
    ("Mb", "counts bits, and an amount of data counts bytes: 8 Mb is 1 MB"),
    ("Gb", "counts bits, and an amount of data counts bytes: 8 Gb is 1 GB"),
    ("Tb", "counts bits, and an amount of data counts bytes: 8 Tb is 1 TB"),
    ("Kib", "counts bits, and an amount of data counts bytes: 8 Kib is 1 KiB"),
    ("Mib", "counts bits, and an amount of data counts bytes: 8 Mib is 1 MiB"),
    ("Gib", "counts bits, and an amount of data counts bytes: 8 Gib is 1 GiB"),
];

impl Quantity for Bytes {
    const KIND: Kind = Kind {
        name: "an amount of data",
        example: "64 KiB",
        most: "2^64 - 1 B",
        base: "bytes",
        units: BYTE_UNITS,
        aliases: &[],
        pitfalls: BIT_PITFALLS,
    };
}

impl Quantity for Packets {
    const KIND: Kind = Kind {
        name: "a number of packets",
        example: "25 packets",
        most: "2^64 - 1 packets",
        base: "packets",
        units: &[Unit::new("packets", 1), Unit::new("packet", 1)],
        aliases: &[],
        pitfalls: &[],
    };
}

impl fmt::Display for Bytes {
    /// Writes the size with a unit. A size that is no multiple of 1 kB is written in KiB, MiB or GiB if the number is
    /// whole. Otherwise writes a decimal number of B, kB, MB, GB or TB.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (decimal, binary) = BYTE_UNITS.split_at(DECIMAL);
        let fits = |unit: &&Unit| self.0.is_multiple_of(unit.factor);
        match binary.iter().rev().find(fits) {
            Some(unit) if !self.0.is_multiple_of(1_000) => {
                write!(f, "{} {}", self.0 / unit.factor, unit.symbol)
            }
            _ => write_decimal(f, self.0, decimal),
        }
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} packet{plural}", self.0)
    }
}
