//! How users say that a wire loses packets: `0.01`, `"1 %"`, or bursts.

use levelflow_path::{GilbertElliott, Loss};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::quantity::Share;

/// Which packets a wire loses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LossChoice {
    /// Each with this probability.
    Share(Share),
    /// In bursts: `{ gilbert_elliott = { p = 0.001, r = 0.2 } }`.
    Model(LossModel),
}

/// Loss in bursts.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossModel {
    /// A wire is good or bad, and may change after each packet.
    GilbertElliott(Bursts),
}

/// Parameters of the model of Gilbert and Elliott.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table with p and r")]
pub struct Bursts {
    /// Probability that a good wire becomes bad, per packet.
    pub p: Share,
    /// Probability that a bad wire becomes good, per packet: bad times last 1/r packets on average.
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
    /// The model.
    ///
    /// # Errors
    /// What is out of range, and what is allowed.
    pub fn read(self) -> Result<Loss, String> {
        match self {
            Self::Share(Share(loss)) => Ok(Loss::Independent(checked("", loss, 0.0)?)),
            Self::Model(LossModel::GilbertElliott(Bursts { p, r, good, bad })) => Ok(Loss::Bursts(GilbertElliott {
                p: checked("p: ", p.0, f64::MIN_POSITIVE)?,
                r: checked("r: ", r.0, f64::MIN_POSITIVE)?,
                good: checked("good: ", good.0, 0.0)?,
                bad: checked("bad: ", bad.0, 0.0)?,
            })),
        }
    }
}

fn checked(key: &str, value: f64, least: f64) -> Result<f64, String> {
    let from = if least > 0.0 { "above 0" } else { "0" };
    let allowed = (least..=1.0).contains(&value);
    allowed
        .then_some(value)
        .ok_or_else(|| format!("{key}{value} is out of range; allowed: {from} to 1"))
}
