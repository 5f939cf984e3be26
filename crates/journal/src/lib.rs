//! Log files of the inputs of laws, written with `--journal FILE` and read by `levelflow replay FILE`.
//!
//! All instances of laws in a process write to the same file. Records are flushed every second, so `kill -9` loses at
//! most the last second. A full disk ends the log, but not the program.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use levelflow_host::Error;
use levelflow_wire::journal::{Log, MAGIC, Role, Sink, Start};

/// Sender of a flow that logs its inputs.
pub type Sender = levelflow_transport::WireSender<Journal>;

/// Time between two flushes.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Log file of one or more instances of laws. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Journal {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// Open file; `None` after a write error.
    file: Option<BufWriter<File>>,
    flushed: Instant,
    instances: u32,
    problem: Option<String>,
}

impl Journal {
    /// Creates a log, and replaces an existing log. The log contains digests of the state at the end, after each router
    /// interval, and after each ACK of a sender.
    ///
    /// # Errors
    /// Returns an error if the file exists but is not a log, or if it cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let place = |e: io::Error| Error::input(format!("--journal {}: {e}", path.display()));
        if path.exists() && !is_log(path).map_err(place)? {
            let rule = "is not a log (allowed: a new file, or a log to replace)";
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
            shared: Arc::new(Mutex::new(shared)),
        })
    }

    /// Starts the log of another sender, router or receiver. `values` are the values of its parameter table.
    #[must_use]
    pub fn log(&self, role: Role, values: &[f64]) -> Log<Self> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let instance = shared.instances;
        shared.instances += 1;
        drop(shared);
        Log::start(self.clone(), instance, &Start::new(role, values))
    }

    /// Returns the reason why the log is incomplete; `None` if it is complete.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.write(&[], true);
        shared.problem.clone()
    }
}

/// Returns true if a file is a log, or empty.
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
                drop(file.into_parts()); // `drop(file)` would retry the write, and fail again
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
    use levelflow_laws::{AnyRouter, AnyRouterParams, PortInfo, PortView, RouterLaw};
    use levelflow_scenario::settings::{router_params, router_values};
    use levelflow_sim::replay::replay;
    use levelflow_units::Rate;
    use levelflow_wire::journal::LoggedRouter;

    fn params() -> (AnyRouterParams, Vec<f64>) {
        (router_params("rcp", &[]).unwrap(), router_values("rcp", &[]).unwrap())
    }

    fn router(journal: &Journal) -> LoggedRouter<Journal> {
        let (params, values) = params();
        let port = PortInfo {
            id: 1,
            capacity: Rate::clamped(1e7),
        };
        let role = Role::Router(params.signalling(), port);
        LoggedRouter::with_log(AnyRouter::new(&params, &port), Some(journal.log(role, &values)))
    }

    #[test]
    fn instances_share_a_file_that_replays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        for _ in 0..2 {
            let journal = Journal::create(&path).unwrap();
            let mut routers = [router(&journal), router(&journal)];
            for router in &mut routers {
                let elapsed = levelflow_units::Duration::from_ms(10);
                router.on_interval(&params().0, elapsed, &PortView::IDLE);
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
            let error = Journal::create(path).unwrap_err();
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
            shared: Arc::new(Mutex::new(shared)),
        };
        let mut router = router(&journal);
        for _ in 0..5000 {
            router.on_interval(&params().0, levelflow_units::Duration::from_ms(10), &PortView::IDLE);
        }
        drop(router);
        assert!(journal.problem().unwrap().starts_with("/dev/full: the log ends here"));
    }
}
