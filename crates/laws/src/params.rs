//! Parameter tables: one row per parameter. Scenarios, the command line, the JSON Schema and the documentation use
//! these tables.

use core::fmt::{self, Debug};

use levelflow_units::{Bytes, Duration, Packets, Rate};

/// Row of a parameter table.
#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line description.
    pub doc: &'static str,
    /// Type of the value.
    pub unit: Unit,
    /// Default, in base units: seconds, bit/s, bytes, packets, plain numbers, 0 or 1 for a switch, index of a choice.
    pub default: f64,
    /// Default of the Linux profile, in base units; `None` if it equals `default`, the value of the papers.
    pub linux: Option<f64>,
    /// Smallest and largest allowed value, in base units.
    pub range: (f64, f64),
    /// Source of the default.
    pub source: &'static str,
}

/// Type of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// A plain number.
    Number,
    /// A time such as `"100 ms"`, stored in seconds.
    Duration,
    /// A rate such as `"40 kb/s"`, stored in bit/s.
    Rate,
    /// A size such as `"48 B"`, stored in bytes.
    Size,
    /// A number of packets such as `"50 packets"`.
    Packets,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Value as written in a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Raw<'a> {
    /// A bare number.
    Number(f64),
    /// A word or a quantity.
    Text(&'a str),
    /// `true` or `false`.
    Flag(bool),
}

/// Rejected parameter value. Its text is one line with the allowed values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamError {
    /// Name of the parameter.
    pub name: &'static str,
    /// Reason for the rejection.
    pub problem: Problem,
}

/// Reason for a [`ParamError`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Problem {
    /// Value of a wrong type. The field is the type that the parameter needs.
    Kind(Unit),
    /// Value outside the range.
    Range {
        /// Rejected value, base units.
        value: f64,
        /// Allowed range, base units.
        range: (f64, f64),
        /// Unit in which value and range are printed.
        unit: Unit,
    },
    /// Value in range that conflicts with another parameter.
    Conflict(&'static str),
}

impl ParamSpec {
    /// Reads a value and checks its range.
    ///
    /// # Errors
    /// When the value is of another type or outside the range.
    pub fn read(&self, raw: Raw<'_>) -> Result<f64, ParamError> {
        let kind = ParamError {
            name: self.name,
            problem: Problem::Kind(self.unit),
        };
        let value = match (self.unit, raw) {
            (Unit::Number, Raw::Number(x)) => x,
            (Unit::Switch, Raw::Flag(on)) => f64::from(u8::from(on)),
            (Unit::Duration, Raw::Text(t)) => t.parse::<Duration>().map_err(|_| kind)?.as_secs_f64(),
            (Unit::Rate, Raw::Text(t)) => t.parse::<Rate>().map_err(|_| kind)?.bps(),
            (Unit::Size, Raw::Text(t)) => t.parse::<Bytes>().map_err(|_| kind)?.get() as f64,
            (Unit::Packets, Raw::Text(t)) => t.parse::<Packets>().map_err(|_| kind)?.get() as f64,
            (Unit::Choice(words), Raw::Text(t)) => words.iter().position(|w| *w == t).ok_or(kind)? as f64,
            _ => return Err(kind),
        };
        self.check(value)
    }

    /// Checks a value in base units.
    ///
    /// # Errors
    /// When the value is outside the range.
    pub fn check(&self, value: f64) -> Result<f64, ParamError> {
        let (low, high) = self.range;
        if value >= low && value <= high {
            return Ok(value);
        }
        let problem = Problem::Range {
            value,
            range: self.range,
            unit: self.unit,
        };
        Err(ParamError {
            name: self.name,
            problem,
        })
    }
}

/// Floor of the variance term of the retransmission timeout, [`Transport::min_timeout`](crate::Transport::min_timeout).
pub const MIN_TIMEOUT: ParamSpec = ParamSpec {
    name: "min_timeout",
    doc: "floor of the variance term of the retransmission timeout (RTO): SRTT + max(4 RTTVAR, min_timeout)",
    unit: Unit::Duration,
    default: 0.2,
    linux: None,
    range: (1e-6, 60.0),
    source: "Linux, TCP_RTO_MIN; RFC 6298, section 2.4, has an RTO of at least 1 s",
};
/// Delayed ACKs: receivers acknowledge every second packet, [`Transport::ack_every`](crate::Transport::ack_every).
pub const DELAYED_ACK: ParamSpec = ParamSpec {
    name: "delayed_ack",
    doc: "receivers acknowledge every second packet, or after 40 ms",
    unit: Unit::Switch,
    default: 0.0,
    linux: Some(1.0),
    range: SWITCH_RANGE,
    source: "RFC 5681, section 4.2, and Linux; off in the ns-2 runs of the papers",
};
/// Range of sending rates, bit/s.
pub const RATE_RANGE: (f64, f64) = (1.0, 1e18);
/// Range of a switch: off and on.
pub const SWITCH_RANGE: (f64, f64) = (0.0, 1.0);

