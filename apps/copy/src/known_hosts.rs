//! Known hosts: a file of lines `host:port fingerprint`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use levelflow_host::Error;
use levelflow_quic::Fingerprint;

/// Returns the path of the known-hosts file: `$XDG_CONFIG_HOME/levelflow/known_hosts`, or below `~/.config`.
///
/// # Errors
/// When there is no home directory.
pub fn known_hosts() -> Result<PathBuf, Error> {
    folder().map(|folder| folder.join("known_hosts"))
}

/// Returns the folder of keys and known hosts.
///
/// # Errors
/// When there is no home directory.
pub fn folder() -> Result<PathBuf, Error> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Error::input("HOME is not set: --key and --known-hosts are needed"))?;
    Ok(config.join("levelflow"))
}

/// Contents of a known-hosts file.
#[derive(Debug)]
pub struct KnownHosts {
    path: PathBuf,
    hosts: Vec<(String, Fingerprint)>,
}

impl KnownHosts {
    /// Reads a known-hosts file; a missing file counts as empty.
    ///
    /// # Errors
    /// When a line is not a host and a fingerprint.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let named = |e: &dyn std::fmt::Display| Error::input(format!("{}: {e}", path.display()));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(named(&e)),
        };
        let mut hosts = Vec::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'))
        {
            let wrong = || named(&format!("line {}: \"host:port fingerprint\" is allowed", number + 1));
            let (host, key) = line.split_once(' ').ok_or_else(wrong)?;
            hosts.push((host.to_owned(), key.trim().parse().map_err(|_| wrong())?));
        }
        Ok(Self {
            path: path.to_owned(),
            hosts,
        })
    }

    /// Returns the key of a host.
    #[must_use]
    pub fn key(&self, host: &str) -> Option<Fingerprint> {
        self.hosts.iter().find(|(known, _)| known == host).map(|(_, key)| *key)
    }

    /// Adds a host.
    ///
    /// # Errors
    /// When the file is not writable.
    pub fn add(&mut self, host: &str, key: Fingerprint) -> Result<(), Error> {
        let named = |e: std::io::Error| Error::failed(format!("{}: {e}", self.path.display()));
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(named)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(named)?;
        file.write_all(format!("{host} {key}\n").as_bytes()).map_err(named)?;
        self.hosts.push((host.to_owned(), key));
        Ok(())
    }
}
