//! Stop signals. SIGINT, SIGTERM and SIGHUP become bytes in a pipe, so loops can wait for them.

use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration as Span;

use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{Error, clock};

/// Descriptor that becomes readable, and remains so, when the program must stop.
#[derive(Debug)]
pub struct Stop {
    read_end: UnixStream,
    write_end: UnixStream,
}

impl Stop {
    /// Installs handlers for the signals.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn on_signals() -> Result<Self, Error> {
        let cannot = |e| Error::failed(format!("cannot install signal handlers: {e}"));
        let stop = Self::new()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let end = stop.write_end.try_clone().map_err(cannot)?;
            signal_hook::low_level::pipe::register(signal, end).map_err(cannot)?;
        }
        Ok(stop)
    }

    /// Creates an instance that ignores signals; only [`now`](Self::now) requests a stop.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn new() -> Result<Self, Error> {
        let (read_end, write_end) = UnixStream::pair().map_err(Error::failed)?;
        Ok(Self { read_end, write_end })
    }

    /// Requests a stop.
    pub fn now(&self) {
        let _ = (&self.write_end).write(&[0]); // a full pipe already contains a request
    }

    /// Waits for `time`, or until a stop is requested. Returns true if a stop was requested.
    #[must_use]
    pub fn within(&self, time: Span) -> bool {
        let mut watched = [PollFd::new(&self.read_end, PollFlags::IN)];
        let _ = clock::ready(&mut watched, time); // an error counts as no request
        !watched[0].revents().is_empty()
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read_end.as_fd()
    }
}
