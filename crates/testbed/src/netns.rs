//! Network namespaces that end with the process.
//!
//! A namespace is held by a thread and a file descriptor of this process; it has no name in the file system. Once the
//! process is gone, whatever killed it, the kernel removes the namespace, its devices and what runs in it.

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

/// A network namespace, and a thread inside that lives as long.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    file: OwnedFd,
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Namespace {
    /// A new one with `lo` up, and with nothing that sends by itself or drops by the way a packet came; `name` is for
    /// messages and threads.
    ///
    /// # Errors
    /// If this process may not make namespaces.
    pub fn new(name: &str) -> Result<Self, Error> {
        let (tell, told) = mpsc::channel();
        let (jobs, work) = mpsc::channel::<Job>();
        let inside = move || {
            let made = enter();
            let failed = made.is_err();
            if tell.send(made).is_err() || failed {
                return;
            }
            for job in work {
                // The caller learns of a panic by the missing reply.
                let _ = catch_unwind(AssertUnwindSafe(job));
            }
        };
        let thread = std::thread::Builder::new().name(format!("ns {name}"));
        let thread = thread
            .spawn(inside)
            .map_err(|e| Error::failed(format_args!("namespace {name}: {e}")))?;
        let file = told
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

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A path that `ip link ... netns` and `nsenter --net=` take while this process lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs this inside and waits for it. Sockets that it opens and threads that it starts belong to the namespace;
    /// children too, and they die with the namespace if [`Namespace::spawn`] starts them.
    ///
    /// # Errors
    /// If it panics.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (tell, told) = mpsc::channel();
        let job: Job = Box::new(move || {
            let _ = tell.send(work()); // nobody listens any more: nothing to tell
        });
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        match told.recv() {
            Ok(result) if sent => Ok(result),
            _ => Err(Error::failed(format_args!("work in namespace {} panicked", self.name))),
        }
    }

    /// Starts a thread inside, for work that lasts.
    ///
    /// # Errors
    /// If the system has no thread to give.
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

    /// Starts a child inside. It is killed when the namespace is dropped or this process ends, however it does.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn spawn(&self, mut command: Command) -> Result<Child, Error> {
        let what = command.get_program().to_string_lossy().into_owned();
        sys::die_with_parent(&mut command);
        self.run(move || command.spawn())?
            .map_err(|e| Error::failed(format_args!("{what} in namespace {}: {e}", self.name)))
    }

    /// Runs a program inside to its end and gives what it prints.
    ///
    /// # Errors
    /// The first line of its complaints.
    pub fn output(&self, mut command: Command) -> Result<String, Error> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let what = command.get_program().to_string_lossy().into_owned();
        finish(self.spawn(command)?, &format!("{what} in namespace {}", self.name))
    }

    /// Runs lines of `ip` (each without the word itself), all or an error.
    ///
    /// # Errors
    /// The first complaint of `ip`.
    pub fn ip(&self, lines: &str) -> Result<(), Error> {
        self.batch("ip", lines)
    }

    /// Runs lines of `tc`, as [`Namespace::ip`] does.
    ///
    /// # Errors
    /// The first complaint of `tc`.
    pub fn tc(&self, lines: &str) -> Result<(), Error> {
        self.batch("tc", lines)
    }

    /// Sets one of `net.*`, as in `sysctl("ipv4/ip_forward", "1")`.
    ///
    /// # Errors
    /// If the kernel has no such setting or refuses the value.
    pub fn sysctl(&self, key: &str, value: &str) -> Result<(), Error> {
        let path = format!("/proc/sys/net/{key}");
        let (file, text) = (path.clone(), value.to_owned());
        self.run(move || fs::write(file, text))?
            .map_err(|e| Error::failed(format_args!("{path} = {value} in namespace {}: {e}", self.name)))
    }

    /// Lets it forward packets of both families.
    ///
    /// # Errors
    /// As [`Namespace::sysctl`].
    pub fn forward(&self) -> Result<(), Error> {
        self.sysctl("ipv4/ip_forward", "1")?;
        self.sysctl("ipv6/conf/all/forwarding", "1")
    }

    /// No packets but those of the test, and no reverse-path filter.
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
            let _ = input.write_all(lines.as_bytes()); // if it ended early, it says why
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

/// Puts this thread into a namespace of its own.
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

/// What a child prints, or its first complaint.
fn finish(child: Child, what: &str) -> Result<String, Error> {
    let done = child
        .wait_with_output()
        .map_err(|e| Error::failed(format_args!("{what}: {e}")))?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let complaints = String::from_utf8_lossy(&done.stderr);
    let line = complaints.lines().next().unwrap_or("it says nothing");
    Err(Error::failed(format_args!("{what}: {line} ({})", done.status)))
}
