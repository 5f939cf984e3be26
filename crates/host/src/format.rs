//! Numbers formatted for display.

use levelflow_units::{Bytes, Rate};

/// Formats a rate with four significant digits.
#[must_use]
pub fn rate(bps: f64) -> String {
    rounded(bps, 4)
}

/// Formats a rate with three significant digits.
#[must_use]
pub fn short_rate(bps: f64) -> String {
    rounded(bps, 3)
}

fn rounded(bps: f64, digits: i32) -> String {
    Rate::new(significant(bps, digits)).map_or_else(|| bps.to_string(), |rate| rate.to_string())
}

/// Formats an amount of data with three significant digits.
#[must_use]
pub fn bytes(count: u64) -> String {
    let unit = 10_u64.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(2));
    Bytes::new((count + unit / 2) / unit * unit).to_string()
}

fn significant(x: f64, digits: i32) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return x;
    }
    let decimals = digits - 1 - x.log10().floor() as i32;
    let scale = 10_f64.powi(decimals.abs());
    // Division by a power of ten returns the number nearest to the decimal fraction. Multiplication by the inverse of
    // the power does not.
    if decimals > 0 {
        (x * scale).round() / scale
    } else {
        (x / scale).round() * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_are_asked_for() {
        assert_eq!(rate(94_876_543.2), "94.88 Mb/s");
        assert_eq!(rate(9.995e9), "9.995 Gb/s");
        assert_eq!(short_rate(9_876_543.0), "9.88 Mb/s");
        assert_eq!(rate(12.3456), "12.35 b/s");
        assert_eq!(bytes(1_234_567), "1.23 MB");
    }

    #[test]
    fn nothing_is_zero() {
        assert_eq!((rate(0.0).as_str(), bytes(0).as_str()), ("0 b/s", "0 B"));
    }
}
