//! Locks between processes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the lock file of a directory.
const LOCK: &str = ".lock";
/// Number of attempts to lock a file. Each failed attempt means that a holder has removed the file.
const CLAIM_ATTEMPTS: u32 = 100;

/// Lock of a directory. It is released when the value is dropped, or when the process ends.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks a directory, which is created if necessary.
    ///
    /// # Errors
    /// Returns an error of the kind `WouldBlock` if another process holds the lock. Returns other errors if the
    /// directory is not writable.
    pub fn new(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let path = directory.join(LOCK);
        let file = claim(&path)?;
        Ok(Self { path, _file: file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens a file for writing and locks it. Keeps its content. The holder may remove the file. A process that has opened
/// the removed file then opens the path anew.
///
/// A file system without locks, such as some network file systems, does not lock the file.
///
/// # Errors
/// Returns an error of the kind `WouldBlock` if another process holds the lock. Returns other errors if the file cannot
/// be opened, or if the file system reports different identities for an open file and its path.
pub fn claim(path: &Path) -> io::Result<File> {
    claim_if(path, is_at)
}

fn claim_if(path: &Path, is_at: impl Fn(&File, &Path) -> bool) -> io::Result<File> {
    for _ in 0..CLAIM_ATTEMPTS {
        let file = open(path)?;
        lock(&file)?;
        if is_at(&file, path) {
            return Ok(file);
        }
    }
    Err(io::Error::other(
        "this file system gives an open file another identity than its path; choose another directory",
    ))
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path)
}

#[cfg(unix)]
fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn lock(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Returns true if the path still names this open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let (Ok(held), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (held.dev(), held.ino()) == (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("new/deeper");
        let held = Lock::new(&place).unwrap();
        assert_eq!(Lock::new(&place).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
        drop(Lock::new(&place).unwrap());
    }

    #[test]
    fn many_threads_hold_a_lock_in_turn() {
        let dir = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let Ok(_held) = Lock::new(dir.path()) else { continue };
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
    }

    #[test]
    fn a_file_system_without_identities_of_files_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let refused = claim_if(&dir.path().join("a"), |_, _| false).unwrap_err().to_string();
        assert!(refused.contains("another identity than its path"), "{refused}");
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "content").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(LOCK)).unwrap();
        assert!(Lock::new(dir.path()).is_err());
        assert_eq!(fs::read_to_string(victim).unwrap(), "content");
    }
}
