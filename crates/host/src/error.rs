//! Errors: one line that says what, where and what is allowed.

use std::fmt;

/// What ends a command.
#[derive(Debug)]
pub enum Error {
    /// The user asked for something that cannot be: exit status 2.
    Input(String),
    /// The work began and failed: exit status 1.
    Failed(String),
}

impl Error {
    /// Bad input.
    pub fn input(text: impl fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// Work that failed.
    pub fn failed(text: impl fmt::Display) -> Self {
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
