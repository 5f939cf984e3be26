//! Errors: one line that says what, where and what is allowed.

use derive_more::Display;

/// What ends a command.
#[derive(Debug, Display, derive_more::Error)]
pub enum Error {
    /// The user asked for something that cannot be: exit status 2.
    Input(#[error(not(source))] String),
    /// The work began and failed: exit status 1.
    Failed(#[error(not(source))] String),
}

impl Error {
    /// Bad input.
    pub fn input(text: impl std::fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// Work that failed.
    pub fn failed(text: impl std::fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }

    /// Exit status of the command that it ends.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}
