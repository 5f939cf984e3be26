//! Directory that confines paths: every path is opened below it, whatever names and links the path contains.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, mkdirat, open, openat2, statat};
use rustix::io::Errno;

use super::error::CopyError;
use super::message::{FileInfo, Have};
use super::part::{self, Part};
use levelflow_host::Error;

/// Maximum length of a path in Linux, in bytes.
const MAX_PATH_BYTES: usize = 4095;
/// Limit on the depth of a walk.
const MAX_DEPTH: usize = 256;

/// File or directory at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectoryEntry {
    /// Path below the root.
    pub path: String,
    pub directory: bool,
    pub size: u64,
}

/// Result of one step of a directory walk.
#[derive(Debug)]
pub(super) enum Found {
    DirectoryEntry(DirectoryEntry),
    /// Entry that is left out, with the reason.
    LeftOut(String),
    /// File with the name of a part, that is, of an incomplete file.
    Arriving(String),
}

/// Walk over all files and directories below a directory, in the order of their names; see [`Root::walk`]. The memory
/// of a walk is bounded by the names in the directories on its current path, however large the tree is.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    root: &'a Root,
    levels: Vec<Level>,
}

/// Directory on the current path of a walk, with its remaining names.
#[derive(Debug)]
struct Level {
    path: String,
    names: std::vec::IntoIter<Vec<u8>>,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Root {
    directory: OwnedFd,
    shown: PathBuf,
}

/// Rejects all but plain paths below a directory: `a/b`, or an empty path for the directory itself.
pub(super) fn check(path: &str) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::failed(format!("path {path:?}: {why}")));
    if path.is_empty() {
        return Ok(());
    }
    if path.len() > MAX_PATH_BYTES {
        return refuse("longer than 4095 bytes");
    }
    if path.contains('\0') {
        return refuse("holds a NUL");
    }
    match path.split('/').find(|name| matches!(*name, "" | "." | "..")) {
        Some(_) => refuse("only names below the directory are allowed, no .. and no /..."),
        None => Ok(()),
    }
}

