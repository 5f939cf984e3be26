//! Log of all routers in a command.

use std::path::Path;

use levelflow_host::Error;
use levelflow_journal::Journal;
use levelflow_laws::{PortInfo, SignallingInfo};
use levelflow_wire::journal::{Log, Role};

/// Log file, with the signalling and parameters of all routers in a command.
#[derive(Debug, Clone)]
pub struct Logging {
    journal: Journal,
    signalling: &'static SignallingInfo,
    values: Vec<f64>,
}

impl Logging {
    /// Creates the log of routers with these parameter values. The log contains a digest of the state after each
    /// interval.
    ///
    /// # Errors
    /// The errors of [`Journal::create`].
    pub fn create(path: &Path, signalling: &'static SignallingInfo, values: Vec<f64>) -> Result<Self, Error> {
        let journal = Journal::create(path)?;
        Ok(Self {
            journal,
            signalling,
            values,
        })
    }

    /// Starts the log of another router.
    #[must_use]
    pub fn log(&self, port: PortInfo) -> Log<Journal> {
        self.journal.log(Role::Router(self.signalling, port), &self.values)
    }

    /// Reports an incomplete log as an error. Call this method after all routers have ended.
    ///
    /// # Errors
    /// The reason why the log is incomplete.
    pub fn end(&self) -> Result<(), Error> {
        self.journal.problem().map_or(Ok(()), |why| Err(Error::failed(why)))
    }
}
