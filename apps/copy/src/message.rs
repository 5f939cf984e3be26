//! Messages and their framing.

use noq::{RecvStream, SendStream};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::error::CopyError;
use levelflow_host::Error;

/// Limit on the length of a message, in bytes; above the longest path.
const MAX_MESSAGE_BYTES: u32 = 1 << 16;

/// Request of a client, the first message of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Request {
    /// First request of a connection: presents the token that the server may require.
    Hello { token: Option<String> },
    /// Requests the properties of a path. The reply is [`Reply::DirectoryEntry`] or [`Reply::Nothing`].
    Stat { path: String },
    /// Lists a directory recursively. The replies are [`Reply::DirectoryEntry`] or [`Reply::LeftOut`] for each entry,
    /// then [`Reply::Done`].
    List { path: String },
    /// Creates a directory and its parents.
    MakeDirectory { path: String },
    /// Fetches a file. The reply is [`Reply::Same`], or else [`Reply::File`], the bytes of the file from the offset on,
    /// striped over the lanes, and [`Reply::Hash`].
    Get {
        path: String,
        part: Part,
        have: Option<Have>,
    },
    /// Sends a file. The reply is [`Reply::Same`] or [`Reply::Part`]. After [`Reply::Part`], the client sends
    /// [`Start`], the bytes of the file from the offset on, striped over the lanes, and [`Finish`]. The server then
    /// replies [`Reply::Done`].
    Put { path: String, file: FileInfo },
    /// Makes this stream an additional lane of the transfer whose request used stream `transfer`. There is no reply.
    Lane { transfer: u64, number: usize },
}

/// Length and BLAKE3 of the part of a file that has arrived earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    pub length: u64,
    pub hash: String,
}

/// Size and time of a file that exists at the target. The file is assumed to equal the source if both values are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Have {
    pub size: u64,
    /// Modification time, ns since 1970.
    pub modified: i64,
}

/// Properties of a file at its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileInfo {
    pub size: u64,
    /// Modification time, ns since 1970.
    pub modified: i64,
    /// Permissions.
    pub mode: u32,
}

/// Offset from which a client sends, and number of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    pub offset: u64,
    pub lanes: usize,
}

/// BLAKE3 of the whole file, sent after its last byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finish {
    pub hash: String,
}

/// Reply of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Done,
    Nothing,
    Same,
    DirectoryEntry {
        path: String,
        directory: bool,
        size: u64,
    },
    /// Entry that exists but is not served, with the reason.
    LeftOut {
        why: String,
    },
    File {
        file: FileInfo,
        offset: u64,
        lanes: usize,
    },
    Part(Part),
    /// BLAKE3 of a file, sent after its last byte, and the controller of the server's sending rate.
    Hash {
        hash: String,
        control: String,
    },
    Refused {
        why: String,
        /// True if another transfer of the same file is in progress; the client may retry.
        #[serde(default)]
        busy: bool,
    },
}

pub(super) async fn write<M: Serialize>(stream: &mut SendStream, message: &M) -> Result<(), CopyError> {
    let body = serde_json::to_vec(message).map_err(Error::failed)?;
    let length = u32::try_from(body.len()).ok().filter(|l| *l <= MAX_MESSAGE_BYTES);
    let length = length.ok_or_else(|| Error::failed("message: longer than 64 KiB"))?;
    let mut frame = length.to_be_bytes().to_vec();
    frame.extend(body);
    stream.write_all(&frame).await.map_err(|e| CopyError::lost(&e))
}

pub(super) async fn read<M: DeserializeOwned>(stream: &mut RecvStream) -> Result<M, CopyError> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await.map_err(|e| CopyError::lost(&e))?;
    let length = u32::from_be_bytes(length);
    if length > MAX_MESSAGE_BYTES {
        return Err(Error::failed("message: longer than 64 KiB").into());
    }
    let mut body = vec![0; length as usize];
    stream.read_exact(&mut body).await.map_err(|e| CopyError::lost(&e))?;
    serde_json::from_slice(&body).map_err(|e| Error::failed(format!("message: {e}")).into())
}
