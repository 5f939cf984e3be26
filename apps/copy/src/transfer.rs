//! Transfer of a file's bytes: from a file into a stream, and from a stream into a part.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use blake3::Hasher;
use noq::{RecvStream, SendStream};
use tokio::task::block_in_place;

use super::error::CopyError;
use super::lanes::STRIPE_BYTES;
use super::message::{FileInfo, Finish};
use super::part::Part;
use levelflow_host::Error;

/// Progress of a run, for its display.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of files at their target, including skipped and resumed ones.
    pub done: AtomicU64,
    /// Bytes sent over the network.
    pub sent: AtomicU64,
    /// Bytes transferred by an earlier attempt.
    pub resumed: AtomicU64,
    /// Files that arrived.
    pub files: AtomicU64,
    /// Files that existed already.
    pub skipped: AtomicU64,
    /// Files that wait for the end of another transfer of the same file.
    pub waiting: AtomicU64,
    /// Controller of the server's sending rate, as the server reports it.
    control: Mutex<Option<String>>,
}

impl Progress {
    /// Returns the controller that the server reported for the latest complete file.
    #[must_use]
    pub fn control(&self) -> Option<String> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn ruled(&self, control: &str) {
        let shown = control.chars().filter(|c| !c.is_control()).take(200).collect();
        *self.control.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
    }

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

/// Sends a file from its current position, in stripes over the lanes in turn; returns the hash of the whole file.
pub(super) async fn send(
    file: &mut File,
    offset: u64,
    size: u64,
    mut hasher: Hasher,
    lanes: &mut [&mut SendStream],
    progress: &Progress,
) -> Result<Finish, CopyError> {
    let mut room = vec![0; STRIPE_BYTES];
    for (turn, length) in stripes(size - offset) {
        let stripe = &mut room[..length];
        block_in_place(|| file.read_exact(stripe)).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => Error::failed("became shorter while it was sent"),
            _ => Error::failed(e),
        })?;
        block_in_place(|| hasher.update(stripe));
        let lane = turn % lanes.len();
        let sent = lanes[lane].write_all(stripe).await;
        sent.map_err(|e| CopyError::lost(&e))?;
        progress.moved(length as u64);
    }
    let hash = hasher.finalize().to_hex().to_string();
    Ok(Finish { hash })
}

/// Splits a number of bytes into stripes; returns the number and the length of each stripe.
fn stripes(bytes: u64) -> impl Iterator<Item = (usize, usize)> {
    let mut left = bytes;
    (0..).map_while(move |turn| {
        let length = usize::try_from(left).unwrap_or(STRIPE_BYTES).min(STRIPE_BYTES);
        left -= length as u64;
        (length > 0).then_some((turn, length))
    })
}

/// Writes the data of the lanes to a part, up to the size of the file; returns the hash of the whole file.
pub(super) async fn receive(
    part: &mut Part,
    offset: u64,
    info: &FileInfo,
    mut hasher: Hasher,
    lanes: &mut [&mut RecvStream],
    progress: &Progress,
) -> Result<String, CopyError> {
    for (turn, length) in stripes(info.size - offset) {
        let lane = turn % lanes.len();
        let mut left = length;
        while left > 0 {
            let chunk = lanes[lane].read_chunk(left).await.map_err(|e| CopyError::lost(&e))?;
            let bytes = chunk.ok_or_else(|| CopyError::Lost("the file ended too early".into()))?;
            block_in_place(|| {
                hasher.update(&bytes);
                part.write(&bytes)
            })?;
            left -= bytes.len();
            progress.moved(bytes.len() as u64);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
