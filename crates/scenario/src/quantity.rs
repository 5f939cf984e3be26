//! Scenario values beyond a number with a unit: distributions, counts, shares, sizes and buffers.

use derive_more::Display;
use levelflow_units::{Bytes, Duration, Packets};
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::traffic::Dist;

/// Value, or a distribution from which values are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Varying<T> {
    /// Constant value.
    Constant(T),
    /// Value drawn for each flow.
    Random(Random<T>),
}

/// Distribution from which values are drawn.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Random<T> {
    /// Uniform distribution between two values.
    Uniform([T; 2]),
    /// Exponential distribution with this mean.
    Exponential(T),
    /// Pareto distribution.
    Pareto {
        /// Mean.
        mean: T,
        /// Tail index, above 1.
        shape: f64,
    },
    /// Log-normal distribution.
    Lognormal {
        /// Mean.
        mean: T,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// List of equally likely values.
    List(Vec<T>),
    /// Cumulative distribution function: values, each with the probability that a draw is at most this value. The
    /// function is linear between values.
    Empirical(Vec<(T, f64)>),
    /// File with a cumulative distribution function, by name or by path relative to the scenario file. Allowed only for
    /// sizes of flows.
    Cdf(String),
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Varying<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value {
            Value::Object(_) => Random::deserialize(value).map(Self::Random),
            _ => T::deserialize(value).map(Self::Constant),
        }
        .map_err(D::Error::custom)
    }
}

/// Conversion of a quantity to base units.
pub trait Base {
    /// Returns the quantity in seconds, bytes or items; `packet` is the size of a packet.
    fn base(&self, packet: Bytes) -> f64;
}

impl Base for Duration {
    fn base(&self, _: Bytes) -> f64 {
        self.as_secs_f64()
    }
}

impl Base for Count {
    fn base(&self, _: Bytes) -> f64 {
        self.0 as f64
    }
}

impl Base for Size {
    fn base(&self, packet: Bytes) -> f64 {
        match self {
            Self::Bytes(b) => b.get() as f64,
            Self::Packets(n) => n.get() as f64 * packet.get() as f64,
        }
    }
}

impl<T> Varying<T> {
    /// Returns true if the predicate holds for any of the values that define the distribution.
    pub fn any(&self, is: impl Fn(&T) -> bool) -> bool {
        match self {
            Self::Constant(value) | Self::Random(Random::Exponential(value)) => is(value),
            Self::Random(Random::Pareto { mean, .. } | Random::Lognormal { mean, .. }) => is(mean),
            Self::Random(Random::Uniform(values)) => values.iter().any(is),
            Self::Random(Random::List(values)) => values.iter().any(is),
            Self::Random(Random::Empirical(points)) => points.iter().any(|(value, _)| is(value)),
            Self::Random(Random::Cdf(_)) => false,
        }
    }
}

impl<T: Base> Varying<T> {
    /// Returns the distribution in base units.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range. The text names the parameter and the allowed values.
    pub fn dist(&self, packet: Bytes) -> Result<Dist, String> {
        let base = |t: &T| t.base(packet);
        let positive = |what: &str, x: f64| {
            if x.is_finite() && x > 0.0 {
                Ok(x)
            } else {
                Err(format!("{what} must be above 0"))
            }
        };
        Ok(match self {
            Self::Constant(value) => Dist::Constant(base(value)),
            Self::Random(Random::Uniform([low, high])) => {
                let (low, high) = (base(low), base(high));
                if low > high {
                    return Err("the first value of uniform must not be above the second".into());
                }
                Dist::Uniform { low, high }
            }
            Self::Random(Random::Exponential(mean)) => Dist::Exponential {
                mean: positive("the mean", base(mean))?,
            },
            Self::Random(Random::Pareto { mean, shape }) => {
                if !(*shape > 1.0 && shape.is_finite()) {
                    return Err("the shape of pareto must be above 1, or its mean would not be finite".into());
                }
                Dist::Pareto {
                    mean: positive("the mean", base(mean))?,
                    shape: *shape,
                }
            }
            Self::Random(Random::Lognormal { mean, sigma }) => Dist::Lognormal {
                mean: positive("the mean", base(mean))?,
                sigma: positive("sigma", *sigma)?,
            },
            Self::Random(Random::List(values)) => {
                if values.is_empty() {
                    return Err("list must not be empty".into());
                }
                Dist::List(values.iter().map(base).collect())
            }
            Self::Random(Random::Empirical(points)) => {
                let points: Vec<(f64, f64)> = points.iter().map(|(value, p)| (base(value), *p)).collect();
                if !points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1) {
                    return Err("the values and the probabilities of empirical must be in ascending order".into());
                }
                match (points.first(), points.last()) {
                    (Some(first), Some(last)) if first.1 >= 0.0 && last.1 == 1.0 => Dist::Empirical(points),
                    _ => return Err("the probabilities of empirical must lie between 0 and 1 and end with 1".into()),
                }
            }
            // The reader of scenario files has already replaced a size that names a file by the points in this file.
            Self::Random(Random::Cdf(_)) => return Err("only the size of a flow may name a cdf".into()),
        })
    }
}

