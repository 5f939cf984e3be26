//! Signals: SIGINT, SIGTERM and SIGHUP become bytes in a pipe that loops can wait for.

use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration as Span;

use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{Error, clock};

/// Becomes readable when the program is to stop, and stays so.
#[derive(Debug)]
pub struct Stop {
    told: UnixStream,
    tell: UnixStream,
}

impl Stop {
    /// Listens to the signals from now on.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn on_signals() -> Result<Self, Error> {
        let cannot = |e| Error::failed(format!("cannot listen to signals: {e}"));
        let stop = Self::new()?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let end = stop.tell.try_clone().map_err(cannot)?;
            signal_hook::low_level::pipe::register(signal, end).map_err(cannot)?;
        }
        Ok(stop)
    }

    /// Listens to nothing but [`now`](Self::now).
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub fn new() -> Result<Self, Error> {
        let (told, tell) = UnixStream::pair().map_err(Error::failed)?;
        Ok(Self { told, tell })
    }

    /// Tells it to stop.
    pub fn now(&self) {
        let _ = (&self.tell).write(&[0]); // a full pipe holds a signal already
    }

    /// Waits so long, less if told to stop; tells whether it was.
    #[must_use]
    pub fn within(&self, time: Span) -> bool {
        let mut watched = [PollFd::new(&self.told, PollFlags::IN)];
        let _ = clock::ready(&mut watched, time); // if it cannot wait, nobody told
        !watched[0].revents().is_empty()
    }
}

impl AsFd for Stop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.told.as_fd()
    }
}
