//! Run of one copy command, over one connection or several.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::client::Session;
use super::plan::{self, Job, Location, Plan};
use super::transfer::Progress;
use levelflow_host::Error;

/// Options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Number of files to copy concurrently.
    pub jobs: usize,
}

/// Result of a run.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Files that arrived.
    pub files: u64,
    /// Files that existed already, with the same size and time.
    pub skipped: u64,
    /// Bytes of files that were sent over the network.
    pub bytes: u64,
    /// Bytes that were not sent because an earlier run or a lost connection had transferred them.
    pub resumed: u64,
    /// Duration, s.
    pub seconds: f64,
    /// Bytes of files per time, in bit/s.
    pub goodput: f64,
    /// Active controller of the sending end: this program for uploads, the server for downloads.
    pub control: String,
    /// Files that were not copied, with the reason.
    pub errors: Vec<String>,
}

/// Run with its remaining and finished work.
#[derive(Debug)]
pub struct CopyRun {
    start: Instant,
    progress: Arc<Progress>,
    up: bool,
    size: u64,
    left: Vec<Job>,
    errors: Vec<String>,
    /// Errors of the remaining files, if the connection was lost.
    broken: Vec<String>,
}

impl CopyRun {
    /// Plans the run.
    ///
    /// # Errors
    /// When a source does not exist, or the server does not describe it.
    pub async fn plan(
        session: &Session,
        sources: &[Location],
        destination: &Location,
        progress: Arc<Progress>,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let (plan, up) = plan_for(session, sources, destination).await?;
        Ok(Self {
            start,
            progress,
            up,
            size: bytes(&plan.jobs),
            left: plan.jobs,
            errors: plan.left_out,
            broken: Vec::new(),
        })
    }

    /// Returns the size of all files, bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns true for an upload.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        self.up
    }

    /// Copies the remaining files. Returns false if the connection was lost: the rest needs another connection.
    ///
    /// # Errors
    /// When a directory cannot be created; errors of single files are in the outcome.
    pub async fn advance(&mut self, session: &Session, options: Options) -> Result<bool, Error> {
        self.progress
            .done
            .store(self.size - bytes(&self.left), Ordering::Relaxed);
        self.broken.clear();
        for job in self.left.iter().filter(|job| job.directory) {
            let made = if self.up {
                session.make_directory(&job.remote).await.map_err(Error::from)
            } else {
                job.root.make_directory(&job.local)
            };
            match made {
                Err(error) if session.is_lost() => {
                    self.broken.push(error.to_string());
                    return Ok(false);
                }
                // Without a directory, no file in it can be copied, and one message is enough.
                made => made?,
            }
        }
        let jobs = std::mem::take(&mut self.left);
        let files = jobs.into_iter().filter(|job| !job.directory).collect();
        let failed = self.move_files(session, files, options).await;
        let (left, errors): (Vec<Job>, Vec<String>) = failed.into_iter().unzip();
        if errors.is_empty() || !session.is_lost() {
            self.errors.extend(errors);
            return Ok(true);
        }
        (self.left, self.broken) = (left, errors);
        Ok(false)
    }

    /// Copies files, several at a time; returns the files that did not arrive, with the reason.
    async fn move_files(&mut self, session: &Session, jobs: Vec<Job>, options: Options) -> Vec<(Job, String)> {
        let slots = Arc::new(Semaphore::new(options.jobs.max(1)));
        let up = self.up;
        let mut tasks = JoinSet::new();
        let mut failed = Vec::new();
        for job in jobs {
            let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                break;
            };
            let (session, progress) = (session.clone(), Arc::clone(&self.progress));
            tasks.spawn(async move {
                let moved = if up {
                    session.put(&job, &progress).await
                } else {
                    session.get(&job, &progress).await
                };
                drop(slot);
                moved.err().map(|error| {
                    let why = format!("{}: {error}", job.remote);
                    (job, why)
                })
            });
            while let Some(Ok(done)) = tasks.try_join_next() {
                failed.extend(done);
            }
        }
        while let Some(done) = tasks.join_next().await {
            match done {
                Ok(done) => failed.extend(done),
                Err(error) => self.errors.push(error.to_string()),
            }
        }
        failed
    }

    /// Returns the result; `session` is the last connection.
    #[must_use]
    pub fn outcome(self, session: &Session) -> Outcome {
        let seconds = self.start.elapsed().as_secs_f64();
        let bytes = self.progress.sent.load(Ordering::Relaxed);
        Outcome {
            files: self.progress.files.load(Ordering::Relaxed),
            skipped: self.progress.skipped.load(Ordering::Relaxed),
            bytes,
            resumed: self.progress.resumed.load(Ordering::Relaxed),
            seconds,
            goodput: bytes as f64 * 8.0 / seconds.max(1e-9),
            control: self
                .progress
                .control()
                .unwrap_or_else(|| session.connection().control().to_string()),
            errors: [self.errors, self.broken].concat(),
        }
    }
}

fn bytes(jobs: &[Job]) -> u64 {
    jobs.iter().map(|job| job.size).sum()
}

async fn plan_for(session: &Session, sources: &[Location], destination: &Location) -> Result<(Plan, bool), Error> {
    match destination {
        Location::Remote { path, inside, .. } => {
            let local = sources.iter().filter_map(|place| match place {
                Location::Local(path) => Some(path.clone()),
                Location::Remote { .. } => None,
            });
            let local: Vec<PathBuf> = local.collect();
            Ok((plan::upload(session, &local, path, *inside).await?, true))
        }
        Location::Local(directory) => {
            let remote = sources.iter().filter_map(|place| match place {
                Location::Remote { path, .. } => Some(path.clone()),
                Location::Local(_) => None,
            });
            let remote: Vec<String> = remote.collect();
            Ok((plan::download(session, &remote, directory).await?, false))
        }
    }
}
