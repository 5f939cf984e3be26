//! The tables of `docs/reference/wire-format.md` beside the code.

use levelflow_laws::emkc::EmkcHeader;
use levelflow_laws::emkc_avq::EmkcAvqHeader;
use levelflow_laws::kelly::KellyHeader;
use levelflow_laws::maxnet::MaxNetHeader;
use levelflow_laws::rcp::RcpHeader;
use levelflow_laws::xcp::XcpHeader;
use levelflow_laws::{Header, Kind, LAWS, jetmax};
use levelflow_wire::shim::{LENGTH, MAGIC, Shim};

const PAGE: &str = include_str!("../../../docs/reference/wire-format.md");

/// A field of a header and the bytes that stand for it.
type Field = (&'static str, Vec<u8>);

struct Row {
    offset: usize,
    bytes: usize,
    field: &'static str,
    refused: &'static str,
}

/// The first table below the title that begins like this.
fn table(title: &str) -> Vec<Row> {
    let split = PAGE.split_once(&format!("\n## {title}"));
    let (_, below) = split.unwrap_or_else(|| panic!("no section {title}"));
    let rows = below.lines().skip_while(|line| !line.starts_with("| offset"));
    let read = |line: &'static str| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [offset, bytes, field, _, _, refused] = cells[..] else {
            panic!("{line}: not six cells")
        };
        Row {
            offset: offset.parse().unwrap(),
            bytes: bytes.parse().unwrap(),
            field,
            refused,
        }
    };
    rows.skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(read)
        .collect()
}

fn encoded<H: Header>(header: &H) -> Vec<u8> {
    let mut wire = vec![0; H::WIRE];
    header.encode(&mut wire);
    wire
}

