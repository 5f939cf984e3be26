//! Link that runs in a thread. Tests change its settings and read its counters.

use std::sync::mpsc;
use std::thread::JoinHandle;

use levelflow_host::clock::Clock;
use levelflow_host::{Error, sys};
use levelflow_link::control::Change;
use levelflow_link::{Link, Report};
use levelflow_units::Time;

enum Request {
    Change(Change),
    Report(mpsc::Sender<[Report; 2]>),
    Stop,
}

/// Link that runs until it is stopped or dropped.
#[derive(Debug)]
pub struct Running {
    requests: mpsc::Sender<Request>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    /// Starts the link, with real-time priority if permitted.
    #[must_use]
    pub fn start(mut link: Link) -> Self {
        let (requests, asked) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = sys::realtime(); // without real-time priority, frames may be late, and reports show the latency
            link.run(&Clock::start(), |link, now| {
                for request in asked.try_iter() {
                    match request {
                        Request::Change(change) => link.change(now, change),
                        Request::Report(reply) => drop(reply.send(link.report(now))),
                        Request::Stop => return Ok(None),
                    }
                }
                Ok(Some(Time::NEVER))
            })
        });
        let thread = Some(thread);
        Self { requests, thread }
    }

    /// Changes a setting of the link.
    pub fn change(&mut self, change: Change) {
        self.requests.send(Request::Change(change)).unwrap();
    }

    /// Returns the counters since the start. The first report is for the direction from the first device to the second.
    ///
    /// # Errors
    /// The reason why the link has ended.
    pub fn report(&mut self) -> Result<[Report; 2], Error> {
        let (reply, replies) = mpsc::channel();
        let _ = self.requests.send(Request::Report(reply)); // if the link has ended, `recv` fails
        replies.recv().map_err(|_| self.join().unwrap_err())
    }

    fn join(&mut self) -> Result<(), Error> {
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.requests.send(Request::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
