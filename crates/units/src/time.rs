//! Points in time and durations.

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

/// Spellings of microseconds: with the micro sign, and with the Greek letter mu.
const ALIASES: &[(&str, &str)] = &[("\u{b5}s", "us"), ("\u{3bc}s", "us")];

/// A point in time, in picoseconds since the start of a run. The largest time is about 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Start of a run.
    pub const ZERO: Time = Time(0);

    /// Last representable time. It also denotes an event that never happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// Returns the time `ps` picoseconds after the start of the run.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Returns the time since the start of the run, in picoseconds.
    #[inline]
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the time since the start of the run, s, rounded to the nearest `f64`. Use the rounded result only for
    /// output.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Returns the time `after` later than this time. Returns `None` past the last representable time.
    #[inline]
    #[must_use]
    pub fn checked_add(self, after: Duration) -> Option<Time> {
        self.0.checked_add(after.0).map(Time)
    }

    /// Returns the time `after` later than this time. Returns [`NEVER`](Self::NEVER) past the last representable time.
    /// Departure times of a slow link's queue can exceed this limit.
    #[inline]
    #[must_use]
    pub const fn saturating_add(self, after: Duration) -> Time {
        Time(self.0.saturating_add(after.0))
    }

    /// Returns the duration from `earlier` to this time. Returns zero if `earlier` is later than this time.
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

/// Panics past the last representable time (213 days); see [`Time::checked_add`].
impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, after: Duration) {
        *self = *self + after;
    }
}

/// Panics if the right-hand side is later than this time; see [`Time::since`].
impl Sub for Time {
    type Output = Duration;

    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        Duration(self.0.checked_sub(earlier.0).expect("difference to a later time"))
    }
}

/// Duration in picoseconds, up to about 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// Zero duration.
    pub const ZERO: Duration = Duration(0);
    /// Longest duration, 2^64 - 1 ps or about 213 days.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Returns a duration of `ps` picoseconds.
    #[inline]
    #[must_use]
    pub const fn from_ps(ps: u64) -> Duration {
        Duration(ps)
    }

    /// Returns a duration of `ns` nanoseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_ns(ns: u64) -> Duration {
        Duration::from_units(ns, PS_PER_NS)
    }

    /// Returns a duration of `us` microseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_us(us: u64) -> Duration {
        Duration::from_units(us, PS_PER_US)
    }

    /// Returns a duration of `ms` milliseconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_ms(ms: u64) -> Duration {
        Duration::from_units(ms, PS_PER_MS)
    }

    /// Returns a duration of `secs` seconds. Panics above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub const fn from_secs(secs: u64) -> Duration {
        Duration::from_units(secs, PS_PER_S)
    }

    #[inline]
    const fn from_units(count: u64, ps: u64) -> Duration {
        Duration(count.checked_mul(ps).expect("duration past 213 days"))
    }

    /// Returns a duration of `secs` seconds, rounded to the nearest picosecond. Returns `None` if `secs` is negative,
    /// NaN or above [`Duration::MAX`].
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
            let floor = ps as i64; // signed, because CPUs convert floats to signed integers in one instruction
            let half_up = u64::from(ps - floor as f64 >= 0.5);
            return Some(Duration(floor.unsigned_abs() + half_up));
        }
        (SIGNED..BEYOND).contains(&ps).then_some(Duration(ps as u64))
    }

    /// Returns the duration in picoseconds.
    #[inline]
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Returns the duration in seconds, rounded to the nearest `f64`.
    #[inline]
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Returns the sum, or `None` above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn checked_add(self, other: Duration) -> Option<Duration> {
        self.0.checked_add(other.0).map(Duration)
    }

    /// Returns the difference, or `None` if `other` is longer.
    #[inline]
    #[must_use]
    pub fn checked_sub(self, other: Duration) -> Option<Duration> {
        self.0.checked_sub(other.0).map(Duration)
    }

    /// Returns `count` times this duration, or `None` above [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn checked_mul(self, count: u64) -> Option<Duration> {
        self.0.checked_mul(count).map(Duration)
    }

    /// Returns the difference, or zero if `other` is longer.
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

/// Panics if the right-hand side is longer; see [`Duration::checked_sub`].
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
    /// Writes a whole number of hours or minutes if possible. Otherwise writes a decimal number of seconds or of a
    /// smaller unit.
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