/// Number of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Count(pub u64);

/// Fraction of a whole: a number from 0 to 1, or a text in percent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let percent = |text: &str| {
            text.strip_suffix('%')?
                .trim_end()
                .parse::<f64>()
                .ok()
                .map(|p| p / 100.0)
        };
        let share = match &value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => percent(text),
            _ => None,
        };
        let hint = || {
            D::Error::custom(format!(
                "needs a number such as 0.02, or a text such as \"2 %\", not {value}"
            ))
        };
        share.map(Self).ok_or_else(hint)
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let percent = schemars::json_schema!({ "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$" });
        schemars::json_schema!({ "anyOf": [{ "type": "number" }, percent], "description": "a share, as 0.02 or \"2 %\"" })
    }
}

/// Size in bytes, or in packets of the flow's packet size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Size {
    /// Bytes.
    Bytes(Bytes),
    /// Packets.
    Packets(Packets),
}

/// Buffer for queued packets.
#[derive(Debug, Clone, Copy, PartialEq, Default, Display)]
pub enum BufferSize {
    /// No limit.
    #[default]
    #[display("unlimited")]
    Unlimited,
    /// A fixed size.
    Fixed(Size),
    /// Multiple of the bandwidth-delay product: capacity times the longest base round-trip time of the flows on the
    /// link.
    #[display("{_0} BDP")]
    Bdp(f64),
}

fn read_size(text: &str) -> Result<Size, String> {
    let packets = text.parse::<Packets>().map(Size::Packets);
    packets
        .or_else(|_| text.parse::<Bytes>().map(Size::Bytes))
        .map_err(|_| format!("{text:?} is not a size; write e.g. \"64 kB\" or \"25 packets\""))
}

fn read_buffer(text: &str) -> Result<BufferSize, String> {
    if text == "unlimited" {
        return Ok(BufferSize::Unlimited);
    }
    let times = text.strip_suffix("BDP").or_else(|| text.strip_suffix("bdp"));
    if let Some(times) = times.and_then(|t| t.trim().parse::<f64>().ok()) {
        let sane = times.is_finite() && times > 0.0;
        return if sane {
            Ok(BufferSize::Bdp(times))
        } else {
            Err("a buffer must be above 0 BDP".into())
        };
    }
    let hint = format!("{text:?} is not a buffer; write e.g. \"64 kB\", \"100 packets\", \"1 BDP\" or \"unlimited\"");
    read_size(text).map(BufferSize::Fixed).map_err(|_| hint)
}

/// Implements reading from and writing to text for a type of this module.
macro_rules! as_text {
    ($type:ident, $read:ident, $expected:literal, $pattern:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match Value::deserialize(deserializer)? {
                    Value::String(text) => $read(&text).map_err(D::Error::custom),
                    _ => Err(D::Error::custom($expected)),
                }
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern, "description": $expected })
            }
        }
    };
}

as_text!(
    Size,
    read_size,
    "needs a size with its unit, e.g. \"64 kB\" or \"25 packets\"",
    "^[0-9.eE+]+ ?(packets?|[kMGT]?B|[KMG]iB)$"
);
as_text!(
    BufferSize,
    read_buffer,
    "needs a size with its unit, e.g. \"64 kB\", \"100 packets\", \"1 BDP\" or \"unlimited\"",
    "^(unlimited|[0-9.eE+]+ ?(packets?|BDP|bdp|[kMGT]?B|[KMG]iB))$"
);
