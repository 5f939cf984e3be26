//! A directory that nothing leaves: every path is opened below it, whatever names and links say.

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

/// Longest path, bytes, as Linux has it.
const LONGEST: usize = 4095;
/// Deepest directory that is walked into.
const DEEPEST: usize = 256;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Below the root.
    pub path: String,
    pub directory: bool,
    pub size: u64,
}

/// What a walk finds.
#[derive(Debug)]
pub(super) enum Found {
    Entry(Entry),
    /// Something is left out, for this reason.
    LeftOut(String),
    /// A file with the name of one that is arriving.
    Arriving(String),
}

/// All files and directories below one, in the order of their names; see [`Root::walk`]. It holds the names of the directories
/// that it is in, however large the tree is.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    root: &'a Root,
    levels: Vec<Level>,
}

/// A directory that a walk is in, and what is left of it.
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

/// Refuses what is no plain path below a directory: `a/b`, or nothing for the directory itself.
pub(super) fn check(path: &str) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::failed(format!("path {path:?}: {why}")));
    if path.is_empty() {
        return Ok(());
    }
    if path.len() > LONGEST {
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

    /// As [`open`](Self::open); messages do not tell where it is.
    pub fn open_unnamed(path: &Path) -> Result<Self, Error> {
        let mut root = Self::open(path)?;
        root.shown = PathBuf::new();
        Ok(root)
    }

    /// How people know a path.
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

    /// Opens what is at a path below the root; links may not lead out.
    fn below(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            match openat2(&self.directory, or_here(path), flags, Mode::empty(), resolve) {
                // A directory of the path has been renamed since.
                Err(Errno::AGAIN) if tries < 10 => tries += 1,
                other => return other,
            }
        }
    }

    /// What is at a path, if anything is.
    pub fn stat(&self, path: &str) -> Result<Option<Entry>, Error> {
        check(path)?;
        let found = match self.below(path, OFlags::PATH) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            other => other.map_err(|e| self.failed(path, e))?,
        };
        let stat = rustix::fs::fstat(&found).map_err(|e| self.failed(path, e))?;
        Ok(Some(Entry {
            path: path.to_owned(),
            directory: FileType::from_raw_mode(stat.st_mode).is_dir(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
        }))
    }

    /// Size and time of a file, if it is there.
    pub fn have(&self, path: &str) -> Option<Have> {
        check(path).ok()?;
        let found = self.below(path, OFlags::PATH | OFlags::NOFOLLOW).ok()?;
        let info = File::from(found).metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Have {
            size: info.len(),
            modified: modified(&info),
        })
    }

    /// Opens a plain file for reading. Nothing else is ever opened, since to open a device may do things.
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

    /// All files and directories below a directory, in the order of their names. Links are followed neither into directories
    /// nor out of the root.
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

    /// What a walk says of what is there; nothing if it went away.
    fn find(&self, path: &str) -> Option<Found> {
        let left_out = |why: &str| Some(Found::LeftOut(format!("{}: {why}", self.show(path))));
        let is_link = self.is_link(path);
        match self.stat(path) {
            Ok(Some(entry)) if entry.directory && is_link => left_out("a link to a directory"),
            Ok(Some(entry)) if entry.directory => Some(Found::Entry(entry)),
            Ok(Some(entry)) if part::is_part(last_name(path).as_bytes()) => Some(Found::Arriving(entry.path)),
            Ok(Some(entry)) if is_link || self.have(path).is_some() => Some(Found::Entry(entry)),
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

    /// Makes a directory and those above it, if they are not there.
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

    /// The part of a file to be.
    pub fn part(&self, path: &str) -> Result<Part, CopyError> {
        let (parent, name) = self.split(path)?;
        Part::open(parent, name, self.show(path))
    }

    /// The directory that a path is in, and the last name.
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
    /// The next name in the directory where the walk is, and those above it where that is done.
    fn step(&mut self) -> Option<Result<Option<Found>, Error>> {
        let level = self.levels.last_mut()?;
        let Some(name) = level.names.next() else {
            self.levels.pop();
            return Some(Ok(None));
        };
        let Ok(name) = String::from_utf8(name) else {
            let why = format!("{}: holds a name that is not UTF-8", self.root.show(&level.path));
            return Some(Ok(Some(Found::LeftOut(why))));
        };
        let path = match level.path.as_str() {
            "" => name,
            above => format!("{above}/{name}"),
        };
        let found = self.root.find(&path);
        let inside = matches!(&found, Some(Found::Entry(entry)) if entry.directory);
        if inside && self.levels.len() > DEEPEST {
            let why = format!("{}: more than {DEEPEST} directories deep", self.root.show(&path));
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

/// The directory that a local path is in, and its name there.
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
