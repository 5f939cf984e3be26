//! Laws, queue disciplines and buffers as users write them: a name, or a name with its parameters.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::quantity::BufferSize;

/// Parameters of laws, by name of the law and then by name of the parameter.
pub type LawTables = BTreeMap<String, BTreeMap<String, Value>>;

/// Law by name, or by name with parameters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum LawChoice {
    /// `"jetmax"`
    Name(String),
    /// `{ jetmax = { tau = 0.5 } }`
    Tables(LawTables),
}

impl LawChoice {
    /// Returns the name of the law and its parameters. Returns `None` if there are several laws or none.
    pub(crate) fn single(&self) -> Option<(&str, Option<&BTreeMap<String, Value>>)> {
        match self {
            Self::Name(name) => Some((name, None)),
            Self::Tables(tables) if tables.len() == 1 => {
                let (name, table) = tables.first_key_value()?;
                Some((name, Some(table)))
            }
            Self::Tables(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for LawChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::Name(name)),
            tables @ Value::Object(_) => LawTables::deserialize(tables)
                .map(Self::Tables)
                .map_err(D::Error::custom),
            _ => Err(D::Error::custom(
                "needs the name of a law, or { name = { parameter = value } }",
            )),
        }
    }
}

/// Queue discipline by name, or by name with parameters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum QueueChoice {
    /// `"drop_tail"`
    Name(String),
    /// `{ red = { max_probability = 0.1 } }`
    Tables(BTreeMap<String, BTreeMap<String, Value>>),
}

impl<'de> Deserialize<'de> for QueueChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hint = "needs the name of a queue discipline, or { name = { parameter = value } }";
        match Value::deserialize(deserializer)? {
            Value::String(name) => Ok(Self::Name(name)),
            tables @ Value::Object(_) => BTreeMap::deserialize(tables)
                .map(Self::Tables)
                .map_err(|_| D::Error::custom(hint)),
            _ => Err(D::Error::custom(hint)),
        }
    }
}

/// Buffer size, or a sizing rule or algorithm by name with its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BufferChoice {
    /// `"100 packets"`
    Size(BufferSize),
    /// `{ abs_log = { loss = 0.01 } }`
    Tables(BTreeMap<String, BTreeMap<String, Value>>),
}

impl Default for BufferChoice {
    fn default() -> Self {
        Self::Size(BufferSize::default())
    }
}

impl<'de> Deserialize<'de> for BufferChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            tables @ Value::Object(_) => BTreeMap::deserialize(tables)
                .map(Self::Tables)
                .map_err(|_| D::Error::custom("needs a size, or { name = { parameter = value } }")),
            size => serde_json::from_value(size).map(Self::Size).map_err(D::Error::custom),
        }
    }
}
