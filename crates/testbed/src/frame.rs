//! Decoder of frames on a testbed's links. The functions of this module return the UDP payload and the flow entry of a
//! frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use levelflow_units::headers::{ETHERNET, IPV4, IPV6, UDP};

use super::plan::entry_at;
use levelflow_link::{PREFIX, segment};

const IP: usize = PREFIX + ETHERNET;
const PROTOCOL_UDP: u8 = 17;
/// Flag: the kernel has not filled in the checksum.
const NEEDS_CHECKSUM: u8 = 1;

/// Returns the offset of the UDP payload. Returns `None` for frames without UDP, and for packets with IP options. The
/// testbed does not send IP options.
#[must_use]
pub fn payload(frame: &[u8]) -> Option<usize> {
    let at = match (frame.get(IP - 2..IP)?, frame.get(IP)?) {
        ([8, 0], 0x45) if frame.get(IP + 9) == Some(&PROTOCOL_UDP) => IP + IPV4 + UDP,
        ([0x86, 0xdd], 0x60..=0x6f) if frame.get(IP + 6) == Some(&PROTOCOL_UDP) => IP + IPV6 + UDP,
        _ => return None,
    };
    (frame.len() > at).then_some(at)
}

/// Returns the index of a data packet's flow entry. The address of the receiver identifies the flow entry.
#[must_use]
pub fn entry(frame: &[u8]) -> Option<usize> {
    let [_, to] = addresses(frame)?;
    entry_at(to)
}

/// Returns the addresses of the IP packet in a frame: source, then destination.
fn addresses(frame: &[u8]) -> Option<[IpAddr; 2]> {
    Some(match frame.get(IP - 2..IP)? {
        [8, 0] => [
            Ipv4Addr::from(*frame.get(IP + 12..)?.first_chunk()?).into(),
            Ipv4Addr::from(*frame.get(IP + 16..)?.first_chunk()?).into(),
        ],
        [0x86, 0xdd] => [
            Ipv6Addr::from(*frame.get(IP + 8..)?.first_chunk()?).into(),
            Ipv6Addr::from(*frame.get(IP + 24..)?.first_chunk()?).into(),
        ],
        _ => return None,
    })
}

/// Returns the service class of a packet at a port with one queue per flow. Data of flow entry `n` has class `2n`, and
/// ACKs have class `2n + 1`. `None` if neither address belongs to a flow entry.
#[must_use]
pub fn flow_class(frame: &[u8]) -> Option<usize> {
    let ends = addresses(frame)?;
    let [from, to] = ends.map(entry_at);
    to.map(|entry| 2 * entry).or(from.map(|entry| 2 * entry + 1))
}

/// Updates the checksum after a change of the payload, which begins at `payload`. If the kernel will fill in the
/// checksum, the function changes nothing. Otherwise, it removes the checksum of an IPv4 packet. An IPv6 packet needs a
/// checksum, so the function computes it.
pub fn fix_checksum(frame: &mut [u8], payload: usize) {
    if frame[0] & NEEDS_CHECKSUM != 0 {
        return;
    }
    let (udp, sum_at) = (payload - UDP, payload - 2);
    frame[sum_at..payload].fill(0);
    if payload == IP + IPV6 + UDP {
        let length = usize::from(u16::from_be_bytes([frame[udp + 4], frame[udp + 5]]));
        let end = (udp + length).min(frame.len());
        let addresses = segment::sum(&frame[IP + 8..IP + 40]);
        let all = addresses + segment::sum(&frame[udp..end]) + length as u64 + u64::from(PROTOCOL_UDP);
        let sum = match !segment::fold(all) {
            0 => 0xffff, // 0 means no checksum
            sum => sum,
        };
        frame[sum_at..payload].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::address;
    use super::*;

    /// Builds a datagram to the receiver of a flow entry. Its checksum is wrong.
    fn datagram(ipv6: bool, entry: usize) -> Vec<u8> {
        let mut frame = vec![0; PREFIX + 12];
        let (from, to) = (address(ipv6, 1, entry), address(ipv6, 2, entry));
        match (from, to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                frame.extend([8, 0, 0x45, 0, 0, 33, 0, 0, 0, 0, 64, 17, 0, 0]);
                frame.extend(from.octets().into_iter().chain(to.octets()));
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 13, 17, 64]);
                frame.extend(from.octets().into_iter().chain(to.octets()));
            }
            _ => unreachable!(),
        }
        frame.extend([0, 9, 0, 9, 0, 13, 0xab, 0xcd]);
        frame.extend(b"hello");
        frame
    }

    #[test]
    fn payload_and_entry_are_found_in_either_family() {
        for ipv6 in [false, true] {
            let frame = datagram(ipv6, 777);
            let at = payload(&frame).unwrap();
            assert_eq!((&frame[at..], entry(&frame)), (&b"hello"[..], Some(777)));
            for cut in 0..at {
                assert_eq!(payload(&frame[..cut]), None);
                let _ = entry(&frame[..cut]);
            }
            let ack = super::super::plan::address(ipv6, 1, 777);
            assert_eq!(entry_at(ack), None);
        }
    }

    #[test]
    fn checksums_are_right_or_omitted_where_allowed() {
        let mut frame = datagram(true, 3);
        let at = payload(&frame).unwrap();
        fix_checksum(&mut frame, at);
        let pseudo = segment::sum(&frame[IP + 8..IP + 40]) + 13 + 17;
        assert_eq!(segment::fold(pseudo + segment::sum(&frame[at - UDP..])), 0xffff);
        let mut frame = datagram(false, 3);
        let at = payload(&frame).unwrap();
        fix_checksum(&mut frame, at);
        assert_eq!(frame[at - 2..at], [0, 0]);
        let mut frame = datagram(true, 3);
        frame[0] = NEEDS_CHECKSUM;
        fix_checksum(&mut frame, at + IPV6 - IPV4);
        assert_eq!(frame, {
            let mut same = datagram(true, 3);
            same[0] = NEEDS_CHECKSUM;
            same
        });
    }
}
