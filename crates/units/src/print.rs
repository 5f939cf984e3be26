//! Exact printing of numbers as decimal text in a readable unit.

use core::fmt::{self, Write};

use crate::parse::Unit;

/// Text of limited length, stored on the stack.
pub(crate) struct Buffer {
    bytes: [u8; 64],
    len: usize,
}

impl Buffer {
    pub(crate) fn of(args: fmt::Arguments<'_>) -> Result<Buffer, fmt::Error> {
        let mut buffer = Buffer { bytes: [0; 64], len: 0 };
        buffer.write_fmt(args)?;
        Ok(buffer)
    }

    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// Writes `value` exactly, in the largest unit that does not exceed `value`. `units` are in ascending order, in powers
/// of ten, and begin with 1.
pub(crate) fn write_decimal(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let unit = units
        .iter()
        .rev()
        .find(|unit| unit.factor <= value)
        .unwrap_or(&units[0]);
    write!(f, "{}", value / unit.factor)?;
    let mut rest = value % unit.factor;
    if rest > 0 {
        f.write_char('.')?;
    }
    let mut place = unit.factor;
    while rest > 0 {
        place /= 10;
        write!(f, "{}", rest / place)?;
        rest %= place;
    }
    write!(f, " {}", unit.symbol)
}

/// Writes the shortest decimal number that parses to `value`, in the largest unit that does not exceed `value`. `units`
/// are in ascending order, in powers of ten, and begin with 1.
pub(crate) fn write_real(f: &mut fmt::Formatter<'_>, value: f64, units: &[Unit]) -> fmt::Result {
    let text = Buffer::of(format_args!("{value:e}"))?;
    let (digits, exponent) = text.as_str().split_once('e').ok_or(fmt::Error)?;
    let exponent: i32 = exponent.parse().map_err(|_| fmt::Error)?;
    let (head, tail) = digits.split_once('.').unwrap_or((digits, ""));

    let power = |unit: &Unit| unit.factor.ilog10() as i32;
    let unit = units
        .iter()
        .rev()
        .find(|unit| power(unit) <= exponent)
        .unwrap_or(&units[0]);
    write_shifted(f, head, tail, exponent - power(unit))?;
    write!(f, " {}", unit.symbol)
}

/// Writes the number `head.tail * 10^shift`. Uses scientific notation if plain notation would be long.
fn write_shifted(f: &mut fmt::Formatter<'_>, head: &str, tail: &str, shift: i32) -> fmt::Result {
    match shift {
        0..=17 => {
            let (whole, fraction) = tail.split_at(tail.len().min(shift as usize));
            write!(f, "{head}{whole:0<0$}", shift as usize)?;
            if fraction.is_empty() {
                Ok(())
            } else {
                write!(f, ".{fraction}")
            }
        }
        -6..=-1 => write!(f, "0.{:0<1$}{head}{tail}", "", (-shift - 1) as usize),
        _ if tail.is_empty() => write!(f, "{head}e{shift}"),
        _ => write!(f, "{head}.{tail}e{shift}"),
    }
}
