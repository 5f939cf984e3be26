//! JSON Schema of quantities: a string with a pattern and an example.

extern crate alloc;

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::parse::{Kind, Quantity};
use crate::{Bytes, Duration, Frequency, Packets, Rate, Time};

fn schema(kind: &Kind) -> Schema {
    let symbols: Vec<&str> = kind
        .units
        .iter()
        .map(|unit| unit.symbol)
        .chain(kind.aliases.iter().map(|(alias, _)| *alias))
        .collect();
    let symbols = symbols.join("|");
    json_schema!({
        "type": "string",
        "description": format!("{} with its unit", kind.name),
        "pattern": format!(r"^[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)? *({symbols})$"),
        "examples": [kind.example],
    })
}

macro_rules! described {
    ($($type:ident)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!("levelflow_units::", stringify!($type)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema(&Self::KIND)
            }
        }
    )*};
}

described!(Time Duration Bytes Packets Rate Frequency);
