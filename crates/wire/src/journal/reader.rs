//! Reads logs.

use super::codec::{In, refused};
use super::{MAGIC, Record};
use levelflow_laws::bytes::DecodeError;

/// Records of a log, one after the other.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Begins to read a log.
    ///
    /// # Errors
    /// When the bytes are no log of this version.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (name, version) = MAGIC.split_at(3);
        if !bytes.starts_with(name) {
            return refused("magic", "LVJ");
        }
        if bytes.get(3..4) != Some(version) {
            return refused(
                "version",
                "3; a log of an earlier one replays with the Levelflow that wrote it",
            );
        }
        Ok(Self { bytes, at: MAGIC.len() })
    }

    /// Where the next record begins, bytes from the start of the log.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next record and its instance; `None` at the end. After an error, the position is that of the bad record.
    ///
    /// # Errors
    /// [`DecodeError::Short`] when the log ends within the record, [`DecodeError::Field`] when nobody writes such a record.
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
