//! Quantiles of many values in constant memory.

use schemars::JsonSchema;
use serde::Serialize;

/// Significant digits of percentiles.
const DIGITS: u8 = 2;
/// Values of at most this number of bits (0 to 255) each have their own bucket. Each further power of two is divided
/// into 128 buckets. An `hdrhistogram` with `DIGITS` digits has the same buckets.
const UNIT_BITS: u32 = 8;

/// Number of values in each bucket. The caller stores the sum and maximum of the values. Quantiles are computed by an
/// `hdrhistogram` that is filled from the buckets.
#[derive(Debug, Default)]
pub struct Buckets {
    /// Number of zeros. Zeros are common and need no bucket.
    zeros: u64,
    /// Number of values in each bucket of the `hdrhistogram`. The list begins with bucket `first`.
    counts: Vec<u64>,
    first: usize,
}

/// Distribution of values. Quantiles have two digits. Mean, maximum and count are exact.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: Buckets,
    max: u64,
    sum: u128,
}

/// Returns the index of the bucket for a value.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(UNIT_BITS);
    ((shift as usize) << (UNIT_BITS - 1)) + (value >> shift) as usize
}

/// Returns the smallest value in a bucket.
fn least(bucket: usize) -> u64 {
    let half = 1 << (UNIT_BITS - 1);
    let shift = (bucket / half).saturating_sub(1);
    ((bucket - shift * half) as u64) << shift
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.buckets.record(value);
    }

    /// Returns the quantiles times `unit`; `None` without values.
    #[must_use]
    pub fn quantiles(&self, unit: f64) -> Option<Quantiles> {
        self.buckets.quantiles(self.sum, self.max, unit)
    }
}

impl Buckets {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        let bucket = bucket(value);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.extend(bucket),
        }
    }

    /// Extends the buckets to include `bucket`, and counts the first value in `bucket`.
    #[cold]
    fn extend(&mut self, bucket: usize) {
        if self.counts.is_empty() {
            self.first = bucket;
        }
        let before = self.first.saturating_sub(bucket);
        self.counts.splice(..0, std::iter::repeat_n(0, before));
        self.first -= before;
        let place = bucket - self.first;
        self.counts.resize(self.counts.len().max(place + 1), 0);
        self.counts[place] = 1;
    }

    /// Returns quantiles, mean and maximum times `unit`; `None` without values. `sum` and `max` are the sum and the
    /// maximum of the recorded values.
    #[expect(
        clippy::missing_panics_doc,
        reason = "two digits are supported, and the histogram grows"
    )]
    #[must_use]
    pub fn quantiles(&self, sum: u128, max: u64, unit: f64) -> Option<Quantiles> {
        let mut all = hdrhistogram::Histogram::<u64>::new(DIGITS).expect("two digits are supported");
        all.record_n(0, self.zeros).expect("zero fits");
        for (place, &count) in self.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            all.record_n(least(self.first + place), count)
                .expect("the histogram grows");
        }
        let count = all.len();
        let at = |q| all.value_at_quantile(q).min(max) as f64 * unit;
        (count > 0).then(|| Quantiles {
            count,
            mean: sum as f64 / count as f64 * unit,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: max as f64 * unit,
        })
    }

    /// Returns the memory used, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.counts.capacity() * size_of::<u64>()
    }
}

/// Count, mean, quantiles and maximum of a set of values.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median, to two digits.
    pub p50: f64,
    /// 90th percentile, to two digits.
    pub p90: f64,
    /// 99th percentile, to two digits.
    pub p99: f64,
    /// Maximum.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// An `hdrhistogram` that records the values itself gives the expected quantiles.
        #[test]
        fn quantiles_are_those_of_the_library_counting_each_value(
            values in prop::collection::vec((0..64_u32, any::<u64>()).prop_map(|(shift, value)| value >> shift), 1..200),
        ) {
            let mut own = Histogram::default();
            let mut all = hdrhistogram::Histogram::<u64>::new(DIGITS).unwrap();
            for &value in &values {
                own.record(value);
                all.record(value).unwrap();
            }
            let max = *values.iter().max().unwrap();
            let at = |q| all.value_at_quantile(q).min(max) as f64;
            let expected = Quantiles {
                count: values.len() as u64,
                mean: values.iter().copied().map(u128::from).sum::<u128>() as f64 / values.len() as f64,
                p50: at(0.5),
                p90: at(0.9),
                p99: at(0.99),
                max: max as f64,
            };
            prop_assert_eq!(own.quantiles(1.0), Some(expected));
        }

        #[test]
        fn a_bucket_begins_with_its_least_value(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let first = least(bucket(value));
            prop_assert!(first <= value && bucket(first) == bucket(value));
            prop_assert!(first == 0 || bucket(first - 1) < bucket(first));
        }
    }
}
