//! Input of `levelflow-net abs`: options of queues and classes, and undo files. Options are in the kernel's binary
//! form. Undo files contain the limits to restore.

use levelflow_autobuf::restore::SavedState;
use levelflow_host::limit::{burst_of, limit_of, same_but_limit, spec_of, with_limit};
use levelflow_host::qdisc::{Queue, options_of};
use levelflow_host::tc::{Found, Handle, share};

use crate::bytes::Choices;

const KINDS: &[&str] = &["pfifo", "bfifo", "tbf", "htb", "noqueue", ""];
/// Undo file of a pfifo and a tbf, in the form that `abs` writes.
const FILE: &str = r#"{"origin":{"boot":"5b57965d-2ff4-4dae-baa2-6459282616cb","namespace":4026532446,"cookie":3,"processes":4026531836},
"index":2,"queues":[{"handle":"1:","kind":"pfifo","options":[50,0,0,0],"ours":[50,9]},
{"handle":"10:","kind":"tbf","options":[40,0,1,0,0,1,0,0,0,0,0,0,64,31,0,0,0,0,0,0,0,0,0,0,0,0,0,0,40,35,0,0,9,61,0,0,0,0,0,0],"ours":[1,2]}]}"#;

/// Decodes options of each kind of queue. Verifies that either the options are rejected, or their limit can be changed
/// without changing other options.
///
/// # Panics
/// When the property above is violated.
pub fn options(bytes: &[u8]) {
    for kind in KINDS {
        let mut queue = Queue::default();
        options_of(kind, bytes, &mut queue);
        let _ = (spec_of(bytes), burst_of(bytes));
        let class = Found {
            handle: Handle::ROOT,
            parent: Handle::ROOT,
            queue: Queue {
                kind: (*kind).to_owned(),
                ..queue
            },
            options: bytes.to_vec(),
        };
        let _ = share(&class);
        let found = limit_of(kind, bytes);
        assert!(
            found.is_none() || same_but_limit(kind, bytes, bytes),
            "{kind}: {bytes:?}"
        );
        for limit in [0, 1, 13_626, u32::MAX] {
            let new = with_limit(kind, bytes, limit);
            assert_eq!(new.is_some(), found.is_some(), "{kind}: {bytes:?}");
            let Some(new) = new else { continue };
            assert_eq!(limit_of(kind, &new), Some(limit), "{kind}: {bytes:?}");
            let again = with_limit(kind, &new, 7);
            assert_eq!(again, with_limit(kind, bytes, 7), "{kind}: {bytes:?}");
        }
    }
}

/// Makes attributes of a tbf or an htb class. Their lengths are correct or slightly wrong, and their contents are
/// arbitrary.
#[must_use]
pub fn attributes(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(bytes);
    let mut options = Vec::new();
    for _ in 0..=choices.below(5) {
        let length = *choices.of(&[36_usize, 8, 4, 35, 37, 0, 12, 44, 88]);
        let stated = (length + 4).wrapping_add_signed(*choices.of(&[0, 0, 0, 0, 1, -1, -4, 1000])) as u16;
        options.extend(stated.to_ne_bytes());
        options.extend((*choices.of(&[1_u16, 4, 5, 6, 7, 2, 0x8001])).to_ne_bytes());
        let content = (0..length).map(|_| *choices.of(&[0_u8, 0, 1, 8, 255]));
        options.extend(content.collect::<Vec<_>>());
        options.resize(options.len().next_multiple_of(4), 0);
    }
    options.truncate(options.len() - choices.below(4));
    options
}

/// Decodes bytes as an undo file. Either the bytes are rejected, or re-encoding preserves the file, and the file can be
/// printed.
///
/// # Panics
/// When the property above is violated.
pub fn undo(bytes: &[u8]) {
    let Ok(undo) = serde_json::from_slice::<SavedState>(bytes) else {
        return;
    };
    let text = serde_json::to_vec(&undo).expect("a decoded file can be encoded");
    assert_eq!(serde_json::from_slice::<SavedState>(&text).ok(), Some(undo.clone()));
    for queue in undo.queues() {
        assert!(!queue.text().is_empty());
        options(&queue.options);
    }
}

/// Makes an undo file with damaged bytes.
#[must_use]
pub fn damaged_undo(bytes: &[u8]) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "0",
        "-1",
        "256",
        "4294967296",
        "1e400",
        "null",
        "\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"1:\"",
        "\"x\"",
        "\"tbf\"",
        "\u{0}",
    ];
    let mut choices = Choices::new(&bytes[..bytes.len().min(12)]);
    let mut text = FILE.as_bytes().to_vec();
    while choices.are_left() {
        let at = choices.below(text.len());
        let piece = choices.of::<&str>(PIECES).bytes();
        match choices.below(3) {
            0 => drop(text.splice(at..=at, piece)),
            1 => drop(text.splice(at..at, piece)),
            _ => text[at] = b'0' + choices.below(10) as u8,
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_is_damaged_is_one() {
        let undo: SavedState = serde_json::from_str(FILE).unwrap();
        let texts: Vec<String> = undo
            .queues()
            .iter()
            .map(levelflow_autobuf::restore::SavedLimit::text)
            .collect();
        assert_eq!(texts, ["50 packets", "9 kB"]);
    }
}
