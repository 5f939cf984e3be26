//! Messages and how they are framed.

use noq::{RecvStream, SendStream};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::CopyError;
use levelflow_host::Error;

/// Longest message, bytes. The longest path is shorter.
const LONGEST: u32 = 1 << 16;

/// What a client asks, first in a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Request {
    /// Shows the token that the server may want; first of all.
    Hello { token: Option<String> },
    /// What is at a path: [`Reply::Entry`], or [`Reply::Nothing`].
    Stat { path: String },
    /// All that is in a directory and below: [`Reply::Entry`] or [`Reply::LeftOut`] for each, then [`Reply::Done`].
    List { path: String },
    /// A directory shall be there, and those above it.
    MakeDirectory { path: String },
    /// A file: [`Reply::Same`], or [`Reply::File`], its bytes from the offset on, striped over the lanes, and [`Reply::Hash`].
    Get {
        path: String,
        part: Part,
        have: Option<Have>,
    },
    /// Takes a file: [`Reply::Same`], or [`Reply::Part`]; then the client says [`Start`], sends the bytes from there on,
    /// striped over the lanes, and [`Finish`]; [`Reply::Done`].
    Put { path: String, file: FileInfo },
    /// This stream is a further lane of the transfer that was asked for in that stream; no answer.
    Lane { transfer: u64, number: usize },
}

/// The part of a file that has arrived before, and its BLAKE3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub length: u64,
    pub hash: String,
}

/// A file that is in place already; if size and time are those of the source, it is taken for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Have {
    pub size: u64,
    /// Time of the last change, ns since 1970.
    pub modified: i64,
}

/// A file as it is at its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileInfo {
    pub size: u64,
    /// Time of the last change, ns since 1970.
    pub modified: i64,
    /// Permissions.
    pub mode: u32,
}

/// From where on a client sends, and over how many lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    pub offset: u64,
    pub lanes: usize,
}

/// BLAKE3 of the whole file, after its last byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finish {
    pub hash: String,
}

/// What a server answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Done,
    Nothing,
    Same,
    Entry {
        path: String,
        directory: bool,
        size: u64,
    },
    /// Something that is there is not served, for this reason.
    LeftOut {
        why: String,
    },
    File {
        file: FileInfo,
        offset: u64,
        lanes: usize,
    },
    Part(Part),
    /// After the last byte of a file: its BLAKE3, and who set the rate at which it was sent.
    Hash {
        hash: String,
        control: String,
    },
    Refused {
        why: String,
        /// Another transfer of the same file is not over: it may be asked for again.
        #[serde(default)]
        busy: bool,
    },
}

pub(super) async fn write<M: Serialize>(stream: &mut SendStream, message: &M) -> Result<(), CopyError> {
    let body = serde_json::to_vec(message).map_err(Error::failed)?;
    let length = u32::try_from(body.len()).ok().filter(|l| *l <= LONGEST);
    let length = length.ok_or_else(|| Error::failed("message: longer than 64 KiB"))?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(body);
    stream.write_all(&frame).await.map_err(|e| CopyError::lost(&e))
}

pub(super) async fn read<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, CopyError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(|e| CopyError::lost(&e))?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Err(Error::failed("message: longer than 64 KiB").into());
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.map_err(|e| CopyError::lost(&e))?;
    serde_json::from_slice(&body).map_err(|e| Error::failed(format!("message: {e}")).into())
}
