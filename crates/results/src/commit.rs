//! Replacement of a result by a new result. The rename of the complete new files to `.commit` is the commit point. If
//! the process is killed before this point, the old result stays. If it is killed later, [`recover`] finishes the
//! replacement.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use levelflow_files::{Lock, create_dirs, reason, sync, sync_files};
use serde_json::Value;

use crate::error::Error;

/// Format identifier in the manifest.
pub const FORMAT: &str = "levelflow result 1";
/// Manifest. A replacement removes the old manifest last and moves the new manifest last, so the manifest marks the
/// progress.
pub const MANIFEST: &str = "manifest.json";
/// Tables, `NAME.parquet`.
pub const TABLES: [&str; 4] = ["flows", "members", "links", "transfers"];
/// Complete files that replace the files of a directory.
const COMMIT: &str = ".commit";
/// Directory of the complete files until they are committed.
pub const WHOLE: &str = ".whole";
/// Directory of a run that has an earlier result to replace. Further runs use `partial-2`, `partial-3` and so on.
const PARTIAL: &str = "partial";
/// Scenario file written by a run on the network testbed. The manifest of such a run has the key `network`.
/// Without this key, the file belongs to the user.
const SCENARIO: &str = "scenario.toml";
/// Largest number of pauses, and length of a pause, while another process moves the files of a result to their places.
const RECOVERY_TRIES: u32 = 500;
const RECOVERY_PAUSE: Duration = Duration::from_millis(10);
/// Pictures, in the formats of `KINDS`.
const PICTURES: [&str; 7] = [
    "rates",
    "queues",
    "losses",
    "round-trips",
    "utilisation",
    "transfers",
    "overview",
];
const KINDS: [&str; 3] = ["png", "pdf", "svg"];
/// Other files of a result.
const OTHERS: [&str; 4] = [MANIFEST, "summary.json", "counters.json", "report.html"];

/// Locked directory of a result.
#[derive(Debug)]
pub struct Place {
    /// Directory of the result.
    pub target: PathBuf,
    /// Directory of the rows that are stored during the run. It is `target` itself if there is no earlier result.
    pub base: PathBuf,
    _lock: Lock,
}

impl Place {
    /// Locks a directory for a new result. Finishes an interrupted replacement. Keeps earlier results, and the stored
    /// rows of killed runs. `keeps_scenario` is true for a run on the testbed. `origin` is the file from which the
    /// scenario was read.
    ///
    /// # Errors
    /// Returns an error if another process writes to the directory, if the directory is not writable, if it is neither
    /// empty nor a result directory, or if it contains the scenario file of this run.
    pub fn claim(target: &Path, keeps_scenario: bool, origin: Option<&Path>) -> Result<Self, Error> {
        let refuse = |problem: &str| Error::Refused(format!("{}: {problem}", target.display()));
        create_dirs(target).map_err(|e| refuse(&format!("cannot make this directory: {}", reason(&e))))?;
        let lock = Lock::new(target).map_err(|e| match e.kind() {
            ErrorKind::WouldBlock => refuse("another process writes to this directory; choose another with --out"),
            _ => refuse(&reason(&e)),
        })?;
        finish(target).map_err(|e| refuse(&reason(&e)))?;
        check(target, keeps_scenario, origin)?;
        let base = prepare(target).map_err(|e| refuse(&reason(&e)))?;
        Ok(Self {
            target: target.to_owned(),
            base,
            _lock: lock,
        })
    }

    /// Returns the directory of the complete files.
    pub fn whole(&self) -> PathBuf {
        self.base.join(WHOLE)
    }

    /// Replaces the stored rows by the complete files, and returns the directory of the new result. The result of a
    /// complete run also replaces all earlier results.
    pub fn commit(self, complete: bool) -> io::Result<PathBuf> {
        let to = if complete { &self.target } else { &self.base };
        let whole = self.whole();
        sync_files(&whole)?;
        fs::rename(whole, to.join(COMMIT))?;
        sync(to)?;
        finish(to)?;
        if complete {
            for partial in partials(to)? {
                remove(&partial)?;
            }
        }
        Ok(to.clone())
    }

