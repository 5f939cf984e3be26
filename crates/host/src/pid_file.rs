//! Lock files, which allow at most one program of a kind per device or address. The system releases a lock when the
//! program ends, even after a crash. A second file holds the program's state for other programs.
//!
//! The files are in `/run/levelflow`, or in `$XDG_RUNTIME_DIR/levelflow` for a user without privileges. Devices of
//! different network namespaces may have the same name, so the namespace is part of the file name.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Kind of program. A *place* is a device or an address, and has at most one program of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// Prefix of the program's file names.
    pub name: &'static str,
    /// Noun for the program in messages.
    pub noun: &'static str,
    /// Command that ends the program.
    pub end: &'static str,
    /// Command that lists all programs of this kind.
    pub status: &'static str,
}

/// Identity of a running program, as stored in its file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Owner {
    /// Process identifier.
    pub pid: u32,
    /// Name of the device, or address of the relay.
    pub place: String,
    /// Network namespace, as in `/proc/self/ns/net`.
    pub namespace: u64,
}

/// State of a running program, for the command `status`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Process and place.
    #[serde(flatten)]
    pub owner: Owner,
    /// Latest reading.
    pub reading: serde_json::Value,
}

/// Ownership of a place, until the program ends.
#[derive(Debug)]
pub struct PidFile {
    owner: Owner,
    file: PathBuf,
    lock: PathBuf,
    _held: File,
}

/// Number of attempts to lock a file. A concurrent clean-up may hold the lock for a moment.
const LOCK_ATTEMPTS: u32 = 5;

/// Directory for the files of this user's programs.
#[must_use]
pub fn directory() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return "/run/levelflow".into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(base) if !base.is_empty() => Path::new(&base).join("levelflow"),
        _ => std::env::temp_dir().join(format!("levelflow-{}", rustix::process::getuid().as_raw())),
    }
}

/// Returns the number of this thread's network namespace; 0 if the system has no namespaces.
#[must_use]
pub fn namespace() -> u64 {
    fs::metadata("/proc/thread-self/ns/net").map_or(0, |m| m.ino())
}

/// Creates the directory if it is missing. Rejects a directory that another user could have created.
fn own(directory: &Path) -> Result<(), Error> {
    let cannot = |e: std::io::Error| Error::failed(format!("{}: {e}", directory.display()));
    let mut new = fs::DirBuilder::new();
    new.recursive(true).mode(0o700).create(directory).map_err(cannot)?;
    check_owner(directory)
}

fn check_owner(directory: &Path) -> Result<(), Error> {
    let found = fs::symlink_metadata(directory).map_err(|e| Error::failed(format!("{}: {e}", directory.display())))?;
    let private = found.is_dir() && found.mode() & 0o022 == 0;
    if private && found.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Err(Error::failed(format!(
        "{}: must be a directory that only you can write; remove it, or set XDG_RUNTIME_DIR",
        directory.display()
    )))
}

/// Returns the path of a file of a running service, such as its PID file, with this extension.
#[must_use]
pub fn path(directory: &Path, service: Service, place: &str, ending: &str) -> PathBuf {
    let name: String = place.chars().map(|c| if c == '/' { '_' } else { c }).collect();
    directory.join(format!("{}-{}-{name}.{ending}", service.name, namespace()))
}

impl PidFile {
    /// Claims a place, with a lock file in the directory of this user.
    ///
    /// # Errors
    /// When another program of the kind runs there (the error names it), or the directory is not writable.
    pub fn new(service: Service, place: &str) -> Result<Self, Error> {
        Self::in_directory(&directory(), service, place)
    }

    /// Claims a place, with a lock file in the given directory.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    pub fn in_directory(directory: &Path, service: Service, place: &str) -> Result<Self, Error> {
        let cannot = |e: std::io::Error| Error::failed(format!("{}: {e}", directory.display()));
        own(directory)?;
        let (file, lock) = (
            path(directory, service, place, "json"),
            path(directory, service, place, "lock"),
        );
        let mut held = locked(&lock).map_err(cannot)?;
        for _ in 0..LOCK_ATTEMPTS {
            if held.is_none() {
                std::thread::sleep(Duration::from_millis(10));
                held = locked(&lock).map_err(cannot)?;
            }
        }
        let Some(held) = held else {
            let who = read(&file).map_or_else(String::new, |state| format!(" (process {})", state.owner.pid));
            return Err(Error::failed(format!(
                "{place}: a {} is already running there{who}; end it first: {}",
                service.noun, service.end
            )));
        };
        let owner = Owner {
            pid: std::process::id(),
            place: place.to_owned(),
            namespace: namespace(),
        };
        let pid_file = Self {
            owner,
            file,
            lock,
            _held: held,
        };
        pid_file.publish(&());
        Ok(pid_file)
    }

    /// Publishes a reading for the command `status`. Write errors are ignored.
    pub fn publish(&self, reading: &impl Serialize) {
        let state = State {
            owner: self.owner.clone(),
            reading: serde_json::to_value(reading).unwrap_or_default(),
        };
        let text = serde_json::to_vec(&state).unwrap_or_default();
        let new = self.file.with_extension("new");
        if fs::write(&new, text).is_ok() {
            let _ = fs::rename(new, &self.file);
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        let _ = fs::remove_file(&self.lock);
    }
}

/// Opens and locks a file; returns `None` if another process holds the lock. Processes remove their file at exit, so
/// the lock is valid only if the path still names the locked file.
fn locked(path: &Path) -> std::io::Result<Option<File>> {
    loop {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
            other => other?,
        }
        match fs::metadata(path) {
            Ok(named) if named.ino() == file.metadata()?.ino() => return Ok(Some(file)),
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
    }
}

