//! Atomic and durable writes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::lock::claim;

/// Writes a file. Until the new content is complete and on the disk, the path has its old content. A symbolic link is
/// followed. The file keeps its permissions.
///
/// # Errors
/// Returns an error if the file cannot be written, or if the path is not a regular file. The file then keeps its old
/// content. Returns an error of the kind `WouldBlock` if another process writes the same file.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = target(path)?;
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let part = path.with_file_name(format!(".{}.part", name.to_string_lossy()));
    let mut file = claim(&part)?;
    let written = write(&mut file, bytes)
        .and_then(|()| keep_permissions(&file, &path))
        .and_then(|()| fs::rename(&part, &path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written?;
    sync(path.parent().unwrap_or(Path::new("")))
}

/// Returns the file to which a path leads through symbolic links.
fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Err(io::Error::other("not a regular file")),
        Ok(_) => fs::canonicalize(path),
        Err(_) => Ok(path.to_owned()),
    }
}

fn keep_permissions(file: &File, old: &Path) -> io::Result<()> {
    fs::metadata(old).map_or(Ok(()), |found| file.set_permissions(found.permissions()))
}

fn write(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(bytes)?;
    file.sync_data()
}

/// Creates a directory and its missing parents, and waits until they are on the disk.
///
/// # Errors
/// Returns an error if a directory cannot be created, or the disk reports an error.
pub fn create_dirs(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(Path::new(""));
    create_dirs(parent)?;
    match fs::create_dir(path) {
        Err(error) if !path.is_dir() => return Err(error),
        _ => (),
    }
    sync(parent)
}

/// Waits until the files of a directory and its entries are on the disk. A disk writes files faster together than one
/// after the other.
///
/// # Errors
/// Returns an error if a file cannot be opened, or the disk reports an error.
pub fn sync_files(directory: &Path) -> io::Result<()> {
    let paths: Vec<_> = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    let sync_file = |path: &Path| File::options().write(true).open(path)?.sync_data();
    std::thread::scope(|scope| {
        let files: Vec<_> = paths.iter().map(|path| scope.spawn(|| sync_file(path))).collect();
        files
            .into_iter()
            .try_for_each(|file| file.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed"))))
    })?;
    sync(directory)
}

/// Waits until the entries of a directory are on the disk: new files, renamed files and removed files.
///
/// # Errors
/// Returns an error if the directory cannot be opened, or the disk reports an error.
pub fn sync(directory: &Path) -> io::Result<()> {
    let directory = if directory.as_os_str().is_empty() {
        Path::new(".")
    } else {
        directory
    };
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_its_new_content_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        replace(&path, b"longer than the next").unwrap();
        replace(&path, b"next").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"next");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_killed_write_leaves_nothing_that_stops_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(dir.path().join(".a.part"), "half of a killed write, which is longer").unwrap();
        replace(&path, b"whole").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        for wanted in [0o600, 0o664] {
            fs::write(&path, b"old").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            replace(&path, b"new").unwrap();
            assert_eq!((fs::read(&path).unwrap(), mode()), (b"new".to_vec(), wanted));
        }
    }

    #[test]
    fn a_directory_is_created_with_its_parents() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        create_dirs(&deep).unwrap();
        create_dirs(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(dir.path().join("file"), b"").unwrap();
        assert!(create_dirs(&dir.path().join("file")).is_err());
        assert!(create_dirs(&dir.path().join("file/deeper")).is_err());
    }

    #[test]
    fn links_are_followed_and_devices_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(
            replace(Path::new("/dev/null"), b"").unwrap_err().to_string(),
            "not a regular file"
        );
        assert!(replace(dir.path(), b"").is_err());
    }
}
