//! Points in time and the distances between them.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

use crate::parse::{Kind, Quantity, Unit, parsed};
use crate::print::write_decimal;

parsed!(Time whole, Duration whole);

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_MS: u64 = 1_000_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;
const PS_PER_MIN: u64 = 60 * PS_PER_S;
const PS_PER_H: u64 = 60 * PS_PER_MIN;

const UNITS: &[Unit] = &[
    Unit::new("ps", 1),
    Unit::new("ns", PS_PER_NS),
    Unit::new("us", PS_PER_US),
    Unit::new("ms", PS_PER_MS),
    Unit::new("s", PS_PER_S),
    Unit::new("min", PS_PER_MIN),
    Unit::new("h", PS_PER_H),
];

/// With the micro sign, and with the Greek letter that looks like it.
const ALIASES: &[(&str, &str)] = &[("\u{b5}s", "us"), ("\u{3bc}s", "us")];

/// A point in time: picoseconds since the start of a run, up to about 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);

    /// The last representable time, which stands for one that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point `ps` picoseconds after the start.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    #[inline]
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, rounded to the nearest `f64`; for output, never for a clock.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The point `after` later, or `None` past the last representable time.
    #[inline]
    #[must_use]
    pub fn checked_add(self, after: Duration) -> Option<Time> {
        self.0.checked_add(after.0).map(Time)
    }

    /// The point `after` later, or [`NEVER`](Self::NEVER): the queue of a slow line can outlast the clock.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, after: Duration) -> Time {
        Time(self.0.saturating_add(after.0))
    }

    /// How long ago `earlier` was; zero if it has not happened yet.
    #[inline]
    #[must_use]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

/// Panics past the last representable time (213 days); see [`Time::checked_add`].
impl Add<Duration> for Time {
    type Output = Time;

    #[inline]
    fn add(self, after: Duration) -> Time {
        self.checked_add(after).expect("time past 213 days")
    }
}

/// Panics past the last representable time (213 days).
impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, after: Duration) {
        *self = *self + after;
    }
}

/// Panics if the right side is later; see [`Time::since`].
impl Sub for Time {
    type Output = Duration;

    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0.checked_sub(earlier.0).expect("difference to a later time"))
    }
}

/// A length of time in picoseconds, up to about 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// The longest duration, 2^64 - 1 ps or about 213 days.
    pub const MAX: Duration = Duration(u64::MAX);

    /// `ps` picoseconds.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps)
    }

    /// `ns` nanoseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Duration {
        Duration::from_units(ns, PS_PER_NS)
    }

    /// `us` microseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_us(us: u64) -> Duration {
        Duration::from_units(us, PS_PER_US)
    }

    /// `ms` milliseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_ms(ms: u64) -> Duration {
        Duration::from_units(ms, PS_PER_MS)
    }

    /// `secs` seconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_secs(secs: u64) -> Duration {
        Duration::from_units(secs, PS_PER_S)
    }

    #[inline]
    const fn from_units(count: u64, ps: u64) -> Duration {
        Duration(count.checked_mul(ps).expect("duration past 213 days"))
    }

    /// `secs` seconds to the nearest picosecond, or `None` if negative, NaN or above
    /// [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Option<Duration> {
        Duration::from_ps_f64(secs * PS_PER_S as f64)
    }

    #[inline]
    pub(crate) fn from_ps_f64(ps: f64) -> Option<Duration> {
        const SIGNED: f64 = (1_u64 << 63) as f64;
        const BEYOND: f64 = 2.0 * SIGNED;
        if (0.0..SIGNED).contains(&ps) {
            let floor = ps as i64; // signed, since processors convert that in one step
            let half_up = u64::from(ps - floor as f64 >= 0.5);
            return Some(Duration(floor.unsigned_abs() + half_up));
        }
        (SIGNED..BEYOND).contains(&ps).then_some(Duration(ps as u64))
    }

    /// The length in picoseconds.
    #[inline]
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The length in seconds, rounded to the nearest `f64`.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// The sum, or `None` above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn checked_add(self, other: Duration) -> Option<Duration> {
        self.0.checked_add(other.0).map(Duration)
    }

    /// The difference, or `None` if `other` is longer.
    #[inline]
    #[must_use]
    pub fn checked_sub(self, other: Duration) -> Option<Duration> {
        self.0.checked_sub(other.0).map(Duration)
    }

    /// `count` times this length, or `None` above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn checked_mul(self, count: u64) -> Option<Duration> {
        self.0.checked_mul(count).map(Duration)
    }

    /// The difference, or zero if `other` is longer.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }
}

/// Panics above [`Duration::MAX`]; see [`Duration::checked_add`].
impl Add for Duration {
    type Output = Duration;

    #[inline]
    fn add(self, other: Duration) -> Duration {
        self.checked_add(other).expect("duration past 213 days")
    }
}

/// Panics if the right side is longer; see [`Duration::checked_sub`].
impl Sub for Duration {
    type Output = Duration;

    #[inline]
    fn sub(self, other: Duration) -> Duration {
        self.checked_sub(other).expect("difference to a longer duration")
    }
}

/// Panics above [`Duration::MAX`]; see [`Duration::checked_mul`].
impl Mul<u64> for Duration {
    type Output = Duration;

    #[inline]
    fn mul(self, count: u64) -> Duration {
        self.checked_mul(count).expect("duration past 213 days")
    }
}

impl Quantity for Duration {
    const KIND: Kind = Kind {
        name: "a duration",
        example: "220 ms",
        most: "about 213 days",
        base: "picoseconds",
        units: UNITS,
        aliases: ALIASES,
        pitfalls: &[],
    };
}

impl Quantity for Time {
    const KIND: Kind = Kind {
        name: "a time",
        example: "1.5 s",
        most: "about 213 days",
        base: "picoseconds",
        units: UNITS,
        aliases: ALIASES,
        pitfalls: &[],
    };
}

impl fmt::Display for Duration {
    /// Whole hours or minutes, else a decimal number of seconds or a part of a second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("0 s"),
            ps if ps.is_multiple_of(PS_PER_H) => write!(f, "{} h", ps / PS_PER_H),
            ps if ps.is_multiple_of(PS_PER_MIN) => write!(f, "{} min", ps / PS_PER_MIN),
            ps => write_decimal(f, ps, &UNITS[..5]),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Duration(self.0), f)
    }
}
