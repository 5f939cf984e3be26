//! Parser for quantities: a decimal number followed by a unit.

use core::fmt;

use crate::print::Buffer;

/// Limit on significant digits. With this limit, a number fits into `u128`, even in the largest unit.
const MAX_DIGITS: u32 = 22;

/// A unit and its size in multiples of the base unit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub(crate) symbol: &'static str,
    pub(crate) factor: u64,
}

impl Unit {
    pub(crate) const fn new(symbol: &'static str, factor: u64) -> Unit {
        Unit { symbol, factor }
    }
}

/// Description of a quantity for parsing and error messages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) example: &'static str,
    pub(crate) most: &'static str,
    pub(crate) base: &'static str,
    pub(crate) units: &'static [Unit],
    /// Pairs of an alternative spelling and the symbol of the unit.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
    /// Pairs of a rejected unit of another quantity and the advice for the error message.
    pub(crate) pitfalls: &'static [(&'static str, &'static str)],
}

/// A type written as a number and a unit.
pub(crate) trait Quantity {
    const KIND: Kind;
}

/// Implements `FromStr` for each type. `$reader` is the method of [`Kind`] that parses the text.
macro_rules! parsed {
    ($($type:ident $reader:ident),+) => {
        $(impl core::str::FromStr for $type {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<$type, $crate::ParseError> {
                <$type as $crate::parse::Quantity>::KIND.$reader(text).map($type)
            }
        })+
    };
}
pub(crate) use parsed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Malformed,
    /// The unit has a different spelling. Contains the correct symbol.
    Spelling(&'static str),
    /// The unit belongs to another quantity. Contains the advice for the error message.
    Pitfall(&'static str),
    NoUnit,
    Signed,
    TooManyDigits,
    NotWhole,
    TooLarge,
    TooSmall,
    Zero,
}

/// Error of parsing a quantity. The message has one line with the problem and the allowed format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    excerpt: Excerpt,
    problem: Problem,
    kind: &'static Kind,
}

/// Decimal number: mantissa and decimal exponent. The unit is the base unit.
struct Number {
    mantissa: u128,
    exponent: i64,
}

impl Kind {
    /// Parses an integer number of base units, exactly.
    pub(crate) fn whole(&'static self, text: &str) -> Result<u64, ParseError> {
        self.number(text)
            .and_then(Number::exact_u64)
            .map_err(|problem| self.error(text, problem))
    }

    /// Parses a number of base units, rounded to the nearest `f64`.
    pub(crate) fn real(&'static self, text: &str) -> Result<f64, ParseError> {
        self.number(text)
            .and_then(Number::nearest_f64)
            .map_err(|problem| self.error(text, problem))
    }

    /// Parses a number like [`Kind::real`], but rejects zero.
    pub(crate) fn positive(&'static self, text: &str) -> Result<f64, ParseError> {
        match self.real(text)? {
            0.0 => Err(self.error(text, Problem::Zero)),
            value => Ok(value),
        }
    }

    fn number(&self, text: &str) -> Result<Number, Problem> {
        if text.starts_with(['-', '+']) {
            return Err(Problem::Signed);
        }
        let (mut number, rest) = Number::split(text)?;
        let symbol = rest.trim_start_matches(' ');
        if symbol.is_empty() {
            return Err(Problem::NoUnit);
        }
        number.mantissa *= u128::from(self.unit(symbol)?.factor);
        Ok(number)
    }

