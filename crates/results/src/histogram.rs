//! Quantiles of many values in constant memory.

use serde::Serialize;

/// Percentiles are within this many significant digits.
const DIGITS: u8 = 2;

/// How values are spread: quantiles to two digits, extremes and count exactly.
#[derive(Debug)]
pub struct Histogram {
    counts: hdrhistogram::Histogram<u64>,
    /// Values of zero, which are common and need no histogram.
    zeros: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = hdrhistogram::Histogram::new(DIGITS).expect("two digits are supported");
        Self {
            counts,
            zeros: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Histogram {
    /// Adds a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
        } else {
            self.count(value);
        }
    }

    fn count(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.counts.record(value).expect("the histogram grows");
    }

    /// Quantiles in the unit of which a value of 1 is `unit`; `None` without values.
    #[expect(clippy::missing_panics_doc, reason = "zero is in the range of every histogram")]
    #[must_use]
    pub fn quantiles(&self, unit: f64) -> Option<Quantiles> {
        let mut all = self.counts.clone();
        all.record_n(0, self.zeros).expect("zero fits");
        let min = if self.zeros > 0 { 0 } else { self.min };
        let scaled = |value: u64| value as f64 * unit;
        let at = |q| scaled(all.value_at_quantile(q).clamp(min, self.max));
        (!all.is_empty()).then(|| Quantiles {
            min: scaled(min),
            mean: all.mean() * unit,
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: scaled(self.max),
        })
    }

    /// Bytes held.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.counts.distinct_values() * size_of::<u64>()
    }
}

/// Quantiles of something.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs, reason = "names of columns, which docs/guides/results.md explains")]
pub struct Quantiles {
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}
