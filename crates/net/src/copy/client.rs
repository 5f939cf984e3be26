//! The end that asks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blake3::Hasher;
use noq::{RecvStream, SendStream, VarInt};
use serde::Serialize;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, block_in_place};

use super::message::{self, Finish, Reply, Request, Start};
use super::part::{BUSY, Part};
use super::plan::{self, Job, Place, Plan};
use super::root::Entry;
use super::server::agree;
use super::transfer::{Progress, receive, send};
use crate::Error;
use crate::quic::Connection;

/// Code by which a stream is cut off.
const CUT: VarInt = VarInt::from_u32(1);

/// How long to wait for another transfer of the same file to end: somewhat longer than a silent connection lives.
const PATIENCE: Duration = Duration::from_secs(13);

/// How a run goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Files at a time.
    pub jobs: usize,
}

/// What came of a run.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Files that arrived.
    pub files: u64,
    /// Files that were there already, with the same size and time.
    pub skipped: u64,
    /// Bytes of files that went over the network.
    pub bytes: u64,
    /// Bytes that an earlier run had brought.
    pub resumed: u64,
    /// How long it took.
    pub seconds: f64,
    /// Bytes of files over time, bit/s.
    pub goodput: f64,
    /// Who set the rate of what we sent.
    pub control: String,
    /// What was not moved, with the reason.
    pub errors: Vec<String>,
}

/// Room for what a server says that it has, bytes: two million names or so.
const MOST_LISTED: usize = 256 << 20;

/// A connection to a server of files.
#[derive(Debug, Clone)]
pub struct Session {
    connection: Connection,
}

