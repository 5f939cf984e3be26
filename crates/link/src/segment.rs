//! Segmentation of the kernel's super-packets into frames, as on a real link. A super-packet is a large packet that the
//! kernel leaves to the device for segmentation.
//!
//! The kernel prepends a `virtio_net_hdr` to each frame. This header marks super-packets and incomplete checksums. This
//! process sends frames with such a header, so the kernel completes their checksums.

/// Length of the `virtio_net_hdr`, bytes.
pub const PREFIX: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const TCP4: u8 = 1;
const TCP6: u8 = 4;
const UDP: u8 = 5;
/// Flag in the segmentation type of the `virtio_net_hdr`: the TCP header uses ECN.
const ECN: u8 = 0x80;

const FIN_PSH: u8 = 0x01 | 0x08;
const CWR: u8 = 0x80;

/// Calls `each` with every frame of a super-packet, including its `virtio_net_hdr`. If the kernel's header is
/// inconsistent or its type is unknown, returns false and does not call `each`.
pub fn split(frame: &[u8], scratch: &mut Vec<u8>, mut each: impl FnMut(&[u8])) -> bool {
    if frame.len() < PREFIX {
        return false;
    }
    let kind = frame[1] & !ECN;
    if kind == 0 {
        each(frame);
        return true;
    }
    let Some(parts) = Parts::of(frame, kind) else {
        return false;
    };
    let chunks = parts.payload.chunks(parts.chunk);
    let last = chunks.len().saturating_sub(1);
    for (number, chunk) in chunks.enumerate() {
        scratch.clear();
        scratch.extend_from_slice(parts.headers);
        scratch.extend_from_slice(chunk);
        parts.correct(scratch, number, number == last);
        each(scratch);
    }
    true
}

/// A super-packet split into headers and payload. Offsets include the `virtio_net_hdr`.
struct Parts<'a> {
    headers: &'a [u8],
    payload: &'a [u8],
    chunk: usize,
    ip: usize,
    transport: usize,
    tcp: bool,
}

impl<'a> Parts<'a> {
    fn of(frame: &'a [u8], kind: u8) -> Option<Self> {
        let word = |at: usize| usize::from(u16::from_le_bytes([frame[at], frame[at + 1]]));
        let (chunk, transport) = (word(4), PREFIX + word(6));
        let ip = PREFIX + 14;
        let tcp = kind != UDP;
        if chunk == 0 || !matches!(kind, TCP4 | TCP6 | UDP) || frame[0] & NEEDS_CHECKSUM == 0 {
            return None;
        }
        let first = frame.get(ip)?;
        let least = match first >> 4 {
            4 if kind != TCP6 && first & 15 >= 5 => ip + usize::from(first & 15) * 4,
            6 if kind != TCP4 => ip + 40,
            _ => return None,
        };
        let length = if tcp {
            usize::from(frame.get(transport + 12)? >> 4) * 4
        } else {
            8
        };
        if transport < least || length < if tcp { 20 } else { 8 } || transport + length > frame.len() {
            return None;
        }
        let (headers, payload) = frame.split_at(transport + length);
        Some(Self {
            headers,
            payload,
            chunk,
            ip,
            transport,
            tcp,
        })
    }

    /// Adjusts the copied headers for segment `number`.
    fn correct(&self, packet: &mut [u8], number: usize, last: bool) {
        packet[1] = 0; // not a super-packet, so the kernel ignores the fields for segment size and header length
        let version = packet[self.ip] >> 4;
        let length = packet.len() - self.ip;
        if version == 4 {
            put(packet, self.ip + 2, length as u16);
            let id = get(packet, self.ip + 4).wrapping_add(number as u16);
            put(packet, self.ip + 4, id);
            put(packet, self.ip + 10, 0);
            let sum = !fold(sum(&packet[self.ip..self.ip + usize::from(packet[self.ip] & 15) * 4]));
            put(packet, self.ip + 10, sum);
        } else {
            put(packet, self.ip + 4, (length - 40) as u16);
        }
        let at = if self.tcp {
            self.correct_tcp(packet, number, last);
            self.transport + 16
        } else {
            put(packet, self.transport + 4, (packet.len() - self.transport) as u16);
            self.transport + 6
        };
        // Partial checksum of the pseudo-header (addresses, protocol and length). The kernel completes it.
        let addresses = if version == 4 {
            self.ip + 12..self.ip + 20
        } else {
            self.ip + 8..self.ip + 40
        };
        let protocol = if self.tcp { 6 } else { 17 };
        let pseudo = sum(&packet[addresses]) + protocol + (packet.len() - self.transport) as u64;
        put(packet, at, fold(pseudo));
    }

    fn correct_tcp(&self, packet: &mut [u8], number: usize, last: bool) {
        let (high, low) = (get(packet, self.transport + 4), get(packet, self.transport + 6));
        let first = u32::from(high) << 16 | u32::from(low);
        let sequence = first.wrapping_add((number * self.chunk) as u32);
        packet[self.transport + 4..self.transport + 8].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut packet[self.transport + 13];
        if !last {
            *flags &= !FIN_PSH;
        }
        if number > 0 {
            *flags &= !CWR;
        }
    }
}

fn get(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Returns the sum of 16-bit words for an Internet checksum.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes
        .chunks(2)
        .map(|word| u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]));
    words.map(u64::from).sum()
}

