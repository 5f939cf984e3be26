//! Errors that end a request, by cause.

use derive_more::{Display, From};
use levelflow_host::Error;

/// Error that ends a request.
#[derive(Debug, Display, From)]
pub(super) enum CopyError {
    /// Another transfer of the same file is in progress; the text names the file.
    Busy(String),
    /// The connection or a stream failed, for this reason.
    #[display("connection: {_0}")]
    Lost(String),
    /// The other end rejected the request, with this text.
    #[display("the server replies: {_0}")]
    Remote(String),
    /// The request failed at this end.
    #[from]
    Local(Error),
}

impl CopyError {
    /// Creates the error of a failed connection or stream, with the reason.
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
