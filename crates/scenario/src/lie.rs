//! Lies of hosts: header fields that a sender or receiver falsifies, withheld ACKs and hidden marks.

use std::collections::BTreeMap;

use levelflow_laws::header::{Field, Values};
use levelflow_laws::{AnyHeader, LawInfo};
use levelflow_units::Rate;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::{Fallible, Place, Problem};
use crate::quantity::Share;

/// Sign before a factor.
const TIMES: char = '*';
/// Upper bound of the length of a header, bytes.
const MAX_HEADER_BYTES: usize = 64;

/// Lies of the hosts of a flow. Packets still have the sizes and numbers of honest flows.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a table with sender, receiver, withheld or unmarked"
)]
pub struct Lie {
    /// Fields that the sender falsifies in the headers of its packets, by name. A number replaces the value. A text
    /// such as "* 1000" multiplies it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sender: BTreeMap<String, Falsehood>,
    /// Fields that the receiver falsifies in the headers of its ACKs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub receiver: BTreeMap<String, Falsehood>,
    /// Fraction of its ACKs that the receiver withholds, at random. Results count them as lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Share>,
    /// True if the receiver hides the marks of queues from the sender.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unmarked: bool,
}

/// False value of a header field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Falsehood {
    /// The field has this value.
    Value(f64),
    /// The field has the honest value times this factor.
    Factor(f64),
}

impl<'de> Deserialize<'de> for Falsehood {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let factor = |text: &str| text.strip_prefix(TIMES)?.trim_start().parse().ok();
        let read = match &value {
            Value::Number(number) => number.as_f64().map(Self::Value),
            Value::String(text) => factor(text).map(Self::Factor),
            _ => None,
        };
        let finite = read.filter(|(Self::Value(number) | Self::Factor(number))| number.is_finite());
        finite.ok_or_else(|| D::Error::custom(format!("needs a number, or a factor such as \"* 1000\", not {value}")))
    }
}

impl Serialize for Falsehood {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => serializer.serialize_f64(*value),
            Self::Factor(factor) => serializer.collect_str(&format_args!("{TIMES} {factor}")),
        }
    }
}

impl JsonSchema for Falsehood {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Falsehood".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let factor = schemars::json_schema!({ "type": "string", "pattern": r"^\* ?[-+0-9.eE]+$" });
        schemars::json_schema!({
            "anyOf": [{ "type": "number" }, factor],
            "description": "the value of a header field, as 0, or a factor, as \"* 1000\""
        })
    }
}

/// Lies of a flow, as changes to the bits of its header.
#[derive(Debug, Clone, PartialEq)]
pub struct LieSpec {
    /// Changes to the headers of packets.
    pub sender: Vec<Forgery>,
    /// Changes to the headers of ACKs.
    pub receiver: Vec<Forgery>,
    /// True if marks are hidden from the sender.
    pub unmarked: bool,
    /// Upper bound of the sending rate: the capacity of the first link of the path.
    pub max_rate: Rate,
}

/// False value of some bits of a header.
#[derive(Debug, Clone, PartialEq)]
pub struct Forgery {
    /// First byte of the field on the wire.
    start: usize,
    /// Field of the header.
    field: Field,
    /// Bits that change.
    mask: u32,
    /// New value of these bits.
    lie: Falsehood,
}

impl Forgery {
    /// Finds the field, or the bits of a field, called `name` in the header of a law.
    fn read(place: &Place, law: &LawInfo, name: &str, lie: Falsehood) -> Fallible<Self> {
        let mut start = 0;
        let mut known = Vec::new();
        for field in law.signalling.header.fields {
            let mut masks = vec![(field.name, u32::MAX >> (32 - 8 * field.bytes))];
            match field.values {
                Values::Only { .. } => masks.clear(),
                Values::Bits(groups) => masks.extend(groups.iter().map(|group| (group.name, group.mask))),
                Values::Number | Values::Float { .. } => {}
            }
            if let Some(&(_, mask)) = masks.iter().find(|&&(own, _)| own == name) {
                let forgery = Self {
                    start,
                    field: *field,
                    mask,
                    lie,
                };
                return forgery
                    .check()
                    .map_err(|problem| place.key(name).error(problem))
                    .map(|()| forgery);
            }
            known.extend(masks.into_iter().map(|(own, _)| own.to_owned()));
            start += field.bytes;
        }
        if known.is_empty() {
            let problem = format!("{} has no header, so its hosts cannot falsify one", law.name);
            return Err(place.error(Problem::Conflict(problem)));
        }
        let kind = "the header field";
        let name = name.to_owned();
        Err(place.error(Problem::Unknown { kind, name, known }))
    }

    /// Checks that a value is allowed in the field.
    fn check(&self) -> Result<(), Problem> {
        let Falsehood::Value(value) = self.lie else {
            return Ok(());
        };
        match self.field.values {
            Values::Float { low, high, text } => {
                let allowed = f64::from(low) <= value && value <= f64::from(high);
                allowed.then_some(()).ok_or_else(|| Problem::range(value, text))
            }
            _ => Problem::check(&value, &(0.0..=f64::from(self.mask >> self.mask.trailing_zeros()))),
        }
    }

    /// Writes the false value into a header on the wire. A product is limited to the values of the field.
    fn write(&self, wire: &mut [u8]) {
        let bytes = &mut wire[self.start..][..self.field.bytes];
        let old = bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
        let new = match self.field.values {
            Values::Float { low, high, .. } => {
                let honest = f64::from(f32::from_bits(old));
                (self.lie.of(honest) as f32).clamp(low, high).to_bits()
            }
            _ => {
                let shift = self.mask.trailing_zeros();
                let honest = f64::from((old & self.mask) >> shift);
                let number = self.lie.of(honest).clamp(0.0, f64::from(self.mask >> shift));
                old & !self.mask | (number as u32) << shift
            }
        };
        let length = bytes.len();
        bytes.copy_from_slice(&new.to_be_bytes()[4 - length..]);
    }
}

impl Falsehood {
    fn of(self, honest: f64) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::Factor(factor) => factor * honest,
        }
    }
}

/// Returns the header with these changes. Returns the honest header if routers would reject the false one.
#[must_use]
pub(crate) fn forged(header: AnyHeader, forgeries: &[Forgery]) -> AnyHeader {
    if forgeries.is_empty() {
        return header;
    }
    let mut wire = [0; MAX_HEADER_BYTES];
    let length = header.encode(&mut wire);
    forgeries.iter().for_each(|forgery| forgery.write(&mut wire));
    AnyHeader::decode(header.signalling(), &wire[..length]).unwrap_or(header)
}

impl Lie {
    /// Checks the lie against the header of a law. `max_rate` is the capacity of the first link.
    ///
    /// # Errors
    /// Returns an error if the header lacks a field, or a value is not allowed in its field.
    pub(crate) fn read(&self, place: &Place, law: &LawInfo, max_rate: Rate) -> Fallible<LieSpec> {
        let all = |key: &str, fields: &BTreeMap<String, Falsehood>| {
            let place = place.key(key);
            let read = fields.iter().map(|(name, lie)| Forgery::read(&place, law, name, *lie));
            read.collect::<Fallible<Vec<_>>>()
        };
        Ok(LieSpec {
            sender: all("sender", &self.sender)?,
            receiver: all("receiver", &self.receiver)?,
            unmarked: self.unmarked,
            max_rate,
        })
    }
}

#[cfg(test)]
#[path = "lie/tests.rs"]
mod tests;
