//! What ends a request, so that the other parts can tell why.

use std::fmt;

use levelflow_host::Error;

/// What ends a request.
#[derive(Debug)]
pub(super) enum CopyError {
    /// Another transfer of the same file is not over; the line names the file.
    Busy(String),
    /// The connection or a stream broke, for this reason.
    Lost(String),
    /// The other end refused, in its words.
    Remote(String),
    /// It failed here.
    Local(Error),
}

impl CopyError {
    /// A connection or a stream that broke, with the reason.
    pub fn lost(error: &dyn std::error::Error) -> Self {
        Self::Lost(error.source().map_or_else(|| error.to_string(), ToString::to_string))
    }
}

impl fmt::Display for CopyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy(text) => f.write_str(text),
            Self::Lost(why) => write!(f, "connection: {why}"),
            Self::Remote(why) => write!(f, "the server says: {why}"),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CopyError {}

impl From<Error> for CopyError {
    fn from(error: Error) -> Self {
        Self::Local(error)
    }
}

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Local(error) => error,
            other => Self::failed(other),
        }
    }
}
