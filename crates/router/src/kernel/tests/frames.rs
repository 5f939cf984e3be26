//! Frames for the tests: valid, segmented, malformed and foreign frames.

use super::*;

pub(super) const ETHERNET: usize = 14;
/// Shortest packet on which the kernel executes programs. Such a packet has a complete IP header.
pub(super) const SHORTEST: usize = ETHERNET + 40;

pub(super) fn be16(bytes: &[u8], at: usize) -> usize {
    usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1])
}

/// Returns the offset of the UDP header and the range of the payload. Returns `None` for frames that the program does
/// not process.
pub(super) fn datagram(frame: &[u8]) -> Option<(usize, std::ops::Range<usize>)> {
    let ip = frame.get(ETHERNET..)?;
    let (udp, end) = match (be16(frame, 12), ip.first()? >> 4) {
        (0x0800, 4) if ip.len() >= 20 && ip[0] >= 0x45 => {
            let whole = be16(ip, 6) & 0x3fff == 0;
            (whole && ip[9] == 17).then(|| (usize::from(ip[0] & 15) * 4, be16(ip, 2)))?
        }
        (0x86dd, 6) if ip.len() >= 40 => match ip[6] {
            17 => (40, 40 + be16(ip, 4)),
            0 if *ip.get(40)? == 17 => (48 + 8 * usize::from(*ip.get(41)?), 40 + be16(ip, 4)),
            _ => return None,
        },
        _ => return None,
    };
    let length = ip.get(udp..udp + 8).map(|header| be16(header, 4))?;
    let fits = length >= 8 + SHIM_BYTES && udp + length <= end && end <= ip.len();
    fits.then_some((ETHERNET + udp, ETHERNET + udp + 8..ETHERNET + udp + length))
}

/// Returns the ones' complement sum of a datagram and its pseudo header, in 16-bit words. The sum is 0xffff if the
/// checksum is valid.
pub(super) fn sum(frame: &[u8], udp: usize, end: usize) -> u32 {
    let addresses = if frame[12] == 8 { 26..34 } else { 22..54 };
    let words = |bytes: &[u8]| -> u64 {
        bytes
            .chunks(2)
            .map(|c| u64::from(c[0]) << 8 | u64::from(*c.get(1).unwrap_or(&0)))
            .sum()
    };
    let mut sum = words(&frame[addresses]) + words(&frame[udp..end]) + 17 + (end - udp) as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u32
}

#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) bytes: Vec<u8>,
    /// Payload size of the segments that the device will create; 0 for no segmentation.
    pub(super) segment: usize,
}

