//! Files that Levelflow writes and reads. A write is atomic: after a kill, a file has its old or its new content. A
//! write is durable: it has reached the disk when it returns. A read is bounded.

mod lock;
mod read;
mod replace;

pub use lock::Lock;
pub use read::{MAX_BYTES, read, read_any, text};
pub use replace::{create_dirs, replace, sync, sync_files};

use std::io;

/// Returns the text of an I/O error without its number, for example `no such file or directory`.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os") {
        Some((text, _)) => text.to_lowercase(),
        None => text,
    }
}