    /// Returns the unit with this symbol or this alternative spelling.
    fn unit(&self, written: &str) -> Result<&'static Unit, Problem> {
        let alias = self.aliases.iter().find(|(other, _)| *other == written);
        let symbol = alias.map_or(written, |(_, symbol)| symbol);
        let units = self.units;
        if let Some(unit) = units.iter().find(|unit| unit.symbol == symbol) {
            return Ok(unit);
        }
        if let Some((_, advice)) = self.pitfalls.iter().find(|(unit, _)| *unit == written) {
            return Err(Problem::Pitfall(advice));
        }
        if let Some(problem) = DataUnit::of(written).and_then(|meant| self.near(meant)) {
            return Err(problem);
        }
        let same = |unit: &str| unit.eq_ignore_ascii_case(written);
        let spelled = self
            .aliases
            .iter()
            .find(|(other, _)| same(other))
            .map(|(_, symbol)| *symbol);
        let spelled = spelled.or_else(|| units.iter().map(|unit| unit.symbol).find(|symbol| same(symbol)));
        Err(spelled.map_or(Problem::Malformed, Problem::Spelling))
    }

    /// Returns the problem for a unit that is spelled differently or belongs to another quantity.
    fn near(&self, meant: DataUnit) -> Option<Problem> {
        let same = |unit: &str| DataUnit::of(unit) == Some(meant);
        let spelled = self.units.iter().find(|unit| same(unit.symbol));
        let pitfall = || self.pitfalls.iter().find(|(unit, _)| same(unit));
        let spelled = spelled.map(|unit| Problem::Spelling(unit.symbol));
        spelled.or_else(|| pitfall().map(|(_, advice)| Problem::Pitfall(advice)))
    }

    fn error(&'static self, text: &str, problem: Problem) -> ParseError {
        ParseError {
            excerpt: Excerpt::of(text),
            problem,
            kind: self,
        }
    }
}

/// Meaning of a unit of data or data rate. It does not depend on the spelling, so `MBps` and `mbyte/s` are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DataUnit {
    /// Prefix: `k`, `m`, `g` or `t`. It may be decimal or binary.
    prefix: Option<char>,
    /// True if the prefix is a power of 1024, false if it is a power of 1000.
    binary: bool,
    /// True for bytes, false for bits. As a single letter, `B` means bytes and `b` means bits.
    bytes: bool,
    per_second: bool,
}

impl DataUnit {
    fn of(written: &str) -> Option<DataUnit> {
        let suffix = ["/second", "/sec", "/s", "ps"].into_iter().find(|suffix| {
            let tail = written
                .len()
                .checked_sub(suffix.len())
                .and_then(|from| written.get(from..));
            tail.is_some_and(|tail| tail.eq_ignore_ascii_case(suffix))
        });
        let amount = &written[..written.len() - suffix.map_or(0, str::len)];
        let prefix = amount.chars().next().map(|c| c.to_ascii_lowercase());
        let prefix = prefix.filter(|c| matches!(c, 'k' | 'm' | 'g' | 't'));
        let rest = &amount[prefix.map_or(0, char::len_utf8)..];
        let binary = rest.strip_prefix('i').filter(|_| prefix.is_some());
        let counted = binary.unwrap_or(rest);
        let any_of = |words: [&str; 2]| words.iter().any(|word| counted.eq_ignore_ascii_case(word));
        let bytes = counted == "B" || any_of(["byte", "bytes"]);
        let bits = counted == "b" || any_of(["bit", "bits"]);
        (bytes || bits).then_some(DataUnit {
            prefix,
            binary: binary.is_some(),
            bytes,
            per_second: suffix.is_some(),
        })
    }
}

