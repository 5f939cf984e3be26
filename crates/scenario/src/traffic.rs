//! Distributions of random values, and arrival processes of flows.

use levelflow_random::Stream;
use levelflow_units::Bytes;
use levelflow_wire::framing::Framing;

/// Random variable; values are in base units (seconds, bytes, counts).
#[derive(Debug, Clone, PartialEq)]
pub enum Dist {
    /// Constant value.
    Constant(f64),
    /// Uniform distribution on [low, high).
    Uniform {
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean.
        mean: f64,
    },
    /// Pareto distribution: `P(X > x) = (scale/x)^shape` with `scale = mean (shape - 1)/shape`.
    Pareto {
        /// Mean.
        mean: f64,
        /// Tail index, above 1.
        shape: f64,
    },
    /// Log-normal distribution.
    Lognormal {
        /// Mean of the values, not of their logarithm.
        mean: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// List of equally likely values.
    List(Vec<f64>),
    /// Points of a cumulative distribution function: values, each with the probability that a draw is at most this
    /// value. Values and probabilities ascend, the last probability is 1, and the function is linear between points. A
    /// draw below the first probability returns the first value.
    Empirical(Vec<(f64, f64)>),
}

impl Dist {
    /// Draws a value.
    pub fn sample(&self, stream: &mut Stream) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, high } => low + (high - low) * stream.unit(),
            Self::Exponential { mean } => mean * stream.exponential(),
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(1.0 - stream.unit(), -1.0 / shape)
            }
            Self::Lognormal { mean, sigma } => {
                let mu = libm::log(*mean) - sigma * sigma / 2.0;
                libm::exp(mu + sigma * stream.normal())
            }
            Self::List(values) => values[(stream.unit() * values.len() as f64) as usize],
            Self::Empirical(points) => {
                let u = stream.unit();
                let above = points.partition_point(|&(_, p)| p <= u).min(points.len() - 1);
                let (value, p) = points[above];
                match above.checked_sub(1).map(|below| points[below]) {
                    Some((low, at)) => low + (value - low) * (u - at) / (p - at),
                    None => value,
                }
            }
        }
    }

    /// Returns the mean of a draw.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, high } => (low + high) / 2.0,
            Self::Exponential { mean } | Self::Pareto { mean, .. } | Self::Lognormal { mean, .. } => *mean,
            Self::List(values) => values.iter().sum::<f64>() / values.len() as f64,
            Self::Empirical(points) => {
                let parts = points.windows(2).map(|w| (w[1].1 - w[0].1) * (w[0].0 + w[1].0) / 2.0);
                points[0].0 * points[0].1 + parts.sum::<f64>()
            }
        }
    }

    /// Returns the mean of a draw that is rounded up to whole units. For Pareto and log-normal distributions, the
    /// result is approximate. Rounding up adds about half a unit, because these distributions are wide.
    #[must_use]
    pub fn mean_rounded_up(&self, unit: f64) -> f64 {
        // Mean of the rounded value, for a uniform distribution between `low` and `high`.
        let between = |low: f64, high: f64| {
            let (a, b) = (low / unit, high / unit);
            if b - a < 1e-9 {
                return unit * b.ceil();
            }
            let area = |x: f64| x.floor() * (x.floor() + 1.0) / 2.0 + (x - x.floor()) * (x.floor() + 1.0);
            unit * (area(b) - area(a)) / (b - a)
        };
        match self {
            Self::Constant(value) => unit * (value / unit).ceil(),
            Self::Uniform { low, high } => between(*low, *high),
            Self::Exponential { mean } => unit / (1.0 - libm::exp(-unit / mean)),
            Self::Pareto { mean, .. } | Self::Lognormal { mean, .. } => mean + unit / 2.0,
            Self::List(values) => unit * values.iter().map(|v| (v / unit).ceil()).sum::<f64>() / values.len() as f64,
            Self::Empirical(points) => {
                let first = unit * (points[0].0 / unit).ceil() * points[0].1;
                let rest = points.windows(2).map(|w| (w[1].1 - w[0].1) * between(w[0].0, w[1].0));
                first + rest.sum::<f64>()
            }
        }
    }

    /// Returns the mean size on the wire of a transfer, bytes. `self` is the distribution of its payload, which is
    /// rounded up to multiples of `unit`.
    pub(crate) fn mean_on_the_wire(&self, unit: Bytes, framing: &Framing) -> f64 {
        let rounded_up = |to: Bytes| self.mean_rounded_up(to.get() as f64);
        let packets = rounded_up(framing.payload()) / framing.payload().get() as f64;
        rounded_up(unit) + packets * framing.headers.get() as f64
    }

    /// Returns the smallest possible value.
    #[must_use]
    pub fn min(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { low, .. } => *low,
            Self::Exponential { .. } | Self::Lognormal { .. } => 0.0,
            Self::Pareto { mean, shape } => mean * (shape - 1.0) / shape,
            Self::List(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Empirical(points) => points[0].0,
        }
    }

    /// Returns the largest possible value, which may be infinite.
    #[must_use]
    pub fn max(&self) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Uniform { high, .. } => *high,
            Self::Exponential { .. } | Self::Pareto { .. } | Self::Lognormal { .. } => f64::INFINITY,
            Self::List(values) => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Self::Empirical(points) => points[points.len() - 1].0,
        }
    }

    /// Returns the value of a constant distribution; `None` if values vary.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            _ => None,
        }
    }
}

