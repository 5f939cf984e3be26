//! Comparison of the encoded shim with the diagram in `docs/reference/wire-format.md`.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use levelflow_laws::Kind;
use levelflow_wire::shim::{MAGIC, SHIM_BYTES, Shim};

const PAGE: &str = include_str!("../../../docs/reference/wire-format.md");

/// Name of a header field, and its encoded bytes.
type Field = (&'static str, Vec<u8>);

struct Row {
    offset: usize,
    bytes: usize,
    field: &'static str,
}

/// Returns the first table below the heading that begins with `title`.
fn table(title: &str) -> Vec<Row> {
    let split = PAGE.split_once(&format!("\n## {title}"));
    let (_, below) = split.unwrap_or_else(|| panic!("no section {title}"));
    let rows = below.lines().skip_while(|line| !line.starts_with("| offset"));
    let read = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [offset, bytes, field, _, _, _] = cells[..] else {
            panic!("{line}: not six cells")
        };
        Row {
            offset: offset.parse().unwrap(),
            bytes: bytes.parse().unwrap(),
            field,
        }
    };
    rows.skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(read)
        .collect()
}

fn word(value: u32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// Verifies that the rows of a table are contiguous and cover the header. Each field must have the offset of its row.
fn assert_layout(title: &str, wire: &[u8], fields: &[Field]) {
    let rows = table(title);
    let mut at = 0;
    for row in &rows {
        assert_eq!(row.offset, at, "{title}, {}", row.field);
        let own = fields.iter().find(|(name, _)| *name == row.field);
        let (_, bytes) = own.unwrap_or_else(|| panic!("{title} has no field {}", row.field));
        at += row.bytes;
        assert_eq!(&wire[row.offset..at], bytes, "{title}, {}", row.field);
    }
    assert_eq!((at, rows.len()), (wire.len(), fields.len()), "{title}");
}

#[test]
fn the_shim_matches_its_page() {
    let shim = Shim {
        kind: Kind::Ack,
        marked: true,
        more: true,
        unacknowledged: true,
        signalling: 9,
        header: 0,
        flow: 0x0102_0304,
        number: 0x0506_0708,
        time: 0x1112_1314_1516_1718,
    };
    let mut wire = [0; SHIM_BYTES];
    shim.encode(&mut wire);
    let fields = [
        ("magic", MAGIC[..3].to_vec()),
        ("version", vec![1]),
        ("kind", vec![3]),
        ("flags", vec![0x83]),
        ("signalling", vec![9]),
        ("header", vec![0]),
        ("flow", word(shim.flow)),
        ("number", word(shim.number)),
        ("time", shim.time.to_be_bytes().to_vec()),
    ];
    assert_layout("Shim", &wire, &fields);
    for (at, bad) in [(0, b'l'), (2, 0), (3, 0), (3, 2), (4, 4), (7, 1)] {
        let mut wire = wire;
        wire[at] = bad;
        assert!(Shim::decode(&wire).is_err(), "byte {at}");
    }
    wire[5] |= 0x7c;
    assert_eq!(Shim::decode(&wire).unwrap().0, shim, "reserved bits are ignored");
}