pub(super) fn last_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn or_here(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

impl Root {
    pub fn open(path: &Path) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = open(path, flags, Mode::empty())
            .map_err(|e| Error::input(format!("directory {}: {}", path.display(), io::Error::from(e))))?;
        let shown = path.to_path_buf();
        Ok(Self { directory, shown })
    }

    /// Opens a directory like [`open`](Self::open), but messages omit its path.
    pub fn open_unnamed(path: &Path) -> Result<Self, Error> {
        let mut root = Self::open(path)?;
        root.shown = PathBuf::new();
        Ok(root)
    }

    /// Returns a path as shown in messages.
    pub fn show(&self, path: &str) -> String {
        if path.is_empty() && self.shown.as_os_str().is_empty() {
            return ".".into();
        }
        self.shown.join(path).display().to_string()
    }

    fn failed(&self, path: &str, e: Errno) -> Error {
        let why = match e {
            Errno::XDEV | Errno::LOOP => "leads out of the directory".into(),
            Errno::NOSYS => "the kernel has no openat2 (Linux 5.6)".into(),
            e => io::Error::from(e).to_string(),
        };
        Error::failed(format!("{}: {why}", self.show(path)))
    }

    /// Opens a path below the root. Links must not lead out of the root.
    fn below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            match openat2(&self.directory, or_here(path), flags, Mode::empty(), resolve) {
                // A directory of the path was renamed in the meantime.
                Err(Errno::AGAIN) if tries < 10 => tries += 1,
                other => return other,
            }
        }
    }

    /// Returns the entry at a path, if it exists.
    pub fn stat(&self, path: &str) -> Result<Option<DirectoryEntry>, Error> {
        check(path)?;
        let found = match self.below(path, OFlags::PATH) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            other => other.map_err(|e| self.failed(path, e))?,
        };
        let stat = rustix::fs::fstat(&found).map_err(|e| self.failed(path, e))?;
        Ok(Some(DirectoryEntry {
            path: path.to_owned(),
            directory: FileType::from_raw_mode(stat.st_mode).is_dir(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
        }))
    }

    /// Returns size and time of a file, if it exists.
    pub fn have(&self, path: &str) -> Option<Have> {
        check(path).ok()?;
        let found = self.below(path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
        let info = File::from(found).metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Have {
            size: info.len(),
            modified: modified(&info),
        })
    }

    /// Opens a regular file for reading. Other files are never opened: to open a device may have side effects.
    pub fn read(&self, path: &str) -> Result<(File, FileInfo), Error> {
        check(path)?;
        let found = self.below(path, OFlags::PATH).map_err(|e| self.failed(path, e))?;
        let found = File::from(found);
        let named = |e: io::Error| Error::failed(format!("{}: {e}", self.show(path)));
        let info = found.metadata().map_err(named)?;
        if !info.is_file() {
            return Err(Error::failed(format!("{}: not a plain file", self.show(path))));
        }
        let same = format!("/proc/self/fd/{}", found.as_raw_fd());
        let file = File::open(same).map_err(named)?;
        let info = FileInfo {
            size: info.len(),
            modified: modified(&info),
            mode: info.mode() & 0o777,
        };
        Ok((file, info))
    }

    /// Returns all files and directories below a directory, in the order of their names. Links to directories, and out
    /// of the root, are not followed.
    pub fn walk(&self, path: &str) -> Result<Walk<'_>, Error> {
        check(path)?;
        let levels = vec![self.level(path)?];
        Ok(Walk { root: self, levels })
    }

    fn level(&self, path: &str) -> Result<Level, Error> {
        let failed = |e| self.failed(path, e);
        let directory = self.below(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(failed)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(Level {
            path: path.to_owned(),
            names: names.into_iter(),
        })
    }

    /// Returns the result of a walk for a path; `None` if the entry has disappeared.
    fn find(&self, path: &str) -> Option<Found> {
        let left_out = |why: &str| Some(Found::LeftOut(format!("{}: {why}", self.show(path))));
        let is_link = self.is_link(path);
        match self.stat(path) {
            Ok(Some(entry)) if entry.directory && is_link => left_out("a link to a directory"),
            Ok(Some(entry)) if entry.directory => Some(Found::DirectoryEntry(entry)),
            Ok(Some(entry)) if part::is_part(last_name(path).as_bytes()) => Some(Found::Arriving(entry.path)),
            Ok(Some(entry)) if is_link || self.have(path).is_some() => Some(Found::DirectoryEntry(entry)),
            Ok(Some(_)) => left_out("not a plain file"),
            Ok(None) if is_link => left_out("a link to nothing"),
            Ok(None) => None,
            Err(e) => Some(Found::LeftOut(e.to_string())),
        }
    }

    fn is_link(&self, path: &str) -> bool {
        self.below(path, OFlags::PATH | OFlags::NOFOLLOW)
            .and_then(rustix::fs::fstat)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_symlink())
    }

    /// Creates a directory and its parents, if they do not exist.
    pub fn make_directory(&self, path: &str) -> Result<(), Error> {
        check(path)?;
        let mut made = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let parent = self.directory_of(&made)?;
            let mode = Mode::from_raw_mode(0o777);
            match mkdirat(&parent, name, mode) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return Err(self.failed(path, e)),
            }
            if !made.is_empty() {
                made.push('/');
            }
            made.push_str(name);
        }
        self.directory_of(path).map(drop)
    }

    fn directory_of(&self, path: &str) -> Result<OwnedFd, Error> {
        self.below(path, OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|e| self.failed(path, e))
    }

    /// Opens the part of a file that will be received.
    pub fn part(&self, path: &str) -> Result<Part, CopyError> {
        let (parent, name) = self.split(path)?;
        Part::open(parent, name, self.show(path))
    }

    /// Opens the parent directory of a path; returns this directory and the last name of the path.
    fn split(&self, path: &str) -> Result<(OwnedFd, OsString), Error> {
        check(path)?;
        if path.is_empty() {
            return Err(Error::failed(format!("{}: a directory", self.show(path))));
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.directory_of(parent)?;
        let at = statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW);
        if at.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()) {
            return Err(Error::failed(format!("{}: a directory is there", self.show(path))));
        }
        Ok((parent, OsStr::new(name).to_owned()))
    }
}

impl Walk<'_> {
    /// Returns the result for the next name in the current directory, or in a parent when the directory is finished.
    fn step(&mut self) -> Option<Result<Option<Found>, Error>> {
        let level = self.levels.last_mut()?;
        let Some(name) = level.names.next() else {
            self.levels.pop();
            return Some(Ok(None));
        };
        let Ok(name) = String::from_utf8(name) else {
            let why = format!("{}: contains a name that is not UTF-8", self.root.show(&level.path));
            return Some(Ok(Some(Found::LeftOut(why))));
        };
        let path = match level.path.as_str() {
            "" => name,
            above => format!("{above}/{name}"),
        };
        let found = self.root.find(&path);
        let inside = matches!(&found, Some(Found::DirectoryEntry(entry)) if entry.directory);
        if inside && self.levels.len() > MAX_DEPTH {
            let why = format!("{}: more than {MAX_DEPTH} directories deep", self.root.show(&path));
            return Some(Ok(Some(Found::LeftOut(why))));
        }
        if inside {
            match self.root.level(&path) {
                Ok(level) => self.levels.push(level),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(found))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(found) = self.step()?.transpose() {
                return Some(found);
            }
        }
    }
}

fn modified(info: &std::fs::Metadata) -> i64 {
    info.mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(info.mtime_nsec())
}

/// Opens the parent directory of a local path; returns this directory and the last name of the path.
pub(super) fn beside(path: &Path) -> Result<(Root, String), Error> {
    let named = |why: &str| Error::input(format!("{}: {why}", path.display()));
    let name = path.file_name().ok_or_else(|| named("a name is needed"))?;
    let name = name.to_str().ok_or_else(|| named("the name is not UTF-8"))?;
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok((Root::open(parent)?, name.to_owned()))
}