fn word(value: u32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

fn float(value: f32) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

/// Rows follow on each other, cover the header, and each field is where its row says.
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

/// Of these floats, those are refused that the row says.
fn assert_refusals<H: Header>(title: &str, header: &H, floats: &[&str]) {
    for row in table(title).iter().filter(|row| floats.contains(&row.field)) {
        let says = |words: &str| row.refused.split(", ").any(|part| part == words);
        let most = if says("above 1") {
            1.0
        } else if says("above 100") {
            100.0
        } else {
            f32::INFINITY
        };
        for value in [f32::NAN, f32::NEG_INFINITY, -1.0, 0.0, 0.5, 1.5, 100.5, f32::INFINITY] {
            let mut wire = encoded(header);
            wire[row.offset..row.offset + 4].copy_from_slice(&value.to_be_bytes());
            let refused = value.is_nan() && says("NaN")
                || value.is_infinite() && says("infinite")
                || value == f32::NEG_INFINITY && says("minus infinity")
                || value < 0.0 && (says("below 0") || says("0 and below"))
                || value == 0.0 && says("0 and below")
                || value > most;
            assert_eq!(H::decode(&wire).is_err(), refused, "{title}, {}: {value}", row.field);
        }
    }
}

const EMKC: EmkcHeader = EmkcHeader {
    id: 0x0102_0304,
    seq: 0x0506_0708,
    price: -0.5,
    delta: 0.25,
    usr: 0x090a_0b0c,
};

fn emkc() -> Vec<Field> {
    vec![
        ("id", word(EMKC.id)),
        ("seq", word(EMKC.seq)),
        ("price", float(EMKC.price)),
        ("delta", float(EMKC.delta)),
        ("usr", word(EMKC.usr)),
    ]
}

#[test]
fn the_shim_is_laid_out_as_the_page_says() {
    let shim = Shim {
        kind: Kind::Ack,
        marked: true,
        more: true,
        law: 9,
        header: 0,
        flow: 0x0102_0304,
        number: 0x0506_0708,
        time: 0x1112_1314_1516_1718,
    };
    let mut wire = [0; LENGTH];
    shim.encode(&mut wire);
    let fields = [
        ("magic", MAGIC[..3].to_vec()),
        ("version", vec![1]),
        ("kind", vec![3]),
        ("flags", vec![0x81]),
        ("law", vec![9]),
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
    wire[5] |= 0x7e;
    assert_eq!(Shim::decode(&wire).unwrap().0, shim, "reserved bits are ignored");
}

#[test]
fn titles_have_numbers_and_lengths_of_laws() {
    for law in LAWS.iter().filter(|law| law.number > 0) {
        let ending = format!(": law {}, {} bytes", law.number, law.header_bytes);
        let titles = PAGE.lines().filter(|l| l.starts_with("## ") && l.ends_with(&ending));
        let titles: Vec<_> = titles.map(|l| l.to_lowercase().replace('-', "_")).collect();
        assert_eq!(titles.len(), 1, "{}{ending}", law.name);
        assert!(titles[0].starts_with(&format!("## {}:", law.name)), "{titles:?}");
    }
}

#[test]
fn jetmax_is_laid_out_as_the_page_says() {
    let header = jetmax::Header {
        source_port: 0x0102,
        destination_port: 0x0304,
        flags: 0xc9,
        bottleneck: 5,
        hop: 6,
        suggested: 7,
        seq: 0x0809_0a0b,
        price: -2.0,
        share: 1.0,
        virtual_size: 0.5,
        gap: 0.25,
    };
    let fields = [
        ("source_port", vec![1, 2]),
        ("destination_port", vec![3, 4]),
        ("flags", vec![0xc9]),
        ("bottleneck", vec![5]),
        ("hop", vec![6]),
        ("suggested", vec![7]),
        ("seq", word(header.seq)),
        ("price", float(-2.0)),
        ("share", float(1.0)),
        ("virtual_size", float(0.5)),
        ("gap", float(0.25)),
    ];
    assert_layout("JetMax", &encoded(&header), &fields);
    assert_refusals("JetMax", &header, &["price", "share", "virtual_size", "gap"]);
}

#[test]
fn emkc_and_emkc_avq_are_laid_out_as_the_page_says() {
    assert_layout("EMKC:", &encoded(&EMKC), &emkc());
    assert_refusals("EMKC:", &EMKC, &["price", "delta"]);
    let header = EmkcAvqHeader { emkc: EMKC, rtt: 0.125 };
    let fields = [emkc(), vec![("rtt", float(0.125))]].concat();
    assert_layout("EMKC-AVQ", &encoded(&header), &fields);
    assert_refusals("EMKC-AVQ", &header, &["price", "delta", "rtt"]);
}

#[test]
fn rcp_is_laid_out_as_the_page_says() {
    let header = RcpHeader { rate: 2e6, rtt: 0.125 };
    assert_layout("RCP", &encoded(&header), &[("rate", float(2e6)), ("rtt", float(0.125))]);
    assert_refusals("RCP", &header, &["rate", "rtt"]);
}

#[test]
fn maxnet_is_laid_out_as_the_page_says() {
    let header = MaxNetHeader {
        echo: 0x01_0203,
        price: 0x84_0506,
    };
    let fields = [
        ("kind", vec![42]),
        ("length", vec![8]),
        ("echo", vec![1, 2, 3]),
        ("price", vec![0x84, 5, 6]),
    ];
    assert_layout("MaxNet", &encoded(&header), &fields);
    for at in [0, 1] {
        let mut wire = encoded(&header);
        wire[at] ^= 1;
        assert!(MaxNetHeader::decode(&wire).is_err());
    }
}

#[test]
fn xcp_is_laid_out_as_the_page_says() {
    let header = XcpHeader {
        gap: 0.5,
        rtt: 0.25,
        reverse_feedback: 3.0,
        delta_throughput: -4.0,
    };
    let fields = [
        ("protocol", vec![0]),
        ("length", vec![20]),
        ("format", vec![0x33]),
        ("unused", vec![0]),
        ("gap", float(0.5)),
        ("rtt", float(0.25)),
        ("reverse_feedback", float(3.0)),
        ("delta_throughput", float(-4.0)),
    ];
    assert_layout("XCP", &encoded(&header), &fields);
    assert_refusals("XCP", &header, &["reverse_feedback", "delta_throughput"]);
    for (gap, rtt, fine) in [
        (0.0, 0.0, true),
        (0.0, 0.1, false),
        (0.1, 0.0, false),
        (100.0, 100.0, true),
        (101.0, 1.0, false),
    ] {
        assert_eq!(
            XcpHeader::decode(&encoded(&XcpHeader { gap, rtt, ..header })).is_ok(),
            fine
        );
    }
}

#[test]
fn kelly_is_laid_out_as_the_page_says() {
    let header = KellyHeader {
        price: 1.5,
        seq: 0x0102_0304,
    };
    assert_layout(
        "Kelly",
        &encoded(&header),
        &[("price", float(1.5)), ("seq", word(header.seq))],
    );
    assert_refusals("Kelly", &header, &["price"]);
}
