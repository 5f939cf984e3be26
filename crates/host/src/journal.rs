//! Logs of the inputs of laws in a file: `--journal FILE`, for `levelflow replay FILE`.
//!
//! All instances of a process share one file. Each second, what came until then goes to the file, if anything comes, so
//! that little is missing after `kill -9`. A full disk ends the log, not the work.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use levelflow_laws::{LAWS, LawInfo};
use levelflow_wire::journal::{Log, MAGIC, Role, Sink, Start};

use crate::Error;

/// A flow of which such a log can be kept.
pub type Sender = levelflow_transport::WireSender<Journal>;

const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// A log file that instances of laws share; clones write to the same file.
#[derive(Debug, Clone)]
pub struct Journal {
    every: u32,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// None after a write failed.
    file: Option<BufWriter<File>>,
    flushed: Instant,
    instances: u32,
    problem: Option<String>,
}

impl Journal {
    /// Begins a log, in place of what the file held. It has a digest of the state after each `every`-th interval of a router
    /// or answer to a sender, and at the end.
    ///
    /// # Errors
    /// When the file holds something that is no log, or cannot be written.
    pub fn create(path: &Path, every: u32) -> Result<Self, Error> {
        let place = |e: io::Error| Error::input(format!("--journal {}: {e}", path.display()));
        if path.exists() && !is_log(path).map_err(place)? {
            let rule = "holds something else (allowed: a new file, or a log to replace)";
            return Err(Error::input(format!("--journal {}: {rule}", path.display())));
        }
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path).map_err(place)?);
        file.write_all(&MAGIC).and_then(|()| file.flush()).map_err(place)?;
        let shared = Shared {
            path: path.to_owned(),
            file: Some(file),
            flushed: Instant::now(),
            instances: 0,
            problem: None,
        };
        Ok(Self {
            every,
            shared: Arc::new(Mutex::new(shared)),
        })
    }

    /// Begins the log of one more sender, router or receiver; `values` are those of its parameters.
    #[must_use]
    pub fn log(&self, law: &'static LawInfo, role: Role, values: &[f64]) -> Log<Self> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let instance = shared.instances;
        shared.instances += 1;
        drop(shared);
        Log::start(self.clone(), instance, &Start::new(law, role, values), self.every)
    }

    /// Why the log ends too early, if it does.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.write(&[], true);
        shared.problem.clone()
    }
}

/// A log, and what is the same for all instances of a command: the law and its parameters.
#[derive(Debug, Clone)]
pub struct Logging {
    journal: Journal,
    law: &'static LawInfo,
    values: Vec<f64>,
}

impl Logging {
    /// Of instances of this law with these values of its parameters.
    #[must_use]
    pub fn new(journal: Journal, law: &'static LawInfo, values: Vec<f64>) -> Self {
        Self { journal, law, values }
    }

    /// As [`Journal::create`] in the file of `--journal`, for the law of these parameters; none without a file.
    ///
    /// # Errors
    /// As [`Journal::create`], and when a parameter is not allowed.
    pub fn begin(path: Option<&Path>, every: u32, law: &str, sets: &[String]) -> Result<Option<Self>, Error> {
        let Some(path) = path else { return Ok(None) };
        let values = crate::law::values(law, sets)?;
        let info = LAWS.iter().find(|own| own.name == law);
        let info = info.ok_or_else(|| Error::input(format!("--law {law}: not known")))?;
        Ok(Some(Self::new(Journal::create(path, every)?, info, values)))
    }

    /// Begins the log of one more instance.
    #[must_use]
    pub fn log(&self, role: Role) -> Log<Journal> {
        self.journal.log(self.law, role, &self.values)
    }

    /// An error if the log ends too early; to be asked when all instances are gone.
    ///
    /// # Errors
    /// Why it does.
    pub fn end(&self) -> Result<(), Error> {
        self.journal.problem().map_or(Ok(()), |why| Err(Error::failed(why)))
    }
}

/// Whether a file is a log, or empty.
fn is_log(path: &Path) -> io::Result<bool> {
    let mut begins = Vec::new();
    File::open(path)?.take(3).read_to_end(&mut begins)?;
    Ok(begins.is_empty() || begins == MAGIC[..3])
}

impl Shared {
    fn write(&mut self, record: &[u8], flush: bool) {
        let Some(file) = &mut self.file else { return };
        let mut done = file.write_all(record);
        if flush || self.flushed.elapsed() >= FLUSH_EVERY {
            done = done.and_then(|()| file.flush());
            self.flushed = Instant::now();
        }
        if let Err(error) = done {
            self.problem = Some(format!("{}: the log ends here: {error}", self.path.display()));
            if let Some(file) = self.file.take() {
                drop(file.into_parts()); // it would try again, and fail again
            }
        }
    }
}

impl Sink for Journal {
    fn write(&mut self, record: &[u8]) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.write(record, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_laws::{AnyParams, PortInfo, PortView, params};
    use levelflow_sim::replay::replay;
    use levelflow_units::Rate;
    use levelflow_wire::journal::LoggedRouter;

    fn law() -> (&'static LawInfo, Vec<f64>, AnyParams) {
        let law = LAWS.iter().find(|law| law.name == "rcp").unwrap();
        let values: Vec<f64> = law.params.iter().map(|row| row.default).collect();
        let params = params(law.name, &values).unwrap();
        (law, values, params)
    }

    fn router(journal: &Journal) -> LoggedRouter<Journal> {
        let (law, values, params) = law();
        let port = PortInfo {
            id: 1,
            capacity: Rate::clamped(1e7),
        };
        LoggedRouter::new(&params, &port, Some(journal.log(law, Role::Router(port), &values)))
    }

    #[test]
    fn instances_share_a_file_that_replays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        for _ in 0..2 {
            let journal = Journal::create(&path, 1).unwrap();
            let mut routers = [router(&journal), router(&journal)];
            for router in &mut routers {
                let elapsed = levelflow_units::Duration::from_ms(10);
                router.on_interval(&law().2, elapsed, &PortView::IDLE);
            }
            drop(routers);
            assert_eq!(journal.problem(), None);
            let done = replay(&std::fs::read(&path).unwrap()).unwrap();
            assert_eq!((done.instances.len(), done.difference), (2, None));
            assert!(done.instances.iter().all(|i| i.states == 2 && i.calls == 1));
        }
    }

    #[test]
    fn a_file_that_is_no_log_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "keep me").unwrap();
        for path in [&path, folder.path(), &folder.path().join("none/x")] {
            let error = Journal::create(path, 1).unwrap_err();
            assert!(error.status() == 2 && !error.to_string().contains('\n'), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "keep me");
    }

    #[test]
    fn a_full_disk_ends_the_log_and_nothing_else() {
        let shared = Shared {
            path: "/dev/full".into(),
            file: Some(BufWriter::new(File::create("/dev/full").unwrap())),
            flushed: Instant::now(),
            instances: 0,
            problem: None,
        };
        let journal = Journal {
            every: 0,
            shared: Arc::new(Mutex::new(shared)),
        };
        let mut router = router(&journal);
        for _ in 0..5000 {
            router.on_interval(&law().2, levelflow_units::Duration::from_ms(10), &PortView::IDLE);
        }
        drop(router);
        assert!(journal.problem().unwrap().starts_with("/dev/full: the log ends here"));
    }
}