/// Builds a frame that contains a datagram, with or without a checksum.
pub(super) fn frame(six: bool, extra: usize, checksum: bool, payload: &[u8]) -> Vec<u8> {
    let udp_length = 8 + payload.len();
    let mut bytes = vec![2; 12];
    if six {
        bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        let hop = if extra > 0 { 8 } else { 0 };
        bytes.extend(((udp_length + hop) as u16).to_be_bytes());
        bytes.extend([if hop > 0 { 0 } else { 17 }, 64]);
        bytes.extend((0..32).map(|i| i * 7 + 1));
        bytes.extend(&[17, 0, 1, 4, 0, 0, 0, 0][..hop]);
    } else {
        let header = 20 + 4 * extra;
        bytes.extend([0x08, 0, 0x45 + extra as u8, 0]);
        bytes.extend(((header + udp_length) as u16).to_be_bytes());
        bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 10, 9, 8, 7, 10, 3, 2, 1]);
        bytes.extend(vec![1; 4 * extra]);
    }
    let udp = bytes.len();
    bytes.extend([0x12, 0x34, 0x56, 0x78]);
    bytes.extend((udp_length as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    if checksum || six {
        let sum = !sum(&bytes, udp, bytes.len()) as u16;
        let sum = if sum == 0 { 0xffff } else { sum };
        bytes[udp + 6..udp + 8].copy_from_slice(&sum.to_be_bytes());
    }
    bytes
}

/// Floats of a header, mostly near the minimum or maximum of their range.
pub(super) fn floats() -> impl Strategy<Value = u32> {
    let edges = [
        0.0,
        -0.0,
        f32::MIN,
        f32::MAX,
        f32::INFINITY,
        f32::NAN,
        1e-45,
        1e-5,
        -1e-5,
        1.0,
        100.0,
        1e6,
        -1e6,
    ];
    prop_oneof![
        2 => prop::sample::select(edges.to_vec()).prop_map(f32::to_bits),
        4 => (0.0..1.0f32).prop_map(f32::to_bits),
        2 => (500.0..2000.0f32).prop_map(f32::to_bits),
        1 => (1e3..1e8f32).prop_map(f32::to_bits),
        1 => any::<u32>(),
    ]
}

/// Returns a header of the law with plausible values, computed from four numbers between 0 and 1.
pub(super) fn usual(law: u8, [a, b, c, d]: [f32; 4]) -> [f32; 8] {
    match law {
        1 => [0.0, 0.0, 0.0, a - b, 1e7 * c, 1500.0 * d, 0.1 * b, 0.0],
        2 => [a, b, 1.0 - 8.0 * c, d, a, 0.0, 0.0, 0.0],
        3 => [2e7 * a, b, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        5 => [
            0.0,
            0.01 * a,
            b,
            0.0,
            if c > 0.5 { f32::INFINITY } else { 1e4 * (d - 0.5) },
            0.0,
            0.0,
            0.0,
        ],
        8 => [0.0, 1e7 * a, 1e7 * b, 2e7 * c, 2e7 * d, 1e7 * c, 0.01 * d, 0.0],
        _ => [a; 8],
    }
}

/// Payloads of a shim, a header and random bytes. Most shims and headers are valid.
pub(super) fn payloads(signalling: u8, header_bytes: u8) -> impl Strategy<Value = Vec<u8>> {
    let parts = (
        prop::collection::vec(floats(), 8),
        prop::array::uniform4(0.0..1.0f32),
        prop::array::uniform4(0..4u8),
        prop::collection::vec(any::<u8>(), 16),
        0..160_usize,
        0..40_u8,
    );
    parts.prop_map(move |(mut words, tame, small, noise, rest, oddity)| {
        if small[2] > 0 {
            words = usual(signalling, tame).map(f32::to_bits).to_vec();
        }
        let mut bytes = vec![b'L', b'V', b'F', 1, small[0] & 1, 0, signalling, header_bytes];
        bytes.extend(noise);
        let at = bytes.len();
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.truncate(at + usize::from(header_bytes));
        match signalling {
            1 => bytes[at + 4..at + 8].copy_from_slice(&[small[0] << 6 | small[1], small[1], small[2], small[3]]),
            4 => bytes[at..at + 2].copy_from_slice(&[42, 8]),
            5 => bytes[at..at + 4].copy_from_slice(&[0, 20, 0x33, 0]),
            8 => {
                bytes[at..at + 4].copy_from_slice(&[small[0] << 6, small[1], small[2], small[3]]);
                if small[2] > 0 {
                    let queued = [0, 1, 125_000, 0x00ff_fffe_u32][usize::from(small[1])];
                    bytes[at + 28..at + 31].copy_from_slice(&queued.to_be_bytes()[1..]);
                }
            }
            _ => {}
        }
        bytes.extend(vec![oddity; rest]);
        match oddity {
            0..=3 => bytes[4] = 3,
            4 => bytes[4] = 4,
            5 => bytes[3] = 2,
            6 => bytes[6] ^= 1,
            7 => bytes[7] += 1,
            8 => bytes[7] = 255,
            9 => bytes.truncate(at + 3),
            10 if signalling == 1 => bytes[at + 6] = 255,
            10 if signalling == 8 => bytes[at + 1] = 255,
            11 => bytes[at + 1] ^= 0x80,
            _ => {}
        }
        bytes
    })
}

pub(super) fn frames(signalling: u8, header_bytes: u8) -> impl Strategy<Value = Frame> {
    let one = (payloads(signalling, header_bytes), any::<(bool, bool)>(), 0..12_usize).prop_map(
        |(payload, (six, sum), extra)| Frame {
            bytes: frame(six, extra.saturating_sub(8), sum, &payload),
            segment: 0,
        },
    );
    let many = (
        prop::collection::vec(payloads(signalling, header_bytes), 2..9),
        any::<bool>(),
        1..190_usize,
    );
    let many = many.prop_map(|(payloads, six, last)| {
        let mut payload = Vec::new();
        for mut part in payloads {
            part.resize(190, 9);
            payload.extend(part);
        }
        payload.truncate(payload.len() - 190 + last);
        Frame {
            bytes: frame(six, 0, true, &payload),
            segment: 190,
        }
    });
    let broken = (
        payloads(signalling, header_bytes),
        any::<bool>(),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u8>(),
    );
    let broken = broken.prop_map(|(payload, six, at, cut, value)| {
        let mut bytes = frame(six, 0, true, &payload);
        let at = at.index(50);
        bytes[at] = value;
        if value < 100 {
            bytes.truncate(SHORTEST + cut.index(bytes.len() - SHORTEST + 1));
        }
        Frame { bytes, segment: 0 }
    });
    let noise = prop::collection::vec(any::<u8>(), SHORTEST..200).prop_map(|bytes| Frame { bytes, segment: 0 });
    prop_oneof![8 => one, 2 => many, 3 => broken, 1 => noise]
}
