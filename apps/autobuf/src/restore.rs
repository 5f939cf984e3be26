//! Saved limits. A file contains the original limits while the daemon changes the limits of the queues. The next start
//! can therefore restore them even after `kill -9`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ABS;
use super::origin::Origin;
use super::queue::SizedQueue;
use super::trouble::failed;
use levelflow_host::Error;
use levelflow_host::limit::{Unit, limit_of, same_but_limit, with_limit};
use levelflow_host::pid_file;
use levelflow_host::qdisc::Device;
use levelflow_host::tc::{Found, Handle};
use levelflow_host::terminal::warn;

/// Queue whose limit was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedLimit {
    /// Handle of the queue.
    pub handle: Handle,
    /// Kind of the queue.
    pub kind: String,
    /// Original options, in the kernel's bytes.
    pub options: Vec<u8>,
    /// Latest limit that was set, and next limit to set. The queue has one of these limits, unless another process has
    /// changed it.
    pub ours: [u32; 2],
}

/// Saved limits of all queues of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    /// Namespace of the device.
    origin: Origin,
    /// Index of the device. A new device has another index even if it has the same name.
    index: u32,
    queues: Vec<SavedLimit>,
    #[serde(skip)]
    file: PathBuf,
}

/// Outcome of restoring a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The original limit has been restored.
    Restored,
    /// The queue already had its original limit.
    AsFound,
    /// Another process replaced or changed the queue, so the queue is left as it is.
    Others,
    /// The queue is gone.
    Gone,
}

impl SavedLimit {
    /// Saves the current state of a queue.
    #[must_use]
    pub fn of(place: &SizedQueue) -> Self {
        Self {
            handle: place.handle,
            kind: place.kind.clone(),
            options: place.options.clone(),
            ours: [place.limit; 2],
        }
    }

    /// Formats the original limit.
    #[must_use]
    pub fn text(&self) -> String {
        match Unit::of(&self.kind).zip(limit_of(&self.kind, &self.options)) {
            Some((unit, limit)) => unit.text(limit),
            None => "its limit".into(),
        }
    }

    fn fate(&self, now: &Found) -> Outcome {
        let limit = limit_of(&now.queue.kind, &now.options);
        let same = now.queue.kind == self.kind && same_but_limit(&self.kind, &self.options, &now.options);
        match limit {
            limit if same && limit == limit_of(&self.kind, &self.options) => Outcome::AsFound,
            Some(limit) if same && self.ours.contains(&limit) => Outcome::Restored,
            _ => Outcome::Others,
        }
    }

    fn restore(&self, device: &mut Device) -> Result<Outcome, Error> {
        let now = match device.queue_of(self.handle) {
            Err(e) if is_gone(&e) => return Ok(Outcome::Gone),
            other => other.map_err(|e| failed(device, &e))?,
        };
        let outcome = self.fate(&now);
        if outcome == Outcome::Restored {
            let limit = limit_of(&self.kind, &self.options);
            let options = limit.and_then(|limit| with_limit(&self.kind, &self.options, limit));
            let Some(options) = options else {
                return Ok(Outcome::Others);
            };
            match device.change(self.handle, &self.kind, options) {
                Err(e) if is_gone(&e) => return Ok(Outcome::Gone),
                other => other.map_err(|e| failed(device, &e))?,
            }
        }
        Ok(outcome)
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV))
}

impl SavedState {
    /// Saves the current state of queues.
    ///
    /// # Errors
    /// When the file is not writable.
    pub fn begin(device: &Device, places: &[SizedQueue]) -> Result<Self, Error> {
        let undo = Self {
            origin: here()?,
            index: device.index,
            queues: places.iter().map(SavedLimit::of).collect(),
            file: file(&device.name),
        };
        undo.write()?;
        Ok(undo)
    }

    /// Returns the state that a killed run left for this device. Removes files of other runs if their devices or
    /// namespaces are gone.
    ///
    /// # Errors
    /// When the kernel does not report the current namespace.
    pub fn left(device: &str) -> Result<Option<Self>, Error> {
        let here = here()?;
        sweep(&pid_file::directory(), &here, |index| {
            nix::net::if_::if_indextoname(index).is_ok()
        });
        let file = file(device);
        match Self::read(&file) {
            Ok(undo) if undo.origin.is_same(&here) => return Ok(Some(undo)),
            Ok(foreign) => foreign.forget(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => warn(format!(
                "{}: cannot be read, so {device} keeps the limits of a killed run: {e}",
                file.display()
            )),
        }
        Ok(None)
    }

    fn read(file: &Path) -> io::Result<Self> {
        let undo: Self = serde_json::from_slice(&fs::read(file)?)?;
        let file = file.to_owned();
        Ok(Self { file, ..undo })
    }

    /// Returns the saved queues.
    #[must_use]
    pub fn queues(&self) -> &[SavedLimit] {
        &self.queues
    }

    /// Records a limit before it is set.
    ///
    /// # Errors
    /// When the file is not writable. In this case, the limit must not be set.
    pub fn about(&mut self, queue: usize, limit: u32) -> Result<(), Error> {
        let ours = &mut self.queues[queue].ours;
        *ours = [ours[1], limit];
        self.write()
    }

    fn write(&self) -> Result<(), Error> {
        let cannot = |e: io::Error| Error::failed(format!("{}: {e}", self.file.display()));
        let new = self.file.with_extension("undo.new");
        fs::write(&new, serde_json::to_vec(self).map_err(Error::failed)?).map_err(cannot)?;
        fs::rename(&new, &self.file).map_err(cannot)
    }

    /// Restores all queues that still have a recorded limit, and removes the file. Returns the outcome of each queue
    /// and the first error of the kernel. After an error, the file stays.
    pub fn restore(self, device: &mut Device) -> (Vec<(SavedLimit, Outcome)>, Result<(), Error>) {
        let gone = device.index != self.index;
        let one = |was: &SavedLimit| if gone { Ok(Outcome::Gone) } else { was.restore(device) };
        let (outcomes, result) = each(&self.queues, one);
        if result.is_ok() {
            self.forget();
        }
        (outcomes, result)
    }

    /// Removes the file without restoring anything.
    pub fn forget(self) {
        let _ = fs::remove_file(&self.file);
    }
}

fn here() -> Result<Origin, Error> {
    Origin::here().map_err(|e| Error::failed(format!("cannot identify this network namespace: {e}")))
}

/// Removes the files of namespaces that no longer exist. Also removes the files of devices that no longer exist in this
/// namespace.
fn sweep(directory: &Path, here: &Origin, is_there: impl Fn(u32) -> bool) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for file in entries.map(|entry| entry.path()) {
        let ours = |name: &str| name.starts_with(ABS.name) && name.ends_with(".undo");
        if !file.file_name().and_then(|name| name.to_str()).is_some_and(ours) {
            continue;
        }
        let stale =
            |undo: &SavedState| undo.origin.is_gone(here) || (undo.origin.is_same(here) && !is_there(undo.index));
        if let Some(undo) = SavedState::read(&file).ok().filter(stale) {
            undo.forget();
        }
    }
}

