//! Error messages: one line with the problem, its place and the allowed values.

use derive_more::Display;

/// Error that ends a command.
#[derive(Debug, Display, derive_more::Error)]
pub enum Error {
    /// Invalid input: exit status 2.
    Input(#[error(not(source))] String),
    /// Failure during the work: exit status 1.
    Failed(#[error(not(source))] String),
}

impl Error {
    /// Creates an error for invalid input.
    pub fn input(text: impl std::fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// Creates an error for failed work.
    pub fn failed(text: impl std::fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }

    /// Returns the exit status of the command.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}
