//! Incomplete files: `.NAME.part`, in the target directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;

use blake3::Hasher;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, Timespec, Timestamps, fchmod, flock, fsync, futimens, openat, renameat,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::error::CopyError;
use super::message::FileInfo;
use levelflow_host::Error;

const PREFIX: &[u8] = b".";
const SUFFIX: &[u8] = b".part";
/// Maximum length of a file name in Linux, in bytes.
const MAX_NAME_BYTES: usize = 255;
const BLOCK_BYTES: usize = 1 << 18;

/// Returns true for the name of a part; such files are neither listed nor transferred.
pub(super) fn is_part(name: &[u8]) -> bool {
    name.len() > PREFIX.len() + SUFFIX.len() && name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Returns the name of a file's part. A file name that is too long is replaced by its BLAKE3.
fn part_name(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let digest;
    let stem: &[u8] = if bytes.len() + PREFIX.len() + SUFFIX.len() <= MAX_NAME_BYTES {
        bytes
    } else {
        digest = blake3::hash(bytes).to_hex();
        digest.as_bytes()
    };
    OsString::from_vec([PREFIX, stem, SUFFIX].concat())
}

/// Incomplete file. It stays on the disk when dropped, unless it is empty.
#[derive(Debug)]
pub(super) struct Part {
    parent: OwnedFd,
    name: OsString,
    part: OsString,
    file: File,
    shown: String,
    length: u64,
    finished: bool,
}

impl Part {
    /// Opens or creates the part of a file with this name in a directory, and locks it. Messages name the file as
    /// `shown`.
    pub fn open(parent: OwnedFd, name: OsString, shown: String) -> Result<Self, CopyError> {
        if is_part(name.as_bytes()) {
            let why = format!("{shown}: names .*.part are for files that are arriving");
            return Err(Error::failed(why).into());
        }
        let part = part_name(&name);
        let file = lock(&parent, &part).map_err(|e| match e {
            Errno::WOULDBLOCK => CopyError::Busy(format!("{shown}: is arriving in another transfer")),
            e => Error::failed(format!("{shown}: {}", io::Error::from(e))).into(),
        })?;
        let length = file
            .metadata()
            .map_err(|e| Error::failed(format!("{shown}: {e}")))?
            .len();
        Ok(Self {
            parent,
            name,
            part,
            file,
            shown,
            length,
            finished: false,
        })
    }

    /// Returns an error with the name of the file and the number of bytes kept.
    fn failed(&self, e: &io::Error) -> Error {
        let kept = if self.length > 0 {
            format!("; {} bytes are kept for the next try", self.length)
        } else {
            String::new()
        };
        let why = match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "no space left on the disk".to_owned(),
            _ => e.to_string(),
        };
        Error::failed(format!("{}: {why}{kept}", self.shown))
    }

    /// Hashes the data that earlier transfers left in the part; returns its length and the hasher.
    pub fn hash(&mut self) -> Result<(u64, Hasher), Error> {
        let length = self.length;
        let hasher = hash_prefix(&mut self.file, length).map_err(|e| self.failed(&e))?;
        Ok((length, hasher))
    }

    /// Continues the part at this offset; removes data after the offset.
    pub fn start(&mut self, offset: u64) -> Result<(), Error> {
        let begin = |file: &mut File| {
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset)).map(drop)
        };
        begin(&mut self.file).map_err(|e| self.failed(&e))?;
        self.length = offset;
        Ok(())
    }

    /// Appends data.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(self.failed(&io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    self.length += count as u64;
                    rest = &rest[count..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(&e)),
            }
        }
        Ok(())
    }

    /// Completes a verified file: syncs it to the disk, then renames it.
    pub fn finish(mut self, info: &FileInfo) -> Result<(), Error> {
        self.place(info).map_err(|e| self.failed(&e.into()))?;
        self.finished = true;
        Ok(())
    }

    fn place(&self, info: &FileInfo) -> Result<(), Errno> {
        let time = Timespec {
            tv_sec: info.modified.div_euclid(1_000_000_000),
            tv_nsec: info.modified.rem_euclid(1_000_000_000) as _,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        // Only the owner may write the data of other clients.
        fchmod(&self.file, Mode::from_raw_mode(info.mode & 0o755 | 0o600))?;
        futimens(&self.file, &times)?;
        fsync(&self.file)?;
        renameat(&self.parent, &self.part, &self.parent, &self.name)?;
        fsync(&self.parent)
    }

    /// Discards the data after a hash mismatch.
    pub fn discard(mut self) {
        self.length = 0;
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.finished && self.length == 0 {
            // A leftover file does no harm.
            let _ = unlinkat(&self.parent, &self.part, AtFlags::empty());
        }
    }
}

/// Opens and locks the part; tries again if it was renamed in between.
fn lock(parent: &OwnedFd, part: &OsStr) -> Result<File, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    for _ in 0..10 {
        let file = File::from(openat(parent, part, flags, Mode::from_raw_mode(0o600))?);
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let own = file.metadata().map_err(|_| Errno::IO)?;
        if !own.is_file() {
            return Err(Errno::INVAL);
        }
        let there = statat(parent, part, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| there.st_ino == own.ino() && there.st_dev == own.dev()) {
            return Ok(file);
        }
    }
    Err(Errno::WOULDBLOCK)
}

/// Hashes the beginning of a file; leaves the file position after the hashed data.
pub(super) fn hash_prefix(file: &mut File, length: u64) -> io::Result<Hasher> {
    let mut hasher = Hasher::new();
    let mut block = vec![0; BLOCK_BYTES];
    let mut left = length;
    file.seek(SeekFrom::Start(0))?;
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(BLOCK_BYTES).min(BLOCK_BYTES);
        let count = file.read(&mut block[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.update(&block[..count]);
        left -= count as u64;
    }
    Ok(hasher)
}