impl Number {
    /// Parses `digits[.digits][e[+-]digits]` at the start of `text`. Returns the number and the remaining text.
    fn split(text: &str) -> Result<(Number, &str), Problem> {
        let (whole, rest) = split_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("0", rest),
        };
        if whole.is_empty() || fraction.is_empty() {
            return Err(Problem::Malformed);
        }
        let (power, rest) = split_exponent(rest);
        let mut number = Number {
            mantissa: 0,
            exponent: power.saturating_sub(fraction.len() as i64),
        };
        let mut zeros = 0;
        for digit in whole.bytes().chain(fraction.bytes()) {
            if digit == b'0' {
                zeros += 1;
                continue;
            }
            number.push_zeros(zeros)?;
            number.push_zeros(1)?;
            number.mantissa += u128::from(digit - b'0');
            zeros = 0;
        }
        number.exponent = number.exponent.saturating_add(i64::from(zeros));
        Ok((number, rest))
    }

    fn push_zeros(&mut self, zeros: u32) -> Result<(), Problem> {
        const LIMIT: u128 = 10_u128.pow(MAX_DIGITS);
        if self.mantissa == 0 {
            return Ok(());
        }
        let scale = 10_u128.checked_pow(zeros).ok_or(Problem::TooManyDigits)?;
        match self.mantissa.checked_mul(scale) {
            Some(mantissa) if mantissa < LIMIT => self.mantissa = mantissa,
            _ => return Err(Problem::TooManyDigits),
        }
        Ok(())
    }

    fn exact_u64(self) -> Result<u64, Problem> {
        if self.mantissa == 0 {
            return Ok(0);
        }
        let power = u32::try_from(self.exponent.unsigned_abs())
            .ok()
            .and_then(|n| 10_u128.checked_pow(n));
        let value = if self.exponent >= 0 {
            power
                .and_then(|power| self.mantissa.checked_mul(power))
                .ok_or(Problem::TooLarge)?
        } else {
            power
                .filter(|power| self.mantissa.is_multiple_of(*power))
                .map(|power| self.mantissa / power)
                .ok_or(Problem::NotWhole)?
        };
        u64::try_from(value).map_err(|_| Problem::TooLarge)
    }

    fn nearest_f64(self) -> Result<f64, Problem> {
        let text = Buffer::of(format_args!("{}e{}", self.mantissa, self.exponent));
        let value = text
            .ok()
            .and_then(|text| text.as_str().parse().ok())
            .ok_or(Problem::Malformed)?;
        match value {
            0.0 if self.mantissa > 0 => Err(Problem::TooSmall),
            f64::INFINITY => Err(Problem::TooLarge),
            value => Ok(value),
        }
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// Parses an exponent at the start of `text`. Returns the exponent and the remaining text. The exponent is zero if
/// `text` does not start with one.
fn split_exponent(text: &str) -> (i64, &str) {
    let Some(signed) = text.strip_prefix(['e', 'E']) else {
        return (0, text);
    };
    let (digits, rest) = split_digits(signed.strip_prefix(['+', '-']).unwrap_or(signed));
    if digits.is_empty() {
        return (0, text);
    }
    let size = digits.bytes().fold(0_i64, |sum, d| {
        sum.saturating_mul(10).saturating_add(i64::from(d - b'0'))
    });
    (if signed.starts_with('-') { -size } else { size }, rest)
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind;
        write!(f, "{} ", self.excerpt)?;
        match self.problem {
            Problem::Malformed => write!(f, "is not {}", kind.name),
            Problem::Spelling(symbol) => write!(f, "has a unit that is written {symbol}"),
            Problem::Pitfall(advice) => f.write_str(advice),
            Problem::NoUnit => f.write_str("has no unit"),
            Problem::Signed => write!(f, "has a sign, but {} must not have one", kind.name),
            Problem::TooManyDigits => write!(f, "has more than {MAX_DIGITS} significant digits"),
            Problem::NotWhole => write!(f, "is not a whole number of {}", kind.base),
            Problem::TooLarge => write!(f, "is too large: {} is at most {}", kind.name, kind.most),
            Problem::TooSmall => write!(f, "is too small: {} is at least 5e-324 {}", kind.name, kind.base),
            Problem::Zero => write!(f, "is zero, but {} must be above zero", kind.name),
        }?;
        write!(f, "; write a number and a unit, e.g. \"{}\" (units: ", kind.example)?;
        for (index, unit) in kind.units.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { ", " }, unit.symbol)?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseError({self})")
    }
}

impl core::error::Error for ParseError {}

/// First bytes of the rejected text, for the error message.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Excerpt {
    bytes: [u8; Excerpt::MAX],
    len: usize,
    cut: bool,
}

impl Excerpt {
    const MAX: usize = 48;

    fn of(text: &str) -> Excerpt {
        let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
        let len = ends.take_while(|end| *end <= Excerpt::MAX).last().unwrap_or(0);
        let mut bytes = [0; Excerpt::MAX];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Excerpt {
            bytes,
            len,
            cut: len < text.len(),
        }
    }
}

impl fmt::Display for Excerpt {
    /// Writes the excerpt on one line, in quotes. Control characters are escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default();
        write!(f, "{text:?}{}", if self.cut { " (and more)" } else { "" })
    }
}
