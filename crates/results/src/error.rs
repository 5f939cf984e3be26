//! Why results cannot be written.

use std::io;
use std::path::{Path, PathBuf};

use derive_more::Display;

/// Why a result directory cannot be written; prints as one line.
#[derive(Debug, Display, derive_more::Error)]
pub enum Error {
    /// The directory is not for results.
    Refused(#[error(not(source))] String),
    /// A file of it cannot be written.
    #[display("{}: {}", path.display(), reason(source))]
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

/// The reason of an error, without its number: `no such file or directory`.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string().to_lowercase();
    text.split(" (os").next().unwrap_or_default().to_owned()
}
