//! Packet loss as users write it: `0.01`, `"1 %"`, or bursts.

use levelflow_path::{GilbertElliott, WireLoss};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::Problem;
use crate::quantity::Share;

/// Packet loss of a wire.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossChoice {
    /// Probability of loss, independent for each packet.
    Share(Share),
    /// Bursts: `{ gilbert_elliott = { p = 0.001, r = 0.2 } }`.
    Model(LossModel),
}

/// Model of loss in bursts.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossModel {
    /// Gilbert-Elliott model: a wire is good or bad, and may change its state after each packet.
    GilbertElliott(Bursts),
}

/// Parameters of the Gilbert-Elliott model.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with p and r")]
pub struct Bursts {
    /// Probability per packet that a good wire becomes bad.
    pub p: Share,
    /// Probability per packet that a bad wire becomes good; a bad period lasts 1/r packets on average.
    pub r: Share,
    /// Probability that a good wire loses a packet.
    #[serde(default)]
    pub good: Share,
    /// Probability that a bad wire loses a packet; 1 by default.
    #[serde(default = "one")]
    pub bad: Share,
}

fn one() -> Share {
    Share(1.0)
}

impl Default for LossChoice {
    fn default() -> Self {
        Self::Share(Share(0.0))
    }
}

impl<'de> Deserialize<'de> for LossChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            table @ Value::Object(_) => LossModel::deserialize(table).map(Self::Model),
            share => Share::deserialize(share).map(Self::Share),
        }
        .map_err(D::Error::custom)
    }
}

impl LossChoice {
    /// Returns the loss model.
    ///
    /// # Errors
    /// Returns an error if a value is out of range.
    pub fn read(self) -> Result<WireLoss, Problem> {
        match self {
            Self::Share(Share(loss)) => Ok(WireLoss::Independent(checked("", loss, 0.0)?)),
            Self::Model(LossModel::GilbertElliott(Bursts { p, r, good, bad })) => {
                Ok(WireLoss::Bursts(GilbertElliott {
                    p: checked("p: ", p.0, f64::MIN_POSITIVE)?,
                    r: checked("r: ", r.0, f64::MIN_POSITIVE)?,
                    good: checked("good: ", good.0, 0.0)?,
                    bad: checked("bad: ", bad.0, 0.0)?,
                }))
            }
        }
    }
}

fn checked(key: &str, value: f64, least: f64) -> Result<f64, Problem> {
    let from = if least > 0.0 { "above 0" } else { "0" };
    let allowed = (least..=1.0).contains(&value);
    allowed
        .then_some(value)
        .ok_or_else(|| Problem::range(format!("{key}{value}"), format!("{from} to 1")))
}
