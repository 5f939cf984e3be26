//! Errors of the result writer.

use std::io;
use std::path::{Path, PathBuf};

use derive_more::Display;
use levelflow_files::reason;

/// Reason why a result directory cannot be written. The message has one line.
#[derive(Debug, Display, derive_more::Error)]
pub enum Error {
    /// Directory that must not be used for results.
    Refused(#[error(not(source))] String),
    /// File that cannot be written.
    #[display("{}: {}", path.display(), reason(source))]
    Failed {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Failed { path, source }
    }
}
