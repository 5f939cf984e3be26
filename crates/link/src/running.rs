//! Links that run on a thread of their own.

use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rustix::event::{EventfdFlags, eventfd};

use super::control::Change;
use super::drive::{Link, run};
use super::report::Report;
use levelflow_host::clock::Clock;
use levelflow_host::{Error, sys};

enum Request {
    Change(usize, Change),
    Report(mpsc::Sender<Vec<[Report; 2]>>),
    Stop,
}

/// Links at work; they stop when this is dropped.
#[derive(Debug)]
pub struct Running {
    requests: mpsc::Sender<Request>,
    wake: Arc<OwnedFd>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    /// Starts to move frames, before all ordinary threads if `realtime` and this process may.
    ///
    /// # Errors
    /// If the system has no thread to give.
    pub fn start(mut links: Vec<Link>, realtime: bool) -> Result<Self, Error> {
        let (requests, asked) = mpsc::channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?);
        let woken = Arc::clone(&wake);
        let work = move || {
            if realtime {
                let _ = sys::realtime(); // without it, frames are later at times: reports say so
            }
            run(&mut links, &Clock::start(), Some(&woken), |links, now| {
                for request in asked.try_iter() {
                    match request {
                        Request::Change(which, change) => {
                            if let Some(link) = links.get_mut(which) {
                                link.change(now, change);
                            }
                        }
                        Request::Report(answer) => {
                            // The caller may be gone.
                            let _ = answer.send(links.iter_mut().map(|link| link.report(now)).collect());
                        }
                        Request::Stop => return Ok(true),
                    }
                }
                Ok(false)
            })
        };
        let thread = std::thread::Builder::new()
            .name("links".into())
            .spawn(work)
            .map_err(failed)?;
        Ok(Self {
            requests,
            wake,
            thread: Some(thread),
        })
    }

    /// Changes a link from now on.
    ///
    /// # Errors
    /// Why the links do not run any more.
    pub fn change(&mut self, link: usize, change: Change) -> Result<(), Error> {
        self.ask(Request::Change(link, change))
    }

    /// What each link did so far, and what waits in it now.
    ///
    /// # Errors
    /// Why the links do not run any more.
    pub fn report(&mut self) -> Result<Vec<[Report; 2]>, Error> {
        let (answer, answered) = mpsc::channel();
        self.ask(Request::Report(answer))?;
        answered.recv().map_err(|_| self.ended())
    }

    /// Ends them.
    ///
    /// # Errors
    /// Why they had ended before.
    pub fn stop(mut self) -> Result<(), Error> {
        let _ = self.ask(Request::Stop);
        self.thread.take().map_or(Ok(()), join)
    }

    fn ask(&mut self, request: Request) -> Result<(), Error> {
        self.requests.send(request).map_err(|_| self.ended())?;
        rustix::io::write(&*self.wake, &1u64.to_ne_bytes())
            .map(|_| ())
            .map_err(failed)
    }

    fn ended(&mut self) -> Error {
        match self.thread.take().map_or(Ok(()), join) {
            Err(error) => error,
            Ok(()) => Error::failed("the links have ended"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.ask(Request::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn join(thread: JoinHandle<Result<(), Error>>) -> Result<(), Error> {
    thread
        .join()
        .unwrap_or_else(|_| Err(Error::failed("the thread of the links panicked")))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::failed(format_args!("links: {error}"))
}
