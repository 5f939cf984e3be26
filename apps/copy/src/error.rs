//! What ends a request, so that the other parts can tell why.

use derive_more::{Display, From};
use levelflow_host::Error;

/// What ends a request.
#[derive(Debug, Display, From)]
pub(super) enum CopyError {
    /// Another transfer of the same file is not over; the line names the file.
    Busy(String),
    /// The connection or a stream broke, for this reason.
    #[display("connection: {_0}")]
    Lost(String),
    /// The other end refused, in its words.
    #[display("the server says: {_0}")]
    Remote(String),
    /// It failed here.
    #[from]
    Local(Error),
}

impl CopyError {
    /// A connection or a stream that broke, with the reason.
    pub fn lost(error: &dyn std::error::Error) -> Self {
        Self::Lost(error.source().map_or_else(|| error.to_string(), ToString::to_string))
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
