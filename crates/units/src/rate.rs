//! Rates, in bits per second or events per second.

use core::fmt;

use crate::parse::{Kind, Quantity, Unit, parsed};
use crate::print::write_real;
use crate::{Bytes, Duration};

parsed!(Rate real, Frequency positive);

const PS_PER_S: f64 = 1e12;

/// Data rate in bits per second. The value is finite and at least zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Rate(f64);

impl Rate {
    /// Zero rate.
    pub const ZERO: Rate = Rate(0.0);

    /// Returns a rate of `bps` bits per second, or `None` if `bps` is negative, NaN or infinite.
    #[inline]
    #[must_use]
    pub fn new(bps: f64) -> Option<Rate> {
        // the addition of 0.0 converts -0.0 to 0.0
        (0.0..f64::INFINITY).contains(&bps).then_some(Rate(bps + 0.0))
    }

    /// Returns the nearest valid rate to `bps` bits per second. A negative number and NaN give zero. Infinity gives
    /// `f64::MAX`. Control laws use this function because their results may be out of range. User input is checked by
    /// [`Rate::new`].
    #[inline]
    #[must_use]
    pub fn clamped(bps: f64) -> Rate {
        Rate(if bps > 0.0 { bps.min(f64::MAX) } else { 0.0 })
    }

    /// Returns the rate in bits per second.
    #[inline]
    #[must_use]
    pub const fn bps(self) -> f64 {
        self.0
    }

    /// Returns the transmission time of `amount` at this rate, rounded to the nearest picosecond. A time above 2^53 ps
    /// (two and a half hours) is rounded to the nearest `f64`. Returns `None` if the rate is zero or the time exceeds
    /// [`Duration::MAX`].
    #[inline]
    #[must_use]
    pub fn time_to_send(self, amount: Bytes) -> Option<Duration> {
        if self.0 == 0.0 {
            return None;
        }
        Duration::from_ps_f64(amount.as_bits_f64() * PS_PER_S / self.0)
    }

    /// Returns the number of bytes sent in `time` at this rate. The number may have a fraction.
    #[inline]
    #[must_use]
    pub fn bytes_in(self, time: Duration) -> f64 {
        self.0 * (time.as_ps() as f64 / (8.0 * PS_PER_S))
    }

    /// Returns the product of this rate and `factor`, or `None` if it is negative, NaN or infinite.
    #[inline]
    #[must_use]
    pub fn scaled(self, factor: f64) -> Option<Rate> {
        Rate::new(self.0 * factor)
    }
}

/// Frequency in events per second. The value is finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Frequency(f64);

impl Frequency {
    /// Returns a frequency of `per_second` events per second. Returns `None` if `per_second` is NaN, infinite, zero or
    /// negative.
    #[inline]
    #[must_use]
    pub fn new(per_second: f64) -> Option<Frequency> {
        (per_second > 0.0 && per_second < f64::INFINITY).then_some(Frequency(per_second))
    }

    /// Returns the frequency in events per second.
    #[inline]
    #[must_use]
    pub const fn per_second(self) -> f64 {
        self.0
    }
}

/// Alternative spellings of rate units. `tc` uses the spellings `kbit` to `Tbit`.
const RATE_ALIASES: &[(&str, &str)] = &[
    ("bit/s", "b/s"),
    ("kbit/s", "kb/s"),
    ("Mbit/s", "Mb/s"),
    ("Gbit/s", "Gb/s"),
    ("Tbit/s", "Tb/s"),
    ("bps", "b/s"),
    ("kbps", "kb/s"),
    ("Mbps", "Mb/s"),
    ("Gbps", "Gb/s"),
    ("Tbps", "Tb/s"),
    ("kbit", "kb/s"),
    ("mbit", "Mb/s"),
    ("gbit", "Gb/s"),
    ("tbit", "Tb/s"),
    ("Mbit", "Mb/s"),
    ("Gbit", "Gb/s"),
    ("Tbit", "Tb/s"),
];

/// Rejected units of bytes and of powers of 1024. In `tc`, lower-case `mbps`, `gbps` and `tbps` mean bytes.
const RATE_PITFALLS: &[(&str, &str)] = &[
    ("B/s", "counts bytes, and a rate counts bits: 1 B/s is 8 b/s"),
    ("kB/s", "counts bytes, and a rate counts bits: 1 kB/s is 8 kb/s"),
    ("MB/s", "counts bytes, and a rate counts bits: 1 MB/s is 8 Mb/s"),
    ("GB/s", "counts bytes, and a rate counts bits: 1 GB/s is 8 Gb/s"),
    ("TB/s", "counts bytes, and a rate counts bits: 1 TB/s is 8 Tb/s"),
    ("KiB/s", "counts bytes, and a rate counts bits: 1 KiB/s is 8.192 kb/s"),
    (
        "MiB/s",
        "counts bytes, and a rate counts bits: 1 MiB/s is 8.388608 Mb/s",
    ),
    (
        "GiB/s",
        "counts bytes, and a rate counts bits: 1 GiB/s is 8.589934592 Gb/s",
    ),
    (
        "TiB/s",
        "counts bytes, and a rate counts bits: 1 TiB/s is 8.796093022208 Tb/s",
    ),
    ("Kib/s", "counts powers of 1024: 1 Kib/s is 1.024 kb/s"),
    ("Mib/s", "counts powers of 1024: 1 Mib/s is 1.048576 Mb/s"),
    ("Gib/s", "counts powers of 1024: 1 Gib/s is 1.073741824 Gb/s"),
    ("Tib/s", "counts powers of 1024: 1 Tib/s is 1.099511627776 Tb/s"),
    ("mbps", "may mean bits or, as in tc, bytes: write Mb/s for bits"),
    ("gbps", "may mean bits or, as in tc, bytes: write Gb/s for bits"),
    ("tbps", "may mean bits or, as in tc, bytes: write Tb/s for bits"),
];

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
        aliases: RATE_ALIASES,
        pitfalls: RATE_PITFALLS,
    };
}

impl Quantity for Frequency {
    const KIND: Kind = Kind {
        name: "a frequency",
        example: "400 /s",
        most: "1.7976931348623157e308 /s",
        base: "/s",
        units: &[Unit::new("/s", 1)],
        aliases: &[],
        pitfalls: &[],
    };
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
