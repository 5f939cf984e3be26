//! Columns in one block of memory: the length of a JSON text, the text, then the values of each column.
//!
//! For each table, the text contains the number of rows, and the name, type and offset of each column. Columns are
//! little-endian, and begin at multiples of eight bytes.

use levelflow_results::{Column, Table};
use levelflow_sim::{Fate, Stay};
use levelflow_units::Time;
use serde_json::{Map, Value, json};

/// Packs tables into one block of memory.
pub fn tables(tables: &[(&'static str, Table)]) -> Vec<u8> {
    let mut values = Vec::new();
    let mut index = Map::new();
    for (name, table) in tables {
        let columns: Vec<Value> = table
            .columns
            .iter()
            .map(|(name, column)| {
                let begin = values.len();
                let kind = append(&mut values, column);
                values.resize(values.len().next_multiple_of(8), 0);
                json!([name, kind, begin])
            })
            .collect();
        index.insert((*name).to_owned(), json!({ "rows": table.rows(), "columns": columns }));
    }
    let mut text = Value::Object(index).to_string().into_bytes();
    text.resize((text.len() + 8).next_multiple_of(8) - 8, b' ');
    let mut out = (text.len() as u64).to_le_bytes().to_vec();
    out.extend(text);
    out.extend(values);
    out
}

fn append(out: &mut Vec<u8>, column: &Column) -> &'static str {
    match column {
        Column::F64(v) => v.iter().for_each(|x| out.extend(x.to_le_bytes())),
        Column::U64(v) => v.iter().for_each(|x| out.extend(x.to_le_bytes())),
        Column::U32(v) => v.iter().for_each(|x| out.extend(x.to_le_bytes())),
        Column::I32(v) => v.iter().for_each(|x| out.extend(x.to_le_bytes())),
    }
    match column {
        Column::F64(_) => "f8",
        Column::U64(_) => "u8",
        Column::U32(_) => "u4",
        Column::I32(_) => "i4",
    }
}

/// Converts stays to a table. A stay is the time that one packet spends at one link. Times are in seconds; NaN means
/// never.
pub fn stays(stays: &[Stay]) -> Table {
    let times = |get: fn(&Stay) -> Time| {
        let seconds = |at: Time| if at == Time::NEVER { f64::NAN } else { at.as_secs_f64() };
        Column::F64(stays.iter().map(|stay| seconds(get(stay))).collect())
    };
    let numbers = |get: fn(&Stay) -> u32| Column::U32(stays.iter().map(get).collect());
    Table {
        columns: vec![
            ("arrived", times(|s| s.arrived)),
            ("departed", times(|s| s.departed)),
            ("ends", times(|s| s.ends)),
            ("link", numbers(|s| s.link)),
            ("flow", numbers(|s| s.flow)),
            ("ack", numbers(|s| u32::from(s.ack))),
            ("fate", numbers(|s| code(s.fate))),
        ],
    }
}

fn code(fate: Fate) -> u32 {
    match fate {
        Fate::Delivered => 0,
        Fate::Dropped => 1,
        Fate::Lost => 2,
        Fate::Present => 3,
    }
}
