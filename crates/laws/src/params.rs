//! Parameter tables: one row per parameter, from which scenarios, the command line, the schema and the docs come.

use core::fmt;

use levelflow_units::{Bytes, Duration, Packets, Rate};

/// One parameter of a law.
#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    /// Name in scenarios.
    pub name: &'static str,
    /// What it does, one line.
    pub doc: &'static str,
    /// What kind of value it takes.
    pub unit: Unit,
    /// Default, in base units: seconds, bit/s, bytes, packets, plain numbers, 0 or 1 for a switch, the index of a choice.
    pub default: f64,
    /// Smallest and largest allowed value, in base units.
    pub range: (f64, f64),
    /// Where the default comes from.
    pub source: &'static str,
}

/// What kind of value a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unit {
    /// A plain number.
    Number,
    /// A time such as `"100 ms"`, kept in seconds.
    Duration,
    /// A rate such as `"40 kb/s"`, kept in bit/s.
    Rate,
    /// A size such as `"48 B"`, kept in bytes.
    Size,
    /// A number of packets such as `"50 packets"`.
    Packets,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// A value as it stands in a scenario.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Raw<'a> {
    /// A bare number.
    Number(f64),
    /// A word or a quantity.
    Text(&'a str),
    /// `true` or `false`.
    Flag(bool),
}

/// A parameter value that is not allowed; prints as one line that says what is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParamError {
    /// The parameter.
    pub name: &'static str,
    /// What is wrong with the value.
    pub problem: Problem,
}

/// See [`ParamError`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Problem {
    /// Not a value of this kind.
    Kind(Unit),
    /// Outside the range.
    Range {
        /// What was given, base units.
        value: f64,
        /// What is allowed, base units.
        range: (f64, f64),
        /// How to print them.
        unit: Unit,
    },
    /// In range, but not together with another parameter.
    Conflict(&'static str),
}

impl ParamSpec {
    /// Reads a value and checks its range.
    ///
    /// # Errors
    /// When it is of another kind or outside the range.
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
    /// When it is outside the range.
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

/// Rates that a sender may be given, bit/s.
pub const RATES: (f64, f64) = (1.0, 1e18);

/// A parameter in seconds that lies in the range of its table.
///
/// # Panics
/// When no duration is that long.
#[must_use]
pub fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value).expect("the table's range fits")
}

/// Refuses a first rate below the floor of a sender's rate.
///
/// # Errors
/// [`Problem::Conflict`] of `initial_rate`.
pub fn starts_above_floor(initial_rate: f64, min_rate: f64) -> Result<(), ParamError> {
    if initial_rate >= min_rate {
        return Ok(());
    }
    Err(ParamError {
        name: "initial_rate",
        problem: Problem::Conflict("must be at least min_rate"),
    })
}

/// Prints a value in base units the way a scenario writes it.
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
