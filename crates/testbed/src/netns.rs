//! Network namespaces that disappear with the process.
//!
//! A thread and a file descriptor of this process keep a namespace alive. The namespace has no name in the file system.
//! When the process ends for any reason, the kernel removes the namespace, its devices and its processes.

use std::fs;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;

use nix::sched::{CloneFlags, unshare};

use levelflow_host::{Error, sys};

type Job = Box<dyn FnOnce() + Send>;

/// Network namespace. A thread in the namespace lives as long as this value.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: OwnedFd,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Namespace {
    /// Creates a namespace in which `lo` is up. The kernel sends no packets of its own there, and the reverse-path
    /// filter is disabled. `name` appears in messages and thread names.
    ///
    /// # Errors
    /// When this process lacks the permission to create namespaces.
    pub fn new(name: &str) -> Result<Self, Error> {
        let (sender, receiver) = mpsc::channel();
        let (jobs, work) = mpsc::channel::<Job>();
        let inside = move || {
            let made = enter();
            let failed = made.is_err();
            if sender.send(made).is_err() || failed {
                return;
            }
            for job in work {
                // If the job panics, the caller receives no reply, and returns an error.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let thread = std::thread::Builder::new().name(format!("ns {name}"));
        let thread = thread
            .spawn(inside)
            .map_err(|e| Error::failed(format_args!("namespace {name}: {e}")))?;
        let file = receiver
            .recv()
            .map_err(|_| Error::failed(format_args!("namespace {name}: its thread died")))??;
        let namespace = Self {
            name: name.to_owned(),
            file,
            jobs: Some(jobs),
            thread: Some(thread),
        };
        namespace.quieten()?;
        Ok(namespace)
    }

    /// Returns the name of the namespace, as in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the path of the namespace for `ip link ... netns` and `nsenter --net=`. The path is valid while this
    /// process lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs a closure inside the namespace and waits for its end. Sockets, threads and children of the closure belong
    /// to the namespace. Children end with the namespace only if [`Namespace::spawn`] started them.
    ///
    /// # Errors
    /// When the closure panics.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (sender, receiver) = mpsc::channel();
        let job: Job = Box::new(move || {
            let _ = sender.send(work()); // fails if the caller is gone
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        match receiver.recv() {
            Ok(result) if sent => Ok(result),
            _ => Err(Error::failed(format_args!("work in namespace {} panicked", self.name))),
        }
    }

    /// Starts a long-running thread inside the namespace.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn thread<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, Error> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let what = format!("{name} in namespace {}", self.name);
        self.run(move || thread.spawn(work))?
            .map_err(|e| Error::failed(format_args!("{what}: {e}")))
    }

    /// Starts a child process inside the namespace. The kernel kills the child when the namespace is dropped, or when
    /// this process ends for any reason.
    ///
    /// # Errors
    /// When the program does not exist.
    pub fn spawn(&self, mut command: Command) -> Result<Child, Error> {
        let what = command.get_program().to_string_lossy().into_owned();
        sys::die_with_parent(&mut command);
        self.run(move || command.spawn())?
            .map_err(|e| Error::failed(format_args!("{what} in namespace {}: {e}", self.name)))
    }

    /// Runs a program inside the namespace until the program ends. Returns its output.
    ///
    /// # Errors
    /// The first line of the program's error output.
    pub fn output(&self, mut command: Command) -> Result<String, Error> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let what = command.get_program().to_string_lossy().into_owned();
        finish(self.spawn(command)?, &format!("{what} in namespace {}", self.name))
    }

    /// Runs lines of `ip` commands, without the word `ip`. Stops at the first error.
    ///
    /// # Errors
    /// The first line of the error output of `ip`.
    pub fn ip(&self, lines: &str) -> Result<(), Error> {
        self.batch("ip", lines)
    }

    /// Runs lines of `tc` commands, without the word `tc`. Stops at the first error.
    ///
    /// # Errors
    /// The first line of the error output of `tc`.
    pub fn tc(&self, lines: &str) -> Result<(), Error> {
        self.batch("tc", lines)
    }

    /// Sets a kernel parameter below `net`, as in `sysctl("ipv4/ip_forward", "1")`.
    ///
    /// # Errors
    /// When the kernel has no such setting or rejects the value.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/net/{key}");
        let (file, text) = (path.clone(), value.to_owned());
        self.run(move || fs::write(file, text))?
            .map_err(|e| Error::failed(format_args!("{path} = {value} in namespace {}: {e}", self.name)))
    }

    /// Enables forwarding of IPv4 and IPv6 packets.
    ///
    /// # Errors
    /// The errors of [`Namespace::sysctl`].
    pub fn forward(&self) -> Result<(), Error> {
        self.sysctl("ipv4/ip_forward", "1")?;
        self.sysctl("ipv6/conf/all/forwarding", "1")
    }

    /// Disables the reverse-path filter, and packets that the kernel sends on its own.
    fn quieten(&self) -> Result<(), Error> {
        self.ip("link set dev lo up")?;
        for conf in ["all", "default"] {
            self.sysctl(&format!("ipv4/conf/{conf}/rp_filter"), "0")?;
            self.sysctl(&format!("ipv4/conf/{conf}/send_redirects"), "0")?;
            if fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
                self.sysctl(&format!("ipv6/conf/{conf}/accept_dad"), "0")?;
                self.sysctl(&format!("ipv6/conf/{conf}/accept_ra"), "0")?;
                self.sysctl(&format!("ipv6/conf/{conf}/router_solicitations"), "0")?;
            }
        }
        Ok(())
    }

    fn batch(&self, program: &str, lines: &str) -> Result<(), Error> {
        let mut command = Command::new(program);
        command
            .args(["-batch", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = self.spawn(command)?;
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(lines.as_bytes()); // if the program has ended, its error output contains the reason
        }
        finish(child, &format!("{program} in namespace {}", self.name)).map(|_| ())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves this thread into a new namespace.
fn enter() -> Result<OwnedFd, Error> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|e| {
        Error::failed(format_args!(
            "cannot make a network namespace ({e}); run it as root: sudo, or unshare --map-root-user --net"
        ))
    })?;
    let path = "/proc/thread-self/ns/net";
    fs::File::open(path)
        .map(OwnedFd::from)
        .map_err(|e| Error::failed(format_args!("{path}: {e}")))
}

/// Returns the output of a child, or the first line of its error output.
fn finish(child: Child, what: &str) -> Result<String, Error> {
    let done = child
        .wait_with_output()
        .map_err(|e| Error::failed(format_args!("{what}: {e}")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let complaints = String::from_utf8_lossy(&done.stderr);
    let line = complaints.lines().next().unwrap_or("no message");
    Err(Error::failed(format_args!("{what}: {line} ({})", done.status)))
}
