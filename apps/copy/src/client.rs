//! Client side of transfers.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use blake3::Hasher;
use noq::{RecvStream, SendStream, VarInt};
use tokio::task::block_in_place;

use super::agreement::agree;
use super::error::CopyError;
use super::lanes::{self, lanes_for};
use super::message::{self, Reply, Request, Start};
use super::plan::{Job, Listing, Remote};
use super::root::DirectoryEntry;
use super::transfer::{Progress, receive, send};
use levelflow_host::Error;
use levelflow_quic::Connection;

/// Code of aborted streams.
const STREAM_RESET_CODE: VarInt = VarInt::from_u32(1);

/// Maximum time to wait for the end of another transfer of the same file; a little above the idle timeout of
/// connections.
const BUSY_TIMEOUT: Duration = Duration::from_secs(13);

/// Limit on the size of a listing from a server, in bytes; about two million names.
const MOST_LISTED: usize = 256 << 20;

/// Connection to a file server.
#[derive(Debug, Clone)]
pub struct Session {
    connection: Connection,
}

impl Session {
    /// Opens a session with a token.
    ///
    /// # Errors
    /// When the server rejects the token.
    pub async fn open(connection: Connection, token: Option<String>) -> Result<Self, Error> {
        let session = Self { connection };
        let (_, mut receive) = session.ask(&Request::Hello { token }).await?;
        expect_done(&mut receive).await?;
        Ok(session)
    }

