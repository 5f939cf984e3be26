//! Queueing delays of packets, over a run and in each sampling interval.

use crate::histogram::{Buckets, Quantiles};

/// Right shift that converts picoseconds to units of 1024 ps. A shift is faster than a division.
const UNIT_BITS: u32 = 10;
const UNIT_S: f64 = 1024e-12;

/// Queueing delays. A delay is the time from the arrival of a packet at a queue to the start of its transmission.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Delays {
    /// Sum of the delays since the last sample, in units of 1024 ps.
    sum: u64,
    /// Longest delay since the last sample, in units of 1024 ps.
    longest: u64,
    /// Delays since the start of the run, in units of 1024 ps.
    all: Buckets,
    /// Sum and maximum of the delays up to the last sample, in units of 1024 ps.
    before: (u128, u64),
}

/// Queueing delays since the last sample.
#[derive(Debug, Clone, Copy)]
pub struct DelaySample {
    /// Number of packets whose delays were recorded.
    pub packets: u64,
    /// Mean delay, s; NaN without packets.
    pub mean_s: f64,
    /// Longest delay, s; NaN without packets.
    pub max_s: f64,
}

impl Default for DelaySample {
    fn default() -> Self {
        Self::NONE
    }
}

impl DelaySample {
    /// Sample without packets.
    pub const NONE: Self = Self {
        packets: 0,
        mean_s: f64::NAN,
        max_s: f64::NAN,
    };
}

impl Delays {
    /// Records a delay, ps.
    #[inline]
    pub fn record(&mut self, delay_ps: u64) {
        let delay = delay_ps >> UNIT_BITS;
        self.sum += delay;
        self.longest = self.longest.max(delay);
        self.all.record(delay);
    }

    /// Returns the delays since the previous call. `packets` is the number of delays recorded since then.
    pub fn sample(&mut self, packets: u64) -> DelaySample {
        let (sum, longest) = (std::mem::take(&mut self.sum), std::mem::take(&mut self.longest));
        self.before = (self.before.0 + u128::from(sum), self.before.1.max(longest));
        if packets == 0 {
            return DelaySample::NONE;
        }
        DelaySample {
            packets,
            mean_s: sum as f64 * UNIT_S / packets as f64,
            max_s: longest as f64 * UNIT_S,
        }
    }

    /// Returns quantiles over the run, s; `None` without packets.
    #[must_use]
    pub fn quantiles(&self) -> Option<Quantiles> {
        let (sum, longest) = (self.before.0 + u128::from(self.sum), self.before.1.max(self.longest));
        self.all.quantiles(sum, longest, UNIT_S)
    }

    /// Returns the memory used, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.all.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The expected sum and maximum of each sample are computed separately.
        #[test]
        fn samples_divide_the_delays_of_a_run(
            samples in prop::collection::vec(prop::collection::vec(0..1_u64 << 50, 0..20), 1..8),
        ) {
            let mut delays = Delays::default();
            for sample in &samples {
                sample.iter().for_each(|&delay| delays.record(delay));
                let found = delays.sample(sample.len() as u64);
                prop_assert_eq!(found.packets, sample.len() as u64);
                if let Some(&longest) = sample.iter().max() {
                    prop_assert!((found.max_s - longest as f64 * 1e-12).abs() <= 1.1e-9);
                    let mean = sample.iter().sum::<u64>() as f64 * 1e-12 / sample.len() as f64;
                    prop_assert!((found.mean_s - mean).abs() <= 1.1e-9);
                } else {
                    prop_assert!(found.mean_s.is_nan() && found.max_s.is_nan());
                }
            }
            let count = samples.iter().map(Vec::len).sum::<usize>() as u64;
            prop_assert_eq!(delays.quantiles().map_or(0, |found| found.count), count);
        }
    }
}
