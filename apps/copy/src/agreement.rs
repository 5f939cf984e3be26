//! Offset from which a file is sent if a part of it has arrived before.

use blake3::Hasher;

use super::message;
use super::part::hash_prefix;

/// Returns the offset to send from: the length of the other end's part if our file begins with this part, otherwise 0.
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