    /// Returns the connection.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns true if the connection is closed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.connection.quic().close_reason().is_some()
    }

    async fn ask(&self, request: &Request) -> Result<(SendStream, RecvStream), CopyError> {
        let (mut send, receive) = self
            .connection
            .quic()
            .open_bi()
            .await
            .map_err(|e| CopyError::lost(&e))?;
        message::write(&mut send, request).await?;
        Ok((send, receive))
    }

    /// Opens the lanes of a transfer after the first, in order.
    async fn open_lanes(&self, transfer: u64, lanes: usize) -> Result<Vec<(SendStream, RecvStream)>, CopyError> {
        let mut streams = Vec::new();
        for number in 1..lanes {
            streams.push(self.ask(&Request::Lane { transfer, number }).await?);
        }
        Ok(streams)
    }

    /// Lists a directory like [`list`](Remote::list), up to `most` bytes.
    pub(super) async fn list_within(&self, path: &str, most: usize) -> Result<Listing, CopyError> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::List { path }).await?;
        let (mut listing, mut bytes) = (Listing::default(), 0);
        loop {
            match answer(&mut receive).await? {
                Reply::Done => return Ok(listing),
                Reply::DirectoryEntry { path, directory, size } => {
                    bytes += size_of::<DirectoryEntry>() + path.len();
                    listing.entries.push(DirectoryEntry { path, directory, size });
                }
                Reply::LeftOut { why } => {
                    bytes += size_of::<String>() + why.len();
                    listing.left_out.push(CopyError::Remote(why).to_string());
                }
                other => return Err(unasked(&other)),
            }
            if bytes > most {
                let most = most >> 20;
                return Err(Error::failed(format!(
                    "the server lists more than {most} MiB of names: copy its directories one by one"
                ))
                .into());
            }
        }
    }

    pub(super) async fn make_directory(&self, path: &str) -> Result<(), CopyError> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::MakeDirectory { path }).await?;
        expect_done(&mut receive).await
    }

    pub(super) async fn get(&self, job: &Job, progress: &Progress) -> Result<(), CopyError> {
        let have = job.root.have(&job.local);
        let mut part = job.root.part(&job.local)?;
        let (length, hasher) = block_in_place(|| part.hash())?;
        let hash = hasher.finalize().to_hex().to_string();
        let request = Request::Get {
            path: job.remote.clone(),
            part: message::Part { length, hash },
            have,
        };
        let (_, mut stream) = self.ask(&request).await?;
        let (info, offset, lanes) = match answer(&mut stream).await? {
            Reply::Same => {
                progress.same(have.map_or(0, |have| have.size));
                part.discard();
                return Ok(());
            }
            Reply::File { file, offset, lanes } if offset <= file.size && (offset == 0 || offset == length) => {
                (file, offset, lanes::check(lanes)?)
            }
            other => return Err(unasked(&other)),
        };
        let hasher = if offset == 0 { Hasher::new() } else { hasher };
        progress.resumed(offset);
        part.start(offset)?;
        let mut further = self.open_lanes(stream.id().into(), lanes).await?;
        let mut from: Vec<&mut RecvStream> = further.iter_mut().map(|(_, receive)| receive).collect();
        from.insert(0, &mut stream);
        let own = receive(&mut part, offset, &info, hasher, &mut from, progress).await?;
        let Reply::Hash { hash, control } = answer(&mut stream).await? else {
            return Err(Error::failed("the server sent no hash").into());
        };
        progress.ruled(&control);
        if own != hash {
            part.discard();
            return Err(Error::failed("the received file has a wrong hash; copy it again").into());
        }
        block_in_place(|| part.finish(&info))?;
        progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Sends a file. If an earlier client was killed while it sent this file, waits some seconds until the server
    /// detects that.
    pub(super) async fn put(&self, job: &Job, progress: &Progress) -> Result<(), CopyError> {
        let start = Instant::now();
        loop {
            match self.put_now(job, progress).await {
                Err(CopyError::Busy(_)) if start.elapsed() < BUSY_TIMEOUT => {
                    progress.waiting.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(500)).await;
                    progress.waiting.fetch_sub(1, Ordering::Relaxed);
                }
                other => return other,
            }
        }
    }

    async fn put_now(&self, job: &Job, progress: &Progress) -> Result<(), CopyError> {
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
            let lanes = lanes_for(info.size - offset);
            message::write(&mut stream, &Start { offset, lanes }).await?;
            let mut further = self.open_lanes(stream.id().into(), lanes).await?;
            let mut out: Vec<&mut SendStream> = further.iter_mut().map(|(send, _)| send).collect();
            out.insert(0, &mut stream);
            let finish = send(&mut file, offset, info.size, hasher, &mut out, progress).await?;
            message::write(&mut stream, &finish).await
        };
        if let Err(error) = sent.await {
            let _ = stream.reset(STREAM_RESET_CODE);
            if !matches!(error, CopyError::Lost(_)) {
                return Err(error);
            }
            // If the server aborted the transfer, its reply has the reason.
            let reply = answer(&mut answers).await;
            return Err(match reply {
                Err(reason @ (CopyError::Busy(_) | CopyError::Remote(_))) => reason,
                _ => error,
            });
        }
        let _ = stream.finish();
        expect_done(&mut answers).await?;
        progress.files.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

impl Remote for Session {
    async fn stat(&self, path: &str) -> Result<Option<DirectoryEntry>, CopyError> {
        let path = path.to_owned();
        let (_, mut receive) = self.ask(&Request::Stat { path }).await?;
        match answer(&mut receive).await? {
            Reply::Nothing => Ok(None),
            Reply::DirectoryEntry { path, directory, size } => Ok(Some(DirectoryEntry { path, directory, size })),
            other => Err(unasked(&other)),
        }
    }

    async fn list(&self, path: &str) -> Result<Listing, CopyError> {
        self.list_within(path, MOST_LISTED).await
    }
}

async fn answer(stream: &mut RecvStream) -> Result<Reply, CopyError> {
    match message::read(stream).await? {
        Reply::Refused { why, busy: true } => Err(CopyError::Busy(format!("the server replies: {why}"))),
        Reply::Refused { why, busy: false } => Err(CopyError::Remote(why)),
        reply => Ok(reply),
    }
}

async fn expect_done(stream: &mut RecvStream) -> Result<(), CopyError> {
    match answer(stream).await? {
        Reply::Done => Ok(()),
        other => Err(unasked(&other)),
    }
}

fn unasked(reply: &Reply) -> CopyError {
    Error::failed(format!("unexpected reply of the server: {reply:?}")).into()
}
