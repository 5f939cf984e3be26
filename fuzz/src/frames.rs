//! Ethernet frames on emulated links and in testbeds. Each frame begins with a `virtio_net_hdr`.

use levelflow_link::class::{class, mark};
use levelflow_link::segment::{PREFIX, fold, split, sum};
use levelflow_path::scheduler::Ecn;
use levelflow_testbed::frame;

use crate::bytes::Choices;

const IP: usize = PREFIX + 14;

/// Reads, marks and splits a frame. Each segment of a super-packet must have a part of the payload, in order, and a
/// valid checksum of its IPv4 header. A mark changes no other field.
///
/// # Panics
/// When the property above is violated.
pub fn any(bytes: &[u8]) {
    segments(bytes);
    let (key, mut marked) = (class(bytes), bytes.to_vec());
    if mark(&mut marked) {
        let after = class(&marked);
        assert_eq!((after.ecn, after.flow), (Ecn::Marked, key.flow), "{bytes:?}");
        assert!(matches!(key.ecn, Ecn::Scalable | Ecn::Classic), "{bytes:?}");
        assert!(!mark(&mut marked), "{bytes:?}");
        check_ipv4(&marked);
    } else {
        assert_eq!(marked, bytes);
    }
    let entry = frame::entry(bytes);
    assert!(
        entry.is_none_or(|entry| frame::flow_class(bytes) == Some(2 * entry)),
        "{bytes:?}"
    );
    if let Some(payload) = frame::payload(bytes) {
        let mut fixed = bytes.to_vec();
        frame::fix_checksum(&mut fixed, payload);
        assert_eq!(fixed[payload..], bytes[payload..]);
        assert_eq!(fixed[..payload - 2], bytes[..payload - 2]);
    }
}

fn segments(bytes: &[u8]) {
    let mut segments: Vec<Vec<u8>> = Vec::new();
    if !split(bytes, &mut Vec::new(), |segment| segments.push(segment.to_vec())) {
        return assert!(segments.is_empty(), "{bytes:?}");
    }
    if segments[..] == [bytes] {
        return;
    }
    let word = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let (size, transport) = (word(4), PREFIX + word(6));
    let is_udp = bytes[1] & 0x7f == 5;
    let headers = transport
        + if is_udp {
            8
        } else {
            usize::from(bytes[transport + 12] >> 4) * 4
        };
    let mut payload: Vec<u8> = Vec::new();
    for segment in &segments {
        assert!(segment.len() <= headers + size && segment[1] == 0, "{bytes:?}");
        payload.extend(&segment[headers..]);
        check_ipv4(segment);
    }
    assert_eq!(payload, bytes[headers..]);
}

/// Checks the header checksum of an IPv4 packet.
fn check_ipv4(frame: &[u8]) {
    if frame[IP] >> 4 == 4 {
        let header = &frame[IP..IP + usize::from(frame[IP] & 15) * 4];
        assert_eq!(fold(sum(header)), 0xffff, "{frame:?}");
    }
}

/// Makes a frame of TCP or UDP with lengths and fields that are correct or slightly wrong.
#[must_use]
pub fn damaged(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(bytes);
    let (is_ipv6, is_udp) = (choices.below(2) == 1, choices.below(2) == 1);
    let options = *choices.of(&[0, 0, 4, 40]);
    let length = if is_ipv6 { 40 } else { 20 + options };
    let kind = *choices.of(&[0_u8, 5, if is_ipv6 { 4 } else { 1 }, 0x81, 3]);
    let mut frame = vec![*choices.of(&[1, 0, 3]), kind, 0, 0];
    frame.extend((*choices.of(&[100_u16, 1, 0, 1448, 65_535])).to_le_bytes());
    frame.extend(((14 + length) as u16 + *choices.of(&[0_u16, 0, 0, 1, 60])).to_le_bytes());
    frame.resize(PREFIX + 12, 0);
    let protocol = if is_udp { 17 } else { 6 };
    if is_ipv6 {
        frame.extend([0x86, 0xdd, 0x60, choices.below(4) as u8 * 16, 0, 0, 0, 0, protocol, 64]);
        frame.extend([0xfd; 32]);
    } else {
        let first = 0x45 + options as u8 / 4;
        frame.extend([
            8,
            0,
            first,
            choices.below(4) as u8,
            0,
            40,
            0,
            7,
            0,
            0,
            64,
            protocol,
            0,
            0,
        ]);
        frame.extend([10, 1, 0, 1, 10, 2, 0, choices.below(4) as u8]);
        frame.resize(frame.len() + options, 0);
    }
    let words = if is_udp { 2 } else { 5 };
    frame.extend((0..words * 4).map(|at| if at == 12 { 0x50 } else { at as u8 }));
    frame.resize(frame.len() + *choices.of(&[500, 0, 1, 99, 3000]), 0xab);
    while choices.are_left() {
        let at = choices.below(frame.len().min(120));
        match choices.below(8) {
            0 => frame.truncate(at.max(1)),
            _ => frame[at] = choices.below(256) as u8,
        }
    }
    frame
}