impl Session {
    /// Introduces us.
    ///
    /// # Errors
    /// When the server does not want us.
    pub async fn open(connection: Connection, token: Option<String>) -> Result<Self, Error> {
        let session = Self { connection };
        let (_, mut receive) = session.ask(&Request::Hello { token }).await?;
        expect_done(&mut receive).await?;
        Ok(session)
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    async fn ask(&self, request: &Request) -> Result<(SendStream, RecvStream), Error> {
        let (mut send, receive) = self.connection.quic().open_bi().await.map_err(|e| super::lost(&e))?;
        message::write(&mut send, request).await?;
        Ok((send, receive))
    }

    pub(super) async fn stat(&self, path: &str) -> Result<Option<Entry>, Error> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::Stat { path }).await?;
        match answer(&mut receive).await? {
            Reply::Nothing => Ok(None),
            Reply::Entry { path, directory, size } => Ok(Some(Entry { path, directory, size })),
            other => Err(unasked(&other)),
        }
    }

    pub(super) async fn list(&self, path: &str) -> Result<Vec<Entry>, Error> {
        self.list_within(path, MOST_LISTED).await
    }

    /// As [`list`](Self::list), up to so many bytes.
    pub(super) async fn list_within(&self, path: &str, most: usize) -> Result<Vec<Entry>, Error> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::List { path }).await?;
        let (mut entries, mut bytes) = (Vec::new(), 0);
        loop {
            match answer(&mut receive).await? {
                Reply::Done => return Ok(entries),
                Reply::Entry { path, directory, size } => {
                    bytes += size_of::<Entry>() + path.len();
                    if bytes > most {
                        let most = most >> 20;
                        return Err(Error::failed(format!(
                            "the server lists more than {most} MiB of names: copy its directories one by one"
                        )));
                    }
                    entries.push(Entry { path, directory, size });
                }
                other => return Err(unasked(&other)),
            }
        }
    }

    async fn make_directory(&self, path: &str) -> Result<(), Error> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::MakeDirectory { path }).await?;
        expect_done(&mut receive).await
    }

    async fn get(&self, job: &Job, progress: &Progress) -> Result<(), Error> {
        let have = job.root.have(&job.local);
        let mut part = Part::open(&job.root, &job.local)?;
        let (length, hasher) = block_in_place(|| part.hash())?;
        let hash = hasher.finalize().to_hex().to_string();
        let request = Request::Get {
            path: job.remote.clone(),
            part: message::Part { length, hash },
            have,
        };
        let (_, mut stream) = self.ask(&request).await?;
        let (info, offset) = match answer(&mut stream).await? {
            Reply::Same => {
                progress.same(have.map_or(0, |have| have.size));
                part.discard();
                return Ok(());
            }
            Reply::File { file, offset } if offset <= file.size && (offset == 0 || offset == length) => (file, offset),
            other => return Err(unasked(&other)),
        };
        let hasher = if offset == 0 { Hasher::new() } else { hasher };
        progress.resumed(offset);
        part.start(offset)?;
        let own = receive(&mut part, offset, &info, hasher, &mut stream, progress).await?;
        let Reply::Hash(Finish { hash }) = answer(&mut stream).await? else {
            return Err(Error::failed("the server sent no hash"));
        };
        if own != hash {
            part.discard();
            return Err(Error::failed("what arrived is not what was sent; copy it again"));
        }
        block_in_place(|| part.finish(&info))?;
        progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends a file. A server takes some seconds to notice that a client was killed; its successor waits.
    async fn put(&self, job: &Job, progress: &Progress) -> Result<(), Error> {
        let start = Instant::now();
        loop {
            match self.put_now(job, progress).await {
                Err(error) if error.to_string().ends_with(BUSY) && start.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
                other => return other,
            }
        }
    }

    async fn put_now(&self, job: &Job, progress: &Progress) -> Result<(), Error> {
        let (mut file, info) = job.root.read(&job.local)?;
        let request = Request::Put {
            path: job.remote.clone(),
            file: info,
        };
        let (mut stream, mut answers) = self.ask(&request).await?;
        let part = match answer(&mut answers).await? {
            Reply::Same => {
                progress.same(info.size);
                return Ok(());
            }
            Reply::Part(part) => part,
            other => return Err(unasked(&other)),
        };
        let (offset, hasher) = block_in_place(|| agree(&mut file, info.size, &part)).map_err(Error::failed)?;
        progress.resumed(offset);
        let sent = async {
            message::write(&mut stream, &Start { offset }).await?;
            let finish = send(&mut file, offset, info.size, hasher, &mut stream, progress).await?;
            message::write(&mut stream, &finish).await
        };
        if let Err(error) = sent.await {
            let _ = stream.reset(CUT);
            // If the server stopped us, it says why.
            let told = answer(&mut answers).await;
            return Err(told.err().filter(|e| e.to_string().starts_with(SAYS)).unwrap_or(error));
        }
        let _ = stream.finish();
        expect_done(&mut answers).await?;
        progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// How what a server refuses begins.
const SAYS: &str = "the server says: ";

async fn answer(stream: &mut RecvStream) -> Result<Reply, Error> {
    match message::read(stream).await? {
        Reply::Refused { why } => Err(Error::failed(format!("{SAYS}{why}"))),
        reply => Ok(reply),
    }
}

async fn expect_done(stream: &mut RecvStream) -> Result<(), Error> {
    match answer(stream).await? {
        Reply::Done => Ok(()),
        other => Err(unasked(&other)),
    }
}

fn unasked(reply: &Reply) -> Error {
    Error::failed(format!("the server answers what was not asked: {reply:?}"))
}

/// Finds out what is to do, tells `total` how many bytes that is, and does it.
///
/// # Errors
/// When it cannot begin; what goes wrong with single files is in the outcome.
pub async fn run(
    session: &Session,
    sources: &[Place],
    destination: &Place,
    options: Options,
    progress: &Arc<Progress>,
    total: impl FnOnce(u64),
) -> Result<Outcome, Error> {
    let start = Instant::now();
    let (plan, up) = plan_for(session, sources, destination).await?;
    total(plan.jobs.iter().map(|job| job.size).sum());
    let Plan {
        jobs,
        left_out: mut errors,
    } = plan;
    let (directories, files): (Vec<Job>, Vec<Job>) = jobs.into_iter().partition(|job| job.directory);
    for job in directories {
        let made = if up {
            session.make_directory(&job.remote).await
        } else {
            job.root.make_directory(&job.local)
        };
        // Without the first directory nothing else will do either, and one line says why.
        made?;
    }
    errors.extend(move_files(session, files, up, options, progress).await);
    let seconds = start.elapsed().as_secs_f64();
    let bytes = progress.sent.load(Ordering::Relaxed);
    Ok(Outcome {
        files: progress.files.load(Ordering::Relaxed),
        skipped: progress.skipped.load(Ordering::Relaxed),
        bytes,
        resumed: progress.resumed.load(Ordering::Relaxed),
        seconds,
        goodput: bytes as f64 * 8.0 / seconds.max(1e-9),
        control: session.connection.control().to_string(),
        errors,
    })
}

async fn plan_for(session: &Session, sources: &[Place], destination: &Place) -> Result<(Plan, bool), Error> {
    match destination {
        Place::Remote { path, inside, .. } => {
            let local = sources.iter().filter_map(|place| match place {
                Place::Local(path) => Some(path.clone()),
                Place::Remote { .. } => None,
            });
            let local: Vec<PathBuf> = local.collect();
            Ok((plan::upload(session, &local, path, *inside).await?, true))
        }
        Place::Local(directory) => {
            let remote = sources.iter().filter_map(|place| match place {
                Place::Remote { path, .. } => Some(path.clone()),
                Place::Local(_) => None,
            });
            let remote: Vec<String> = remote.collect();
            Ok((plan::download(session, &remote, directory).await?, false))
        }
    }
}

/// Moves files, several at a time; gives what went wrong.
async fn move_files(
    session: &Session,
    jobs: Vec<Job>,
    up: bool,
    options: Options,
    progress: &Arc<Progress>,
) -> Vec<String> {
    let slots = Arc::new(Semaphore::new(options.jobs.max(1)));
    let mut tasks = JoinSet::new();
    let mut errors = Vec::new();
    for job in jobs {
        let Ok(slot) = slots.clone().acquire_owned().await else {
            break;
        };
        let (session, progress) = (session.clone(), progress.clone());
        tasks.spawn(async move {
            let moved = if up {
                session.put(&job, &progress).await
            } else {
                session.get(&job, &progress).await
            };
            drop(slot);
            moved.map_err(|error| format!("{}: {error}", job.remote))
        });
        while let Some(Ok(done)) = tasks.try_join_next() {
            errors.extend(done.err());
        }
    }
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(done) => errors.extend(done.err()),
            Err(error) => errors.push(error.to_string()),
        }
    }
    errors
}
