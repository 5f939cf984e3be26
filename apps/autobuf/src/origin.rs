//! Origin of an undo file. A file may outlive its namespace, and a later namespace may get the same number.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use serde::{Deserialize, Serialize};

use levelflow_host::sys;

/// Unique identity of a network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Boot identifier of the machine.
    boot: String,
    /// Inode of the network namespace, as in `/proc/thread-self/ns/net`. A later namespace may get the same number.
    namespace: u64,
    /// Cookie of the namespace, available since Linux 5.14. It is unique until the machine reboots.
    cookie: Option<u64>,
    /// PID namespace. Processes in another PID namespace cannot see the processes in this network namespace.
    processes: u64,
}

impl Origin {
    /// Returns the namespace of this thread.
    ///
    /// # Errors
    /// When the kernel does not report every field. A missing field could otherwise be mistaken for a different value.
    pub fn here() -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        let cookie = match sys::namespace_cookie(socket.as_fd()) {
            Err(e) if e.raw_os_error() == Some(libc::ENOPROTOOPT) => None,
            cookie => Some(cookie?),
        };
        let number = |name: &str| Ok::<_, io::Error>(fs::metadata(Path::new("/proc/thread-self/ns").join(name))?.ino());
        Ok(Self {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")?,
            namespace: number("net")?,
            cookie,
            processes: number("pid")?,
        })
    }

    /// Returns true if both origins are the same network namespace. A container and its host may share a namespace.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.boot, self.namespace, self.cookie) == (&other.boot, other.namespace, other.cookie)
    }

    /// Returns true if the namespace is certainly gone, as seen from `here`. If `here` cannot inspect all processes,
    /// only a reboot proves this.
    #[must_use]
    pub fn is_gone(&self, here: &Self) -> bool {
        if self.boot != here.boot {
            return true;
        }
        if self.namespace == here.namespace {
            return self.cookie != here.cookie;
        }
        self.processes == here.processes && !is_somewhere(self.namespace).unwrap_or(true)
    }
}

/// Returns true if the network namespace still exists. A thread, an open file or a name in the file system keeps it
/// alive.
///
/// # Errors
/// When some processes are not visible.
fn is_somewhere(namespace: u64) -> io::Result<bool> {
    // If `hidepid` hides processes of other users, it also hides process 1.
    fs::read_link("/proc/1/ns/net")?;
    let name = format!("net:[{namespace}]");
    for process in fs::read_dir("/proc")? {
        let process = process?.path();
        let number = process.file_name().and_then(|name| name.to_str());
        if number.is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit())) && unless_ended(knows(&process, &name))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn knows(process: &Path, name: &str) -> io::Result<bool> {
    for thread in fs::read_dir(process.join("task"))? {
        let inside = fs::read_link(thread?.path().join("ns/net")).map(|link| link == Path::new(name));
        if unless_ended(inside)? {
            return Ok(true);
        }
    }
    for file in fs::read_dir(process.join("fd"))? {
        if unless_ended(fs::read_link(file?.path()).map(|link| link == Path::new(name)))? {
            return Ok(true);
        }
    }
    Ok(fs::read_to_string(process.join("mountinfo"))?.contains(name))
}

/// Returns false for a process that ends during the search, because such a process no longer refers to a namespace.
fn unless_ended(found: io::Result<bool>) -> io::Result<bool> {
    match found {
        Err(e) if e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        // A zombie has no mounts.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(false),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_gone_after_a_new_start_or_if_another_has_its_number() {
        let here = Origin::here().unwrap();
        assert!(!here.is_gone(&here));
        let boot = "another".to_owned();
        assert!(Origin { boot, ..here.clone() }.is_gone(&here));
        let cookie = here.cookie.map_or(Some(1), |cookie| Some(cookie + 1));
        let another = Origin { cookie, ..here.clone() };
        assert!(another.is_gone(&here) && !another.is_same(&here));
        let container = Origin {
            processes: 1,
            ..here.clone()
        };
        assert!(container.is_same(&here) && !container.is_gone(&here));
        let elsewhere = Origin {
            namespace: 1,
            processes: 1,
            ..here.clone()
        };
        assert!(!elsewhere.is_gone(&here), "not decidable from here");
    }
}