/// Struct of parameters that is built from the values of a parameter table.
pub trait Parameters: Clone + Debug + PartialEq {
    /// Builds the parameters from one value per row, in the order and base units of the table. Each value is in the
    /// range of its row.
    ///
    /// # Errors
    /// When values conflict.
    ///
    /// # Panics
    /// When there are fewer values than rows.
    fn read(values: &[f64]) -> Result<Self, ParamError>;
}

/// No parameters.
impl Parameters for () {
    fn read(_values: &[f64]) -> Result<Self, ParamError> {
        Ok(())
    }
}

/// Rust type of a parameter.
pub trait Value {
    /// Converts a value that is in base units and in the range of its row.
    fn of(base: f64) -> Self;
}

impl Value for f64 {
    fn of(base: f64) -> Self {
        base
    }
}

impl Value for bool {
    fn of(base: f64) -> Self {
        base != 0.0
    }
}

impl Value for u32 {
    fn of(base: f64) -> Self {
        base as Self
    }
}

impl Value for Bytes {
    fn of(base: f64) -> Self {
        Self::new(base as u64)
    }
}

impl Value for Rate {
    fn of(base: f64) -> Self {
        Self::clamped(base)
    }
}

impl Value for Duration {
    fn of(base: f64) -> Self {
        Self::from_secs_f64(base).expect("the row's range fits")
    }
}

/// Defines a struct of parameters and its table, one row per field:
///
/// ```text
/// field: type = unit, default, range,
///     "one-line description",
///     "source of the default";
/// ```
///
/// A default `papers => linux` has one value for the profile of the papers and one for the Linux profile. `field: type
/// = ROW;` is a row that several tables share. Two optional blocks may follow. The fields of an `also` block are
/// computed from the rows. A `where` block has conditions on several rows, `field: condition, "requirement";`. The
/// error of a condition names its field.
macro_rules! parameters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$more:meta])* $field:ident: $type:ty = $unit:expr $(, $default:expr $(=> $linux:expr)?, $range:expr, $doc:literal, $source:expr)?;)+
    } $(also {
        $($(#[$also_doc:meta])* $also_vis:vis $also:ident: $also_type:ty = $value:expr;)*
    })? $(where {
        $($blamed:ident: $holds:expr, $allowed:expr;)*
    })?) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        $vis struct $name {
            $($(#[$more])* $(#[doc = $doc])? pub $field: $type,)+
            $($($(#[$also_doc])* $also_vis $also: $also_type,)*)?
        }

        impl $name {
            /// One row per parameter.
            pub const TABLE: [$crate::params::ParamSpec; [$(stringify!($field)),+].len()] =
                [$($crate::params::row!($field, $unit $(, $default $(=> $linux)?, $range, $doc, $source)?)),+];
        }

        impl $crate::params::Parameters for $name {
            fn read(values: &[f64]) -> Result<Self, $crate::params::ParamError> {
                let mut values = values.iter();
                let mut next = || *values.next().expect("one value per row of the table");
                $(let $field: $type = $crate::params::Value::of(next());)+
                $($(let $also = $value;)*)?
                $($($crate::params::require(stringify!($blamed), $holds, $allowed)?;)*)?
                Ok(Self { $($field,)+ $($($also,)*)? })
            }
        }
    };
}
pub(crate) use parameters;

/// Expands to one row of [`parameters`].
macro_rules! row {
    ($field:ident, $row:expr) => {
        $row
    };
    ($field:ident, $unit:expr, $default:expr $(=> $linux:expr)?, $range:expr, $doc:literal, $source:expr) => {
        $crate::params::ParamSpec {
            name: stringify!($field),
            doc: $doc,
            unit: $unit,
            default: $default,
            linux: [$(Some($linux),)? None][0],
            range: $range,
            source: $source,
        }
    };
}
pub(crate) use row;

/// Defines an enum of choices for a parameter, with the word for each variant.
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$doc])* $variant),+ }

        impl $name {
            /// Type of the parameter: one of the words.
            pub(crate) const UNIT: $crate::params::Unit = $crate::params::Unit::Choice(&[$($word),+]);
            /// Range of indices of the words.
            pub(crate) const RANGE: (f64, f64) = (0.0, ([$($word),+].len() - 1) as f64);
        }

        impl $crate::params::Value for $name {
            fn of(base: f64) -> Self {
                [$(Self::$variant),+][base as usize]
            }
        }
    };
}
pub(crate) use choices;

