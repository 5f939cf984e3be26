//! Log of `--log FILE`: inputs and decisions of algorithms, each as a line of JSON. docs/reference/abs.md defines the
//! fields.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::control::Control;
use super::daemon::Daemon;
use super::memory::Memory;
use super::queue::SizedQueue;
use levelflow_host::Error;
use levelflow_host::terminal::warn;

/// Prefix that identifies a file as a log.
const LOG_PREFIX: &str = "{\"device\":";

/// Log of every decision in a file. A full disk ends the log, but not the run.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: Option<File>,
    /// True if this run has created the file and has not yet written to it.
    unused: bool,
}

impl Log {
    /// Opens a log. An existing log keeps its contents until [`begin`](Self::begin). A new file is removed if `begin`
    /// is never called.
    ///
    /// # Errors
    /// When the file is not a log, another run writes it, or it is not writable.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let wrong = |why: &dyn std::fmt::Display| Error::input(format!("--log {}: {why}", path.display()));
        // This check precedes the opening, because opening a pipe or a device may block or have side effects.
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(wrong(&"not a regular file (allowed: a new file, or a log to replace)"));
        }
        let unused = !path.exists();
        let mut options = File::options();
        let open = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = open.map_err(|e| wrong(&e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(wrong(
                    &"another run writes it (allowed: a file that no other run writes)",
                ));
            }
            other => other.map_err(|e| wrong(&e))?,
        }
        let mut first = Vec::new();
        let read = (&file).take(LOG_PREFIX.len() as u64).read_to_end(&mut first);
        read.map_err(|e| wrong(&e))?;
        if !first.is_empty() && first != LOG_PREFIX.as_bytes() {
            return Err(wrong(&"not a log of abs (allowed: a new file, or a log to replace)"));
        }
        Ok(Self {
            path: path.to_owned(),
            file: Some(file),
            unused,
        })
    }

    /// Writes the first line. It describes the queues and the algorithm. The algorithm has the notation of the
    /// simulator's scenarios.
    #[must_use]
    pub fn begin(mut self, daemon: &Daemon, device: &str) -> Self {
        self.unused = false;
        if let Some(file) = &mut self.file {
            let emptied = file.set_len(0).and_then(|()| file.rewind());
            if let Err(e) = emptied {
                self.end(&e);
            }
        }
        let queues = daemon.ports().iter().map(|port| queue(&port.place, &port.control));
        let head = head(device, daemon.memory(), queues.collect());
        self.write(&head);
        self
    }

    /// Writes a line.
    pub fn write(&mut self, line: &Value) {
        let Some(file) = &mut self.file else { return };
        if let Err(e) = file.write_all(format!("{line}\n").as_bytes()) {
            self.end(&e);
        }
    }

    fn end(&mut self, why: &io::Error) {
        warn(format!("--log {}: {why}; the log ends here", self.path.display()));
        self.file = None;
    }
}

impl Drop for Log {
    /// Removes the file if the run was rejected before its first line.
    fn drop(&mut self) {
        if self.unused {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn head(device: &str, memory: Option<Memory>, queues: Vec<Value>) -> Value {
    json!({ "device": device, "memory": memory.map(|memory| memory.0.to_string()), "queues": queues })
}

fn queue(place: &SizedQueue, control: &Control) -> Value {
    json!({
        "qdisc": place.handle, "kind": place.kind, "limit": place.limit, "frame": place.frame,
        "capacity": place.capacity.bps(), "extra": place.extra, "buffer": control.buffer, "least": control.least(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use levelflow_units::Duration;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::control::Targets;
    use crate::metrics::Board;
    use crate::reading::Reading;
    use levelflow_host::limit::Unit;

    const REFERENCE: &str = include_str!("../../../docs/reference/abs.md");

    /// Returns the field names in the table of a section of docs/reference/abs.md.
    fn named(section: &str) -> Vec<&'static str> {
        let text = REFERENCE.split("\n## ").find(|text| text.starts_with(section)).unwrap();
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
        let mut names: Vec<&str> = rows.map(|row| row.split('`').next().unwrap()).collect();
        names.sort_unstable();
        names
    }

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys
    }

    fn place() -> SizedQueue {
        SizedQueue {
            limit: 2_000_000_000,
            ..SizedQueue::example()
        }
    }

    fn reading() -> Reading {
        let load = levelflow_laws::buffers::Load {
            elapsed: Duration::from_ms(100),
            admitted: levelflow_units::Bytes::ZERO,
            dropped: levelflow_units::Bytes::ZERO,
            sent: levelflow_units::Bytes::ZERO,
            queue: levelflow_units::Bytes::ZERO,
            packets: 0,
        };
        Reading::of(&crate::meter::Measured { load, drops: 0 }, Unit::Packets)
    }

    #[test]
    fn a_log_has_one_writer_and_is_there_once_it_has_begun() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let first = Log::open(&path).unwrap();
        let refused = Log::open(&path).unwrap_err().to_string();
        assert!(refused.contains("another run writes it"), "{refused}");
        drop(first);
        assert!(!path.exists(), "nothing was written");
        std::fs::write(&path, LOG_PREFIX).unwrap();
        drop(Log::open(&path).unwrap());
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            LOG_PREFIX,
            "the earlier log stays"
        );
    }

    #[test]
    fn the_reference_names_every_field_and_metric() {
        let targets = Targets {
            algorithm: "abs_log".into(),
            utilisation: Some(0.95),
            loss: None,
            delay: None,
            every: Duration::from_ms(500),
            sets: BTreeMap::new(),
            least: None,
            most: None,
            memory: None,
        };
        let queue = queue(&place(), &Control::new(&targets, &place()).unwrap());
        assert_eq!(keys(&queue), named("Queues"));
        assert_eq!(keys(&head("lf0", None, vec![queue])), named("First line"));
        assert_eq!(keys(&json!(reading())), named("Decisions"));
        let (board, mut registry) = (Board::default(), Registry::default());
        board.post(0, &reading());
        registry.register_collector(Box::new(board));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let values = text
            .lines()
            .filter_map(|line| line.split_once('{').map(|(name, _)| name));
        let mut metrics: Vec<&str> = values.collect();
        metrics.sort_unstable();
        assert_eq!(metrics, named("Metrics"));
    }
}