    /// Removes all files of the run, and the directory if it is then empty. An earlier result stays.
    pub fn discard(self) -> io::Result<()> {
        remove(&self.whole())?;
        if self.base == self.target {
            clear(&self.target)?;
        } else {
            remove(&self.base)?;
        }
        let target = self.target.clone();
        drop(self); // releases the lock, whose file is in the directory
        match fs::remove_dir(target) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
            done => done,
        }
    }
}

impl Drop for Place {
    /// Removes the files of a run that did not end, except its stored rows.
    fn drop(&mut self) {
        let _ = remove(&self.whole());
        let is_empty = ![MANIFEST, COMMIT].iter().any(|name| self.base.join(name).exists());
        if is_empty && self.base != self.target {
            let _ = remove(&self.base);
        }
    }
}

/// Removes the remaining files of killed runs that stored no rows. Creates the directories of a run, and returns the
/// directory of its stored rows.
fn prepare(target: &Path) -> io::Result<PathBuf> {
    remove(&target.join(WHOLE))?;
    for partial in partials(target)? {
        finish(&partial)?;
        if is_result(&manifest(&partial)) {
            remove(&partial.join(WHOLE))?;
        } else {
            remove(&partial)?;
        }
    }
    let base = if is_result(&manifest(target)) {
        let mut names = std::iter::once(PARTIAL.to_owned()).chain((2..).map(|n| format!("{PARTIAL}-{n}")));
        let free = names.find(|name| fs::symlink_metadata(target.join(name)).is_err());
        target.join(free.unwrap_or_default())
    } else {
        clear(target)?;
        target.to_owned()
    };
    create_dirs(&base.join(WHOLE))?;
    Ok(base)
}

/// Returns the directories of unfinished runs in a result directory.
fn partials(target: &Path) -> io::Result<Vec<PathBuf>> {
    let found = entries(target)?.into_iter().filter(|name| is_partial(name));
    Ok(found.map(|name| target.join(name)).collect())
}

fn is_partial(name: &str) -> bool {
    let number = name.strip_prefix(PARTIAL).and_then(|rest| rest.strip_prefix('-'));
    name == PARTIAL || number.is_some_and(|text| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()))
}

/// Finishes a replacement that a kill interrupted. Waits while another process finishes it.
///
/// # Errors
/// Returns an error if a file cannot be moved.
pub fn recover(directory: &Path) -> io::Result<()> {
    for _ in 0..RECOVERY_TRIES {
        if !directory.join(COMMIT).exists() {
            return Ok(());
        }
        match Lock::new(&locked(directory)) {
            Ok(_lock) => return finish(directory),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(RECOVERY_PAUSE),
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::WouldBlock.into())
}

/// Returns the directory whose lock protects a result. The directory of an unfinished run belongs to the result that it
/// was to replace.
fn locked(directory: &Path) -> PathBuf {
    let whole = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let is_inner = whole
        .file_name()
        .is_some_and(|name| is_partial(&name.to_string_lossy()));
    match whole.parent() {
        Some(parent) if is_inner && is_result(&manifest(parent)) => parent.to_owned(),
        _ => whole,
    }
}

/// Moves committed files to a directory, after the files of the earlier result were removed. Does not change a
/// `.commit` that no run has written.
fn finish(directory: &Path) -> io::Result<()> {
    let from = directory.join(COMMIT);
    let is_ours = |place: &Path| !place.join(MANIFEST).exists() || is_result(&manifest(place));
    let is_directory = fs::symlink_metadata(&from).is_ok_and(|found| found.is_dir());
    if !is_directory || !is_ours(&from) || !is_ours(directory) {
        return Ok(());
    }
    if from.join(MANIFEST).exists() {
        if directory.join(MANIFEST).exists() {
            clear(directory)?;
        }
        let mut names: Vec<_> = fs::read_dir(&from)?
            .map(|entry| Ok(entry?.file_name()))
            .collect::<io::Result<_>>()?;
        names.sort_by_key(|name| (name == MANIFEST, name.clone()));
        for name in names {
            let to = directory.join(&name);
            if to.is_dir() {
                fs::remove_dir_all(&to)?;
            }
            fs::rename(from.join(&name), to)?;
        }
        sync(directory)?;
    }
    // Each run writes a manifest, which is moved last. Without a manifest in `.commit`, all files have therefore been
    // moved.
    match fs::remove_dir(&from) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
        done => done,
    }
}

