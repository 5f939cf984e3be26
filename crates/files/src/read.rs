//! Bounded reads.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Largest file that is read, bytes.
pub const MAX_BYTES: u64 = 256 << 20;

/// Reads the text of a regular file of at most [`MAX_BYTES`]. Devices and pipes are rejected, because they may have no
/// end.
///
/// # Errors
/// Returns an error if the file cannot be read, is too large, is not UTF-8, or is not a regular file. The error does
/// not quote the file.
pub fn read(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    contents(file)
}

/// Reads text of at most [`MAX_BYTES`] from a file, device or pipe that the user named on the command line.
///
/// # Errors
/// Returns an error if the file cannot be read, is too large, or is not UTF-8.
pub fn read_any(path: &Path) -> io::Result<String> {
    contents(File::open(path)?)
}

/// Converts bytes to text.
///
/// # Errors
/// Returns an error if there are more than [`MAX_BYTES`], or if they are not UTF-8. The error does not quote the text.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("larger than 256 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        io::Error::other(format!("byte {at} is not UTF-8; needs lines of text"))
    })
}

/// Opens a file. The call does not wait for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

fn contents(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    text(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn refused(path: &Path) -> String {
        read(path).err().map(|error| crate::reason(&error)).unwrap_or_default()
    }

    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        assert_eq!(refused(&pipe), "not a regular file");
        assert_eq!(refused(Path::new("/dev/zero")), "not a regular file");
        assert_eq!(refused(dir.path()), "is a directory");
        assert_eq!(refused(&dir.path().join("none")), "no such file or directory");
    }

    #[test]
    fn the_size_of_a_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(refused(&path), "larger than 256 MiB");
        assert!(read_any(Path::new("/dev/zero")).is_err());
    }

    #[test]
    fn an_error_has_the_place_and_not_the_content() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("binary");
        std::fs::write(&path, b"secret\xff").unwrap();
        assert_eq!(refused(&path), "byte 7 is not UTF-8; needs lines of text");
    }
}