/// Arrival process of a flow entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// `count` flows. The start time of each is drawn from the entry's `start`.
    Once {
        /// Number of flows.
        count: u32,
    },
    /// Repeated arrivals from the entry's start on.
    Process {
        /// True if the first arrival is at the entry's start; otherwise it is one interval after the start.
        at_start: bool,
        /// Time between arrivals, s.
        interval: Dist,
        /// Flows per arrival.
        batch: u32,
        /// Limit on the number of arrivals, if any.
        limit: Option<u64>,
    },
    /// Arrivals at these times, s.
    Times(Vec<f64>),
    /// Transfers at these times, s, and of these sizes, bytes.
    Transfers(Vec<(f64, f64)>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(dist: &Dist) -> (f64, f64) {
        let mut stream = Stream::new(3, "test", "dist");
        let n = 400_000;
        let draws: Vec<f64> = (0..n).map(|_| dist.sample(&mut stream)).collect();
        assert!(draws.iter().all(|&x| x >= dist.min() * (1.0 - 1e-12)));
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        (
            mean,
            draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n),
        )
    }

    #[test]
    fn the_mean_of_rounded_draws_is_the_stated_one() {
        let cases = [
            Dist::Constant(2.5),
            Dist::Uniform { low: 0.3, high: 4.6 },
            Dist::Exponential { mean: 1.2 },
            Dist::Pareto { mean: 30.0, shape: 3.5 },
            Dist::Lognormal { mean: 30.0, sigma: 0.5 },
            Dist::List(vec![1.0, 5.3]),
            Dist::Empirical(vec![(1.5, 0.5), (2.0, 0.5), (4.7, 1.0)]),
        ];
        for dist in cases {
            let mut stream = Stream::new(3, "test", "rounded");
            let total: f64 = (0..400_000).map(|_| dist.sample(&mut stream).ceil()).sum();
            let mean = total / 400_000.0;
            let stated = dist.mean_rounded_up(1.0);
            assert!((mean / stated - 1.0).abs() < 0.01, "{dist:?}: {mean}, stated {stated}");
        }
    }

    #[test]
    fn means_and_variances_are_the_textbook_ones() {
        let close = |(mean, var): (f64, f64), m: f64, v: f64| {
            assert!(
                (mean / m - 1.0).abs() < 0.01 && (var / v - 1.0).abs() < 0.1,
                "{mean} {var} for {m} {v}"
            );
        };
        close(moments(&Dist::Uniform { low: 20.0, high: 40.0 }), 30.0, 400.0 / 12.0);
        close(moments(&Dist::Exponential { mean: 30.0 }), 30.0, 900.0);
        let (a, m) = (4.5, 30.0);
        let scale: f64 = m * (a - 1.0) / a;
        close(
            moments(&Dist::Pareto { mean: m, shape: a }),
            m,
            scale.powi(2) * a / ((a - 1.0f64).powi(2) * (a - 2.0)),
        );
        let (mean, sigma) = (10.0f64, 0.5f64);
        let variance = ((sigma * sigma).exp() - 1.0) * mean * mean;
        close(moments(&Dist::Lognormal { mean, sigma }), mean, variance);
        close(moments(&Dist::List(vec![1.0, 2.0, 6.0])), 3.0, 14.0 / 3.0);
        // Half of the draws are 1; the rest is uniform on [1, 4].
        let steps = Dist::Empirical(vec![(1.0, 0.5), (4.0, 1.0)]);
        close(moments(&steps), 1.75, 0.5 + 0.5 * 7.0 - 1.75 * 1.75);
    }
}
