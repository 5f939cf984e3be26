//! Numbers as people read them.

use levelflow_units::Rate;

/// Four digits are what people read.
#[must_use]
pub fn rate(bps: f64) -> String {
    Rate::new(four_digits(bps)).map_or_else(|| bps.to_string(), |rate| rate.to_string())
}

fn four_digits(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return x;
    }
    let step = 10_f64.powi(x.log10().floor() as i32 - 3);
    if step >= 1.0 {
        (x / step).round() * step
    } else {
        (x * 1000.0).round() / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_four_digits() {
        assert_eq!(rate(94_876_543.2), "94.88 Mb/s");
        assert_eq!(rate(9.995e9), "9.995 Gb/s");
        assert_eq!(rate(0.0), "0 b/s");
    }
}