/// Removes the files of a result, its manifest last. Keeps files of the user.
fn clear(directory: &Path) -> io::Result<()> {
    let from_testbed = !manifest(directory)["network"].is_null();
    for name in entries(directory)? {
        if name != MANIFEST && (is_of_result(&name) || from_testbed && name == SCENARIO) {
            remove(&directory.join(name))?;
        }
    }
    sync(directory)?;
    remove(&directory.join(MANIFEST))
}

/// Rejects a directory that is neither empty nor a result directory, and a directory with the scenario file of this
/// run.
fn check(target: &Path, keeps_scenario: bool, origin: Option<&Path>) -> Result<(), Error> {
    let refuse = |problem: &str| Err(Error::Refused(format!("{}: {problem}", target.display())));
    let found = match entries(target) {
        Ok(found) => found,
        Err(error) => return refuse(&reason(&error)),
    };
    if found.iter().any(|name| name == COMMIT) {
        return refuse(&format!(
            "its entry `{COMMIT}` is not of a result; choose another with --out"
        ));
    }
    let manifest = manifest(target);
    let ours = |name: &String| is_of_result(name) || [COMMIT, WHOLE, ".lock"].contains(&name.as_str());
    // A run that stopped before its manifest leaves only stored rows and hidden files. Other files belong to the user.
    let is_rest = |name: &String| {
        name.starts_with('.') && ours(name)
            || is_partial(name)
            || name.strip_suffix(".parquet").is_some_and(|stem| TABLES.contains(&stem)) && target.join(name).is_dir()
    };
    let is_own = |names: &[String]| names.iter().all(is_rest);
    if !is_result(&manifest) && !is_own(&found) {
        return refuse("not empty and not a result directory; choose another with --out");
    }
    let is_foreign = |partial: &PathBuf| {
        !entries(partial).is_ok_and(|names| names.iter().all(|name| ours(name) || name == SCENARIO))
    };
    if let Some(name) = found
        .iter()
        .find(|name| is_partial(name) && is_foreign(&target.join(name)))
    {
        return refuse(&format!(
            "its entry `{name}` is not of a result; choose another with --out"
        ));
    }
    let folder = origin.and_then(|file| Some(file.canonicalize().ok()?.parent()?.to_owned()));
    if let Some(origin) = origin.filter(|_| folder.is_some() && folder == target.canonicalize().ok()) {
        return refuse(&format!(
            "holds the scenario that is to run, {}; choose another with --out",
            origin.display()
        ));
    }
    if keeps_scenario && manifest["network"].is_null() && target.join(SCENARIO).exists() {
        return refuse("contains your own scenario.toml; choose another with --out");
    }
    Ok(())
}

/// Returns true for a file that a run writes or leaves behind, except the scenario of a testbed.
fn is_of_result(name: &str) -> bool {
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, ""));
    OTHERS.contains(&name)
        || TABLES.contains(&stem) && kind == "parquet"
        || PICTURES.contains(&stem) && KINDS.contains(&kind)
        || name.starts_with('.') && ["part", "tmp"].contains(&kind)
}

fn is_result(manifest: &Value) -> bool {
    manifest["format"] == FORMAT
}

/// Returns the manifest of a directory; null if there is none.
fn manifest(directory: &Path) -> Value {
    let read = levelflow_files::read(&directory.join(MANIFEST)).unwrap_or_default();
    serde_json::from_str(&read).unwrap_or_default()
}

fn entries(directory: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    fs::read_dir(directory)?.map(name).collect()
}

fn remove(old: &Path) -> io::Result<()> {
    let gone = match fs::symlink_metadata(old) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(old),
        Ok(_) => fs::remove_file(old),
        Err(error) => Err(error),
    };
    gone.or_else(|e| {
        if e.kind() == ErrorKind::NotFound {
            Ok(())
        } else {
            Err(e)
        }
    })
}
