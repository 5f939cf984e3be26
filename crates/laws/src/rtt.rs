//! Smoothed round-trip time.

/// Weight of a new sample in the smoothed round-trip time (RFC 6298, section 2.3).
pub const GAIN: f64 = 0.125;

/// Returns the smoothed round-trip time after a sample, in seconds. `srtt` is the previous value, 0 before the first
/// sample.
#[inline]
pub fn smoothed(srtt: f64, sample: f64, gain: f64) -> f64 {
    if srtt == 0.0 {
        sample
    } else {
        srtt + gain * (sample - srtt)
    }
}