/// Restores all queues, even after errors. Returns the first error, and prints further errors as warnings.
fn each(
    queues: &[SavedLimit],
    mut restore: impl FnMut(&SavedLimit) -> Result<Outcome, Error>,
) -> (Vec<(SavedLimit, Outcome)>, Result<(), Error>) {
    let (mut outcomes, mut result) = (Vec::new(), Ok(()));
    for was in queues {
        match restore(was) {
            Ok(outcome) => outcomes.push((was.clone(), outcome)),
            Err(e) if result.is_ok() => result = Err(e),
            Err(e) => warn(e),
        }
    }
    (outcomes, result)
}

fn file(device: &str) -> PathBuf {
    pid_file::path(&pid_file::directory(), ABS, device, "undo")
}

#[cfg(test)]
mod tests {
    use super::*;
    use levelflow_host::qdisc::Queue;

    fn was(limit: u32) -> SavedLimit {
        SavedLimit {
            handle: Handle { major: 1, minor: 0 },
            kind: "pfifo".into(),
            options: limit.to_ne_bytes().to_vec(),
            ours: [limit; 2],
        }
    }

    fn now(kind: &str, limit: u32) -> Found {
        Found {
            handle: Handle { major: 1, minor: 0 },
            parent: Handle::ROOT,
            queue: Queue {
                kind: kind.into(),
                ..Queue::default()
            },
            options: limit.to_ne_bytes().to_vec(),
        }
    }

    #[test]
    fn only_limits_of_ours_are_restored() {
        let was = SavedLimit {
            ours: [40, 50],
            ..was(100)
        };
        for (limit, outcome) in [
            (40, Outcome::Restored),
            (50, Outcome::Restored),
            (100, Outcome::AsFound),
            (60, Outcome::Others),
        ] {
            assert_eq!(was.fate(&now("pfifo", limit)), outcome, "{limit}");
        }
        assert_eq!(was.fate(&now("bfifo", 40)), Outcome::Others);
    }

    #[test]
    fn a_failed_restore_does_not_stop_the_others() {
        let mut tried = 0;
        let (outcomes, result) = each(&[was(1), was(2), was(3)], |_| {
            tried += 1;
            match tried {
                2 => Ok(Outcome::Restored),
                _ => Err(Error::failed(tried)),
            }
        });
        assert_eq!(outcomes, [(was(2), Outcome::Restored)]);
        assert_eq!((tried, result.unwrap_err().to_string()), (3, "1".into()));
    }

    #[test]
    fn unrestorable_state_is_deleted() {
        let (directory, here) = (tempfile::tempdir().unwrap(), Origin::here().unwrap());
        let gone: Origin = {
            let mut text = serde_json::to_value(&here).unwrap();
            text["boot"] = "another".into();
            serde_json::from_value(text).unwrap()
        };
        for (name, origin, index) in [("there", &here, 7), ("taken", &here, 8), ("gone", &gone, 7)] {
            let undo = SavedState {
                origin: origin.clone(),
                index,
                queues: vec![was(100)],
                file: directory.path().join(format!("abs-1-{name}.undo")),
            };
            undo.write().unwrap();
        }
        for other in ["abs-1-eth0.lock", "router-1-eth0.undo", "abs-1-broken.undo"] {
            fs::write(directory.path().join(other), "{}").unwrap();
        }
        sweep(directory.path(), &here, |index| index == 7);
        let left = fs::read_dir(directory.path()).unwrap();
        let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            [
                "abs-1-broken.undo",
                "abs-1-eth0.lock",
                "abs-1-there.undo",
                "router-1-eth0.undo"
            ]
        );
    }

    #[test]
    fn a_file_names_the_first_saved_limit() {
        let directory = tempfile::tempdir().unwrap();
        let mut undo = SavedState {
            origin: Origin::here().unwrap(),
            index: 7,
            queues: vec![was(100)],
            file: directory.path().join("abs-1-eth0.undo"),
        };
        undo.about(0, 90).unwrap();
        undo.about(0, 80).unwrap();
        let read: SavedState = serde_json::from_slice(&fs::read(&undo.file).unwrap()).unwrap();
        assert_eq!((&read.queues, read.index), (&undo.queues, 7));
        assert_eq!(
            (read.queues[0].ours, read.queues[0].text()),
            ([90, 80], "100 packets".into())
        );
        undo.forget();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
