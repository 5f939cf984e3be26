//! Bytes that an endpoint of QUIC receives: datagrams with shims, keys and fingerprints.

use std::cell::OnceCell;

use levelflow_quic::{Fingerprint, Identity, fuzzing::Stripper};
use levelflow_wire::shim::Shim;

use crate::damaged_datagram;

thread_local! {
    static STRIPPER: OnceCell<Stripper> = const { OnceCell::new() };
}

/// Passes a buffer of datagrams to an endpoint. The payload of each datagram comes out once and in order, in place or
/// separately. The first two bytes select the length of the datagrams and the source address.
///
/// # Panics
/// When the property above is violated.
pub fn buffers(bytes: &[u8]) {
    let [length, source, buffer @ ..] = bytes else { return };
    let stride = usize::from(*length);
    let [stay, overflow] = STRIPPER.with(|stripper| {
        let stripper = stripper.get_or_init(Stripper::default);
        stripper.strip(buffer.to_vec(), stride, source % 2 == 0)
    });
    let (mut stay, mut overflow) = (stay.iter().peekable(), overflow.iter());
    for datagram in buffer.chunks(stride.max(1)) {
        let payload = payload(datagram);
        if payload.is_empty() {
            continue;
        }
        if stay.peek().is_some_and(|next| next[..] == *payload) {
            stay.next();
        } else {
            assert_eq!(overflow.next().map(|next| &next[..]), Some(payload));
        }
    }
    assert!(
        stay.next().is_none() && overflow.next().is_none(),
        "more payloads than datagrams"
    );
}

/// Returns a datagram without its shims, of which there are at most two.
fn payload(datagram: &[u8]) -> &[u8] {
    let Ok((shim, _, rest)) = Shim::decode(datagram) else {
        return datagram;
    };
    let second = Shim::decode(rest).ok().filter(|_| shim.more);
    second.map_or(rest, |(_, _, after)| after)
}

/// Makes a buffer of datagrams with shims.
#[must_use]
pub fn damaged_buffer(bytes: &[u8]) -> Vec<u8> {
    let datagram = damaged_datagram(bytes);
    let length = datagram.len().min(255);
    let mut buffer = vec![length as u8, bytes.first().copied().unwrap_or(0)];
    for part in 0..3 {
        buffer.extend(&datagram[..length]);
        if let Some(last) = buffer.last_mut() {
            *last ^= part;
        }
    }
    buffer
}

/// Errors of keys. They are constants, so they contain nothing of a secret key.
const KEY_ERRORS: [&str; 2] = [
    "key: not a private key in PEM",
    "key: TLS 1.3 does not support its type",
];

/// Reads text as a key and as a fingerprint. A rejected key gets one of [`KEY_ERRORS`], and a rejected fingerprint a
/// one-line error. Printing and parsing preserve an accepted fingerprint.
///
/// # Panics
/// When the property above is violated.
pub fn keys(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n");
    for key in [&*text, &pem] {
        if let Err(error) = Identity::from_pem(key) {
            assert!(KEY_ERRORS.contains(&&*error.to_string()), "{error}");
        }
    }
    match text.parse::<Fingerprint>() {
        Ok(print) => assert_eq!(print.to_string(), text.to_lowercase()),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
