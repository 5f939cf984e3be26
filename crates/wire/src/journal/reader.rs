//! Reader of logs.

use super::codec::{In, refused};
use super::{MAGIC, Record};
use levelflow_laws::bytes::DecodeError;

/// Iterator over the records of a log.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the first record of a log.
    ///
    /// # Errors
    /// Returns an error if the bytes are not a log of this version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (name, version) = MAGIC.split_at(3);
        if !bytes.starts_with(name) {
            return refused("magic", "LVJ");
        }
        if bytes.get(3..4) != Some(version) {
            return refused(
                "version",
                "the version of this Levelflow; replay another log with the Levelflow that wrote it",
            );
        }
        Ok(Self { bytes, at: MAGIC.len() })
    }

    /// Returns the offset of the next record from the start of the log, bytes.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the next record and the number of its instance. Returns `None` at the end of the log. After an error,
    /// the position of the reader is the start of the invalid record.
    ///
    /// # Errors
    /// Returns [`DecodeError::Short`] if the log ends within the record. Returns [`DecodeError::Field`] if the record
    /// is invalid.
    pub fn next_record(&mut self) -> Result<Option<(u32, Record<'a>)>, DecodeError> {
        if self.at == self.bytes.len() {
            return Ok(None);
        }
        let mut input = In {
            bytes: self.bytes,
            at: self.at,
        };
        let record = Record::get(&mut input)?;
        self.at = input.at;
        Ok(Some(record))
    }
}
