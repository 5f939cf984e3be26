//! Capacity of a line that may change while its router runs.
//!
//! One source of the capacity is a file that contains the rate as text, such as `12.3 Mb/s`. An administrator or a
//! script writes this file. The script may read the rate from a modem. `0 b/s` is an outage. If the text is invalid,
//! or the file cannot be read, the router prints one warning and keeps its previous rate.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use levelflow_host::qdisc::Queue;
use levelflow_host::terminal;
use levelflow_units::Rate;

/// Limit on the number of bytes read. The text of a rate is shorter.
const MAX_TEXT_BYTES: u64 = 64;

/// Source of a router's capacity.
#[derive(Debug, Default)]
pub enum Capacity {
    /// Constant capacity.
    #[default]
    Given,
    /// Rate of the shaper at the root of the device.
    Shaper,
    /// Rate read from a file.
    File(CapacityFile),
}

impl Capacity {
    /// Returns the rate of the source, which is 0 during an outage. Returns `None` if the source has no rate, or if the
    /// text of the file is unchanged or invalid.
    pub fn poll(&mut self, queue: &Queue) -> Option<Rate> {
        match self {
            Self::Given => None,
            Self::Shaper => queue.rate,
            Self::File(file) => file.poll(),
        }
    }
}

/// File that contains a rate.
#[derive(Debug)]
pub struct CapacityFile {
    path: PathBuf,
    seen: String,
    /// True after a warning, until the file can be read again.
    is_unreadable: bool,
}

impl CapacityFile {
    /// Creates a reader of the file. The file need not exist yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            seen: String::new(),
            is_unreadable: false,
        }
    }

    /// Returns the rate in the file, if its text is valid and has changed since the last call.
    pub fn poll(&mut self) -> Option<Rate> {
        let text = self.text().map_err(|error| self.complain(&error)).ok()?;
        self.is_unreadable = false;
        // While a writer overwrites the file without a rename, the file is empty for a moment.
        if text.is_empty() || text == self.seen {
            return None;
        }
        let rate = text.parse().map_err(|error| {
            terminal::warn(format!("{}: {error}; the capacity is unchanged", self.path.display()));
        });
        self.seen = text;
        rate.ok()
    }

    /// Returns the text of the file. Opens the file without blocking, because the path may be a FIFO.
    fn text(&self) -> io::Result<String> {
        let mut open = OpenOptions::new();
        let file = open.read(true).custom_flags(libc::O_NONBLOCK).open(&self.path)?;
        let mut bytes = Vec::new();
        file.take(MAX_TEXT_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Prints one warning about a file that cannot be read. The file may be missing, and a FIFO may be empty.
    fn complain(&mut self, error: &io::Error) {
        if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock) {
            return;
        }
        if !std::mem::replace(&mut self.is_unreadable, true) {
            terminal::warn(format!("{}: {error}; the capacity is unchanged", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_rate_is_reported_only_if_it_changes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("capacity");
        let mut file = CapacityFile::new(&path);
        assert_eq!(file.poll(), None, "there is no file yet");
        for (text, news) in [
            ("12 Mb/s\n", Some(12e6)),
            ("12 Mb/s\n", None),
            ("", None),
            ("10mbit", Some(10e6)),
            ("fast", None),
            (
                "\u{0}\u{fffd} garbage that goes on and on, far beyond what a rate can be, and longer",
                None,
            ),
            ("0 b/s", Some(0.0)),
            ("10mbit", Some(10e6)),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(file.poll().map(Rate::bps), news, "{text}");
            assert_eq!(file.poll(), None, "{text}, again");
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(file.poll(), None, "the file is gone");
    }

    #[test]
    fn pipes_and_directories_do_not_block() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(CapacityFile::new(&pipe).poll(), None);
        assert_eq!(CapacityFile::new(directory.path()).poll(), None);
    }
}