/// Folds a sum to 16 bits for an Internet checksum.
#[must_use]
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a super-packet: `virtio_net_hdr`, Ethernet, IP and transport headers, then `payload` bytes. The bytes of
    /// the payload count up.
    fn giant(v6: bool, tcp: bool, payload: usize, chunk: u16) -> Vec<u8> {
        let ip_length = if v6 { 40 } else { 20 };
        let transport = if tcp { 20 } else { 8 };
        let mut f = vec![0u8; PREFIX + 14 + ip_length + transport];
        let kind = match (tcp, v6) {
            (false, _) => UDP,
            (true, false) => TCP4,
            (true, true) => TCP6 | ECN,
        };
        f[..2].copy_from_slice(&[NEEDS_CHECKSUM, kind]);
        f[4..6].copy_from_slice(&chunk.to_le_bytes());
        f[6..8].copy_from_slice(&((14 + ip_length) as u16).to_le_bytes());
        f[8..10].copy_from_slice(&(if tcp { 16u16 } else { 6 }).to_le_bytes());
        let ip = PREFIX + 14;
        f[ip] = if v6 { 0x60 } else { 0x45 };
        put(&mut f, ip + 4, 0xfffe); // the IPv4 identification will wrap
        f[ip + if v6 { 6 } else { 9 }] = if tcp { 6 } else { 17 };
        (ip + if v6 { 8 } else { 12 }..ip + ip_length).for_each(|i| f[i] = i as u8);
        let t = ip + ip_length;
        if tcp {
            f[t + 4..t + 8].copy_from_slice(&0xffff_fff0_u32.to_be_bytes());
            f[t + 12..t + 14].copy_from_slice(&[0x50, FIN_PSH | CWR | 0x10]);
        }
        f.extend((0..payload).map(|n| n as u8));
        f
    }

    /// Completes the checksum as the kernel does before a packet leaves the machine.
    fn complete(packet: &mut [u8]) {
        let start = PREFIX + usize::from(u16::from_le_bytes([packet[6], packet[7]]));
        let offset = usize::from(u16::from_le_bytes([packet[8], packet[9]]));
        let sum = !fold(sum(&packet[start..]));
        put(packet, start + offset, sum);
    }

    fn check(packet: &mut [u8], v6: bool, tcp: bool) {
        complete(packet);
        let ip = PREFIX + 14;
        let t = ip + if v6 { 40 } else { 20 };
        let length = packet.len() - ip;
        if v6 {
            assert_eq!(usize::from(get(packet, ip + 4)), length - 40);
        } else {
            assert_eq!(usize::from(get(packet, ip + 2)), length);
            assert_eq!(fold(sum(&packet[ip..t])), 0xffff, "checksum of IPv4");
        }
        let addresses = &packet[if v6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 }];
        let protocol = if tcp { 6 } else { 17 };
        let all = sum(addresses) + protocol + (packet.len() - t) as u64 + sum(&packet[t..]);
        assert_eq!(fold(all), 0xffff, "checksum of the transport");
    }

    #[test]
    fn pieces_are_whole_packets_with_right_checksums() {
        for (v6, tcp) in [(false, false), (false, true), (true, false), (true, true)] {
            let frame = giant(v6, tcp, 2500, 1000);
            let (mut pieces, mut scratch) = (Vec::new(), Vec::new());
            assert!(split(&frame, &mut scratch, |piece| pieces.push(piece.to_vec())));
            assert_eq!(pieces.len(), 3);
            let t = PREFIX + 14 + if v6 { 40 } else { 20 };
            let data = t + if tcp { 20 } else { 8 };
            for (n, piece) in pieces.iter_mut().enumerate() {
                check(piece, v6, tcp);
                let expected: Vec<u8> = (n * 1000..(n * 1000 + 1000).min(2500)).map(|n| n as u8).collect();
                assert_eq!(piece[data..], expected);
                if tcp {
                    let sequence = u32::from_be_bytes(piece[t + 4..t + 8].try_into().unwrap());
                    assert_eq!(sequence, 0xffff_fff0_u32.wrapping_add(n as u32 * 1000));
                    assert_eq!(piece[t + 13] & CWR != 0, n == 0);
                    assert_eq!(piece[t + 13] & FIN_PSH != 0, n == 2);
                } else {
                    assert_eq!(usize::from(get(piece, t + 4)), piece.len() - t);
                }
                if !v6 {
                    assert_eq!(get(piece, PREFIX + 14 + 4), 0xfffe_u16.wrapping_add(n as u16));
                }
            }
        }
    }

    #[test]
    fn an_ordinary_frame_stays_as_it_is() {
        let mut frame = giant(false, true, 100, 1000);
        frame[1] = 0;
        let mut seen = 0;
        assert!(split(&frame, &mut Vec::new(), |piece| {
            assert_eq!(piece, frame);
            seen += 1;
        }));
        assert_eq!(seen, 1);
    }

    proptest! {
        /// Invalid headers never stop the link. Their frames are rejected or truncated.
        #[test]
        fn arbitrary_bytes_do_not_stop_it(
            v6: bool, tcp: bool, payload in 0usize..3000, chunk: u16,
            lies in prop::collection::vec((0usize..90, any::<u8>()), 0..8), cut in 0usize..3000,
        ) {
            let mut frame = giant(v6, tcp, payload, chunk);
            for (at, byte) in lies {
                let at = at % frame.len();
                frame[at] = byte;
            }
            frame.truncate(cut);
            split(&frame, &mut Vec::new(), |_| ());
        }
    }
}