/// Returns the rows of `first`, then the rows of `second`.
///
/// # Panics
/// When `ALL` is not the sum of the table lengths, or the first table is empty.
#[must_use]
pub const fn joined<const ALL: usize>(first: &[ParamSpec], second: &[ParamSpec]) -> [ParamSpec; ALL] {
    assert!(ALL == first.len() + second.len());
    let mut rows = [first[0]; ALL];
    let mut i = 1;
    while i < ALL {
        rows[i] = if i < first.len() {
            first[i]
        } else {
            second[i - first.len()]
        };
        i += 1;
    }
    rows
}

/// Returns the index of the row with this name.
///
/// # Panics
/// When there is no such row.
#[must_use]
pub const fn position(table: &[ParamSpec], name: &str) -> usize {
    let mut i = 0;
    while !same(table[i].name.as_bytes(), name.as_bytes()) {
        i += 1;
    }
    i
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

/// Rejects a parameter value that conflicts with other parameters.
pub(crate) fn require(name: &'static str, holds: bool, allowed: &'static str) -> Result<(), ParamError> {
    if holds {
        return Ok(());
    }
    let problem = Problem::Conflict(allowed);
    Err(ParamError { name, problem })
}

/// Value in base units that prints in the notation of scenarios.
pub struct Shown(pub Unit, pub f64);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(unit, value) = *self;
        match unit {
            Unit::Number => write!(f, "{value}"),
            Unit::Duration => match Duration::from_secs_f64(value) {
                Some(d) => write!(f, "{d}"),
                None => write!(f, "{value} s"),
            },
            Unit::Rate => match Rate::new(value) {
                Some(r) => write!(f, "{r}"),
                None => write!(f, "{value} b/s"),
            },
            Unit::Size => write!(f, "{}", Bytes::new(value as u64)),
            Unit::Packets => write!(f, "{}", Packets::new(value as u64)),
            Unit::Switch => write!(f, "{}", value != 0.0),
            Unit::Choice(words) => write!(f, "{}", words.get(value as usize).unwrap_or(&"?")),
        }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problem {
            Problem::Kind(unit) => match unit {
                Unit::Number => write!(f, "needs a plain number"),
                Unit::Duration => write!(f, "needs a time with its unit, e.g. \"100 ms\""),
                Unit::Rate => write!(f, "needs a rate with its unit, e.g. \"40 kb/s\""),
                Unit::Size => write!(f, "needs a size with its unit, e.g. \"1000 B\""),
                Unit::Packets => write!(f, "needs a number of packets, e.g. \"50 packets\""),
                Unit::Switch => write!(f, "needs true or false"),
                Unit::Choice(words) => {
                    write!(f, "needs one of")?;
                    words
                        .iter()
                        .enumerate()
                        .try_for_each(|(i, w)| write!(f, "{} \"{w}\"", if i == 0 { "" } else { "," }))
                }
            },
            Problem::Range {
                value,
                range: (low, high),
                unit,
            } => {
                let (value, low, high) = (Shown(unit, value), Shown(unit, low), Shown(unit, high));
                write!(f, "{value} is out of range; allowed: {low} to {high}")
            }
            Problem::Conflict(why) => write!(f, "{why}"),
        }
    }
}

impl core::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::{Parameters, Unit};

    parameters! {
        /// Table with two empty blocks.
        struct Plain {
            gain: f64 = Unit::Number, 1.0, (0.0, 2.0), "a gain", "this test";
        } also {} where {}
    }

    #[test]
    fn blocks_of_a_table_may_be_empty() {
        assert_eq!(Plain::read(&[1.5]), Ok(Plain { gain: 1.5 }));
        assert_eq!(Plain::TABLE[0].name, "gain");
    }
}
