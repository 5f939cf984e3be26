//! Why results cannot be written.

use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Why a result directory cannot be written; prints as one line.
#[derive(Debug)]
pub enum Error {
    /// The directory is not for results.
    Refused(String),
    /// A file of it cannot be written.
    Failed {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Error {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Failed { path, source }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(problem) => f.write_str(problem),
            Self::Failed { path, source } => write!(f, "{}: {}", path.display(), reason(source)),
        }
    }
}

impl std::error::Error for Error {}

/// The reason of an error, without its number: `no such file or directory`.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os").next().unwrap_or_default().to_owned()
}
