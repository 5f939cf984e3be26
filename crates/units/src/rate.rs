//! How much per second: bits, or events.

use core::fmt;
use core::str::FromStr;

use crate::parse::{Kind, ParseError, Quantity, Unit};
use crate::print::write_real;
use crate::{Bytes, Duration};

const PS_PER_S: f64 = 1e12;

/// A rate of data in bits per second: finite, and zero or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Nothing per second.
    pub const ZERO: Rate = Rate(0.0);

    /// `bps` bits per second, or `None` if negative, NaN or infinite.
    #[inline]
    pub fn new(bps: f64) -> Option<Rate> {
        // Adding zero turns -0.0 into 0.0.
        (0.0..f64::INFINITY).contains(&bps).then_some(Rate(bps + 0.0))
    }

    /// The rate nearest to `bps` bits per second: zero for a negative number or NaN, and
    /// `f64::MAX` for infinity. For the inside of a control law, whose arithmetic may leave the
    /// range; what a user writes goes through [`Rate::new`].
    #[inline]
    pub fn clamped(bps: f64) -> Rate {
        Rate(if bps > 0.0 { bps.min(f64::MAX) } else { 0.0 })
    }

    /// Bits per second.
    #[inline]
    pub const fn bps(self) -> f64 {
        self.0
    }

    /// How long `amount` takes at this rate, to the nearest picosecond (or, above 2^53 ps, two
    /// and a half hours, to the nearest `f64`); `None` at rate zero and above [`Duration::MAX`].
    #[inline]
    pub fn time_to_send(self, amount: Bytes) -> Option<Duration> {
        if self.0 == 0.0 {
            return None;
        }
        Duration::from_ps_f64(amount.as_bits_f64() * PS_PER_S / self.0)
    }

    /// Bytes that pass at this rate in `time`, fractions included.
    #[inline]
    pub fn bytes_in(self, time: Duration) -> f64 {
        self.0 * (time.as_ps() as f64 / (8.0 * PS_PER_S))
    }

    /// This rate times `factor`, or `None` if that is negative, NaN or infinite.
    #[inline]
    pub fn scaled(self, factor: f64) -> Option<Rate> {
        Rate::new(self.0 * factor)
    }
}

/// How often something happens, in events per second: finite, and more than zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Frequency(f64);

impl Frequency {
    /// `per_second` events per second, or `None` unless finite and more than zero.
    #[inline]
    pub fn new(per_second: f64) -> Option<Frequency> {
        (per_second > 0.0 && per_second < f64::INFINITY).then_some(Frequency(per_second))
    }

    /// Events per second.
    #[inline]
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

impl Quantity for Rate {
    const KIND: Kind = Kind {
        name: "a rate",
        example: "10 Mb/s",
        most: "1.7976931348623157e296 Tb/s",
        base: "b/s",
        units: &[
            Unit::new("b/s", 1),
            Unit::new("kb/s", 1_000),
            Unit::new("Mb/s", 1_000_000),
            Unit::new("Gb/s", 1_000_000_000),
            Unit::new("Tb/s", 1_000_000_000_000),
        ],
    };
}

impl Quantity for Frequency {
    const KIND: Kind = Kind {
        name: "a frequency",
        example: "400 /s",
        most: "1.7976931348623157e308 /s",
        base: "/s",
        units: &[Unit::new("/s", 1)],
    };
}

impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Rate, ParseError> {
        Self::KIND.real(text).map(Rate)
    }
}

impl FromStr for Frequency {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Frequency, ParseError> {
        Self::KIND.positive(text).map(Frequency)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_real(f, self.0, Self::KIND.units)
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_real(f, self.0, Self::KIND.units)
    }
}