fn read(file: &Path) -> Option<State> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

/// Lists running programs of a kind, and removes the files of programs that were killed.
///
/// # Errors
/// When the directory cannot be read.
pub fn running(directory: &Path, service: Service) -> Result<Vec<State>, Error> {
    let cannot = |e: std::io::Error| Error::failed(format!("{}: {e}", directory.display()));
    let entries = match fs::read_dir(directory) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(cannot)?,
    };
    check_owner(directory)?;
    let mut states = Vec::new();
    for entry in entries {
        let lock = entry.map_err(cannot)?.path();
        let ours = |name: &str| {
            let rest = name.strip_prefix(service.name)?.strip_prefix('-')?;
            rest.ends_with(".lock").then_some(())
        };
        if lock.file_name().and_then(|n| n.to_str()).and_then(ours).is_none() {
            continue;
        }
        let file = lock.with_extension("json");
        match locked(&lock) {
            Ok(None) => states.extend(read(&file)),
            Ok(Some(_stale)) => {
                let _ = fs::remove_file(&file);
                let _ = fs::remove_file(&lock);
            }
            Err(e) => return Err(cannot(e)),
        }
    }
    states.sort_by(|a, b| a.owner.place.cmp(&b.owner.place));
    Ok(states)
}

/// Terminates the program at a place, and waits for its end.
///
/// # Errors
/// When no program runs there, or it does not end within five seconds.
pub fn end(directory: &Path, service: Service, place: &str) -> Result<(), Error> {
    let here = |state: &State| state.owner.place == place && state.owner.namespace == namespace();
    let find = || Ok::<_, Error>(running(directory, service)?.into_iter().find(here));
    let Some(state) = find()? else {
        return Err(Error::failed(format!(
            "{place}: no {} runs there (see {})",
            service.noun, service.status
        )));
    };
    let pid = i32::try_from(state.owner.pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let pid = pid.ok_or_else(|| Error::failed(format!("{place}: its state file contains no valid process number")))?;
    rustix::process::kill_process(pid, rustix::process::Signal::TERM)
        .map_err(|e| Error::failed(format!("{place}: process {}: {e}", state.owner.pid)))?;
    for _ in 0..50 {
        if find()?.is_none() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(Error::failed(format!(
        "{place}: process {} did not end within five seconds",
        state.owner.pid
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::thread;

    use super::*;

    const ROUTER: Service = Service {
        name: "router",
        noun: "router",
        end: "end it",
        status: "status",
    };

    /// Threads claim a place repeatedly, while other threads clean up after killed routers.
    #[test]
    fn a_place_has_one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let (owners, claims) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while claims.load(SeqCst) < 100 {
                        let Ok(pid_file) = PidFile::in_directory(directory.path(), ROUTER, "eth0") else {
                            continue;
                        };
                        assert_eq!(owners.fetch_add(1, SeqCst), 0, "two routers own the place");
                        claims.fetch_add(1, SeqCst);
                        thread::yield_now();
                        owners.fetch_sub(1, SeqCst);
                        drop(pid_file);
                    }
                });
            }
            scope.spawn(|| {
                while claims.load(SeqCst) < 100 {
                    running(directory.path(), ROUTER).unwrap();
                }
            });
        });
        assert!(running(directory.path(), ROUTER).unwrap().is_empty());
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            0,
            "something was left behind"
        );
    }

    #[test]
    fn a_directory_that_others_could_have_laid_out_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let refused = |directory: &Path| {
            let pid_file = PidFile::in_directory(directory, ROUTER, "eth0")
                .unwrap_err()
                .to_string();
            assert_eq!(pid_file, running(directory, ROUTER).unwrap_err().to_string());
            pid_file.contains("a directory that only you can write")
        };
        let (open, link) = (base.path().join("open"), base.path().join("link"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert!(refused(&open));
        std::os::unix::fs::symlink(base.path(), &link).unwrap();
        assert!(refused(&link));
        drop(PidFile::in_directory(&base.path().join("new/deeper"), ROUTER, "eth0").unwrap());
    }

    #[test]
    fn pid_files_of_one_directory_are_independent() {
        let directory = tempfile::tempdir().unwrap();
        let pid_file = |place| PidFile::in_directory(directory.path(), ROUTER, place);
        let (_one, _two) = (pid_file("eth0").unwrap(), pid_file("127.0.0.1:9000").unwrap());
        let error = pid_file("eth0").unwrap_err();
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
        let places: Vec<_> = running(directory.path(), ROUTER)
            .unwrap()
            .into_iter()
            .map(|s| s.owner.place)
            .collect();
        assert_eq!(places, ["127.0.0.1:9000", "eth0"]);
    }
    #[test]
    fn sorts_of_programs_do_not_meet() {
        const OTHER: Service = Service {
            name: "other",
            ..ROUTER
        };
        let directory = tempfile::tempdir().unwrap();
        let _router = PidFile::in_directory(directory.path(), ROUTER, "eth0").unwrap();
        let other = PidFile::in_directory(directory.path(), OTHER, "eth0").unwrap();
        assert_eq!(running(directory.path(), OTHER).unwrap().len(), 1);
        drop(other);
        assert!(running(directory.path(), OTHER).unwrap().is_empty());
        assert_eq!(running(directory.path(), ROUTER).unwrap().len(), 1);
    }
}
