//! Tables as Parquet files.

use std::io::{self, Write};
use std::sync::Arc;

use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use ::parquet::schema::types::Type;

use crate::table::{Column, Outcome, Table};

/// First columns of each table. All other columns follow in alphabetical order.
const LEADING_COLUMNS: [&str; 4] = ["t", "flow", "member", "link"];

/// Names of flows, links and outcomes, by index.
#[derive(Debug)]
pub struct Names {
    flows: Vec<String>,
    links: Vec<String>,
    outcomes: Vec<String>,
}

impl Names {
    /// Stores the names of the flow entries and links of a run.
    pub fn new(flows: Vec<String>, links: Vec<String>) -> Self {
        Self {
            flows,
            links,
            outcomes: Outcome::NAMES.map(str::to_owned).to_vec(),
        }
    }

    /// Returns the names that replace the numbers in a column. `None` if the column has no names.
    fn of(&self, column: &str) -> Option<&[String]> {
        match column {
            "flow" => Some(&self.flows),
            "link" | "bottleneck" => Some(&self.links),
            "outcome" => Some(&self.outcomes),
            _ => None,
        }
    }
}

/// Parquet file of a table that is not complete yet.
pub struct TableFile<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> TableFile<W> {
    /// Creates a file for rows with the same columns as `like`.
    pub fn create(file: W, like: &Table) -> io::Result<Self> {
        let begin = || {
            let fields: Result<Vec<_>> = ordered(like).map(|(name, column)| field(name, column)).collect();
            let schema = Type::group_type_builder("rows").with_fields(fields?).build()?;
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
        };
        begin().map(Self).map_err(of_disk)
    }

    /// Adds rows as one row group. Flows and links are written by name. A negative index is written as null.
    pub fn write(&mut self, rows: &Table, names: &Names) -> io::Result<()> {
        self.write_group(rows, names).map_err(of_disk)
    }

    fn write_group(&mut self, rows: &Table, names: &Names) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for (name, column) in ordered(rows) {
            let Some(mut out) = group.next_column()? else { break };
            match names.of(name) {
                Some(names) => write_names(&mut out, column, names)?,
                None => write_numbers(&mut out, column)?,
            }
            out.close()?;
        }
        group.close().map(|_| ())
    }

    /// Completes the file and returns it.
    pub fn close(self) -> io::Result<W> {
        self.0.into_inner().map_err(of_disk)
    }
}

fn of_disk(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => cause.downcast::<io::Error>().map_or_else(io::Error::other, |io| *io),
        other => io::Error::other(other),
    }
}

fn ordered(table: &Table) -> impl Iterator<Item = &(&'static str, Column)> {
    let mut columns: Vec<_> = table.columns.iter().collect();
    columns.sort_by_key(|(name, _)| (!LEADING_COLUMNS.contains(name), *name));
    columns.into_iter()
}

fn field(name: &str, column: &Column) -> Result<Arc<Type>> {
    let (physical, logical, repetition) = if matches!(name, "flow" | "link" | "bottleneck" | "outcome") {
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

/// Writes a numeric column. The bits of unsigned numbers are not converted. The logical type marks them as unsigned.
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
