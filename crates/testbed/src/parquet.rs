//! Tables as Parquet files, with the columns and kinds that the simulator's have.

use std::io::Write;
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;
use levelflow_sim::{Column, Table};

/// These columns come first, the others in the order of their names.
const LEADING: [&str; 3] = ["t", "flow", "link"];

/// Writes a table. Flows and links go by their names; an index below 0 is null.
///
/// # Errors
/// When the file takes no more.
pub fn write<W: Write + Send>(table: &Table, flows: &[String], links: &[String], to: W) -> Result<()> {
    let mut columns: Vec<&(&str, Column)> = table.columns.iter().collect();
    columns.sort_by_key(|(name, _)| (!LEADING.contains(name), *name));
    // "t" before "flow" and "link": in the order in which they are listed.
    columns.sort_by_key(|(name, _)| LEADING.iter().position(|l| l == name).unwrap_or(LEADING.len()));
    let fields: Result<Vec<Arc<Type>>> = columns.iter().map(|(name, column)| field(name, column)).collect();
    let schema = Type::group_type_builder("rows").with_fields(fields?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (name, column) in columns {
        let Some(mut out) = group.next_column()? else { break };
        match named(name, flows, links) {
            Some(names) => write_names(&mut out, column, names)?,
            None => write_numbers(&mut out, column)?,
        }
        out.close()?;
    }
    group.close()?;
    writer.close().map(|_| ())
}

fn named<'a>(column: &str, flows: &'a [String], links: &'a [String]) -> Option<&'a [String]> {
    match column {
        "flow" => Some(flows),
        "link" | "bottleneck" => Some(links),
        _ => None,
    }
}

fn field(name: &str, column: &Column) -> Result<Arc<Type>> {
    let (physical, logical, repetition) = if named(name, &[], &[]).is_some() {
        (Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::OPTIONAL)
    } else {
        let unsigned = |bit_width| Some(LogicalType::integer(bit_width, false));
        let (physical, logical) = match column {
            Column::F64(_) => (Physical::DOUBLE, None),
            Column::U64(_) => (Physical::INT64, unsigned(64)),
            Column::U32(_) => (Physical::INT32, unsigned(32)),
            Column::I32(_) => (Physical::INT32, None),
        };
        (physical, logical, Repetition::REQUIRED)
    };
    let builder = Type::primitive_type_builder(name, physical);
    let typed = builder.with_repetition(repetition).with_logical_type(logical);
    typed.build().map(Arc::new)
}

fn write_names(out: &mut SerializedColumnWriter<'_>, column: &Column, names: &[String]) -> Result<()> {
    let name = |index: Option<usize>| index.and_then(|i| names.get(i)).map(|n| ByteArray::from(n.as_str()));
    let values: Vec<Option<ByteArray>> = match column {
        Column::U32(indices) => indices.iter().map(|i| name(Some(*i as usize))).collect(),
        Column::I32(indices) => indices.iter().map(|i| name(usize::try_from(*i).ok())).collect(),
        Column::F64(_) | Column::U64(_) => Vec::new(),
    };
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<ByteArray> = values.into_iter().flatten().collect();
    out.typed::<ByteArrayType>()
        .write_batch(&present, Some(&levels), None)
        .map(|_| ())
}

/// Unsigned numbers keep their bits; the logical type says how to read them.
fn write_numbers(out: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<()> {
    let done = match column {
        Column::F64(values) => out.typed::<DoubleType>().write_batch(values, None, None),
        Column::U64(values) => {
            let bits: Vec<i64> = values.iter().map(|v| v.cast_signed()).collect();
            out.typed::<Int64Type>().write_batch(&bits, None, None)
        }
        Column::U32(values) => {
            let bits: Vec<i32> = values.iter().map(|v| v.cast_signed()).collect();
            out.typed::<Int32Type>().write_batch(&bits, None, None)
        }
        Column::I32(values) => out.typed::<Int32Type>().write_batch(values, None, None),
    };
    done.map(|_| ())
}
