//! From where on a file is sent, when a part of it has arrived before.

use blake3::Hasher;

use super::message;
use super::part::hash_prefix;

/// From where on to send, given the part that the other end has: behind it, if it is the beginning of our file.
pub(super) fn agree(
    file: &mut std::fs::File,
    size: u64,
    have: &message::Part,
) -> Result<(u64, Hasher), std::io::Error> {
    if have.length > 0 && have.length <= size {
        let hasher = hash_prefix(file, have.length)?;
        if hasher.finalize().to_hex().as_str() == have.hash {
            return Ok((have.length, hasher));
        }
    }
    Ok((0, hash_prefix(file, 0)?))
}
