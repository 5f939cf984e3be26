//! The bytes of a file: from a file into a stream, and from a stream into a part.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::Hasher;
use noq::{RecvStream, SendStream};
use tokio::task::block_in_place;

use super::message::{FileInfo, Finish};
use super::part::Part;
use crate::Error;

const BLOCK: usize = 1 << 18;

/// How far a run is; whoever shows it reads it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes that are where they belong, the skipped and resumed ones too.
    pub done: AtomicU64,
    /// Bytes that went over the network.
    pub sent: AtomicU64,
    /// Bytes that were there from an earlier try.
    pub resumed: AtomicU64,
    /// Files that arrived.
    pub files: AtomicU64,
    /// Files that were there already.
    pub skipped: AtomicU64,
}

impl Progress {
    pub(super) fn moved(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn resumed(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.resumed.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn same(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.skipped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sends a file from where it stands; gives the hash of the whole.
pub(super) async fn send(
    file: &mut File,
    offset: u64,
    size: u64,
    mut hasher: Hasher,
    stream: &mut SendStream,
    progress: &Progress,
) -> Result<Finish, Error> {
    let mut block = vec![0; BLOCK];
    let mut left = size - offset;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        let count = match block_in_place(|| file.read(&mut block[..most])) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Error::failed(e)),
            Ok(0) => return Err(Error::failed("became shorter while it was sent")),
            Ok(count) => count,
        };
        block_in_place(|| hasher.update(&block[..count]));
        let sent = stream.write_all(&block[..count]).await;
        sent.map_err(|e| super::lost(&e))?;
        left -= count as u64;
        progress.moved(count as u64);
    }
    let hash = hasher.finalize().to_hex().to_string();
    Ok(Finish { hash })
}

/// Writes what comes to a part, up to the size of the file; gives its hash.
pub(super) async fn receive(
    part: &mut Part,
    offset: u64,
    info: &FileInfo,
    mut hasher: Hasher,
    stream: &mut RecvStream,
    progress: &Progress,
) -> Result<String, Error> {
    let mut left = info.size - offset;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        let chunk = stream.read_chunk(most).await.map_err(|e| super::lost(&e))?;
        let bytes = chunk.ok_or_else(|| Error::failed("connection: the file ended too early"))?;
        block_in_place(|| {
            hasher.update(&bytes);
            part.write(&bytes)
        })?;
        left -= bytes.len() as u64;
        progress.moved(bytes.len() as u64);
    }
    Ok(hasher.finalize().to_hex().to_string())
}
