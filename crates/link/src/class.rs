//! Header fields that queues read or write: flow, source and destination host, and ECN field.

use std::ops::Range;

use levelflow_path::scheduler::{Ecn, FlowKey};

use super::segment::{PREFIX, fold, sum};

/// Offset of the IP header, in bytes.
const IP: usize = PREFIX + 14;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Code point "congestion experienced" (CE) of the ECN field.
const CE: u8 = 0b11;

/// Returns the flow key of a frame from a packet socket. The frame begins with a `virtio_net_hdr`. Frames without an IP
/// header have the default key.
#[must_use]
pub fn class(frame: &[u8]) -> FlowKey {
    let Some(ip) = Ip::of(frame) else {
        return FlowKey::default();
    };
    let bytes = |range: Range<usize>| frame.get(range).unwrap_or_default();
    let ports = if matches!(ip.protocol, TCP | UDP) {
        bytes(ip.end..ip.end + 4)
    } else {
        &[]
    };
    let [source, destination] = ip.addresses.map(bytes);
    let flow = [source, destination, &[ip.protocol], ports];
    FlowKey {
        flow: hash(flow.into_iter().flatten()),
        source: hash(source),
        destination: hash(destination),
        ecn: [Ecn::NotCapable, Ecn::Scalable, Ecn::Classic, Ecn::Marked][usize::from(ip.ecn)],
    }
}

/// Sets CE in an unmarked ECN-capable frame and updates the IPv4 header checksum. Returns true if the frame was marked.
pub fn mark(frame: &mut [u8]) -> bool {
    let Some(ip) = Ip::of(frame).filter(|ip| ip.ecn != 0 && ip.ecn != CE) else {
        return false;
    };
    if ip.end == IP + 40 && frame[IP] >> 4 == 6 {
        frame[IP + 1] |= CE << 4;
        return true;
    }
    frame[IP + 1] |= CE;
    frame[IP + 10..IP + 12].fill(0);
    let checksum = !fold(sum(&frame[IP..ip.end]));
    frame[IP + 10..IP + 12].copy_from_slice(&checksum.to_be_bytes());
    true
}

/// Fields of an IP header, and their locations in the frame.
struct Ip {
    ecn: u8,
    protocol: u8,
    addresses: [Range<usize>; 2],
    /// Offset of the end of the header. Ports follow, unless the packet is a fragment.
    end: usize,
}

impl Ip {
    fn of(frame: &[u8]) -> Option<Self> {
        let header = frame.get(IP..)?;
        match (frame.get(IP - 2..IP)?, header.first()? >> 4) {
            ([8, 0], 4) if header.len() >= 20 => {
                let end = IP + usize::from(header[0] & 15) * 4;
                let whole = header[6] & 0x3f == 0 && header[7] == 0; // not a fragment
                Some(Self {
                    ecn: header[1] & CE,
                    protocol: if whole { header[9] } else { 0 },
                    addresses: [IP + 12..IP + 16, IP + 16..IP + 20],
                    end,
                })
                .filter(|ip| (IP + 20..=frame.len()).contains(&ip.end))
            }
            ([0x86, 0xdd], 6) if header.len() >= 40 => Some(Self {
                ecn: header[1] >> 4 & CE,
                protocol: header[6],
                addresses: [IP + 8..IP + 24, IP + 24..IP + 40],
                end: IP + 40,
            }),
            _ => None,
        }
    }
}

/// Returns the FNV-1a hash of the bytes. Queues mix this hash with their own salt.
fn hash<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u32 {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.into_iter().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a TCP segment from host `from` with the ECN field `ecn`.
    fn segment(ipv6: bool, from: u8, port: u8, ecn: u8) -> Vec<u8> {
        let mut frame = vec![0; PREFIX + 12];
        if ipv6 {
            frame.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0, 0, 20, TCP, 64]);
            frame.extend([[from; 16], [9; 16]].concat());
        } else {
            frame.extend([
                8, 0, 0x45, ecn, 0, 40, 0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, from, 10, 0, 0, 9,
            ]);
            let sum = !fold(sum(&frame[IP..IP + 20]));
            frame[IP + 10..IP + 12].copy_from_slice(&sum.to_be_bytes());
        }
        frame.extend([0, port, 0, 80]);
        frame.resize(frame.len() + 16, 0);
        frame
    }

    #[test]
    fn flows_and_hosts_are_distinguished() {
        for ipv6 in [false, true] {
            let one = class(&segment(ipv6, 1, 1, 0));
            assert_eq!(one, class(&segment(ipv6, 1, 1, 0)));
            let port = class(&segment(ipv6, 1, 2, 0));
            assert!(port.flow != one.flow && port.source == one.source);
            let host = class(&segment(ipv6, 2, 1, 0));
            assert!(host.flow != one.flow && host.source != one.source && host.destination == one.destination);
        }
    }

    #[test]
    fn a_mark_is_ce_under_a_right_sum_and_only_where_it_may_be() {
        for ipv6 in [false, true] {
            for (field, said) in [
                (0, Ecn::NotCapable),
                (1, Ecn::Scalable),
                (2, Ecn::Classic),
                (3, Ecn::Marked),
            ] {
                let mut frame = segment(ipv6, 1, 1, field);
                assert_eq!(class(&frame).ecn, said);
                let before = frame.clone();
                assert_eq!(mark(&mut frame), field == 1 || field == 2);
                assert_eq!(
                    class(&frame).ecn,
                    if field == 0 { Ecn::NotCapable } else { Ecn::Marked }
                );
                assert_eq!(frame == before, field == 0 || field == 3);
                if !ipv6 {
                    assert_eq!(fold(sum(&frame[IP..IP + 20])), 0xffff);
                }
            }
        }
    }

    #[test]
    fn truncated_packets_belong_to_one_flow() {
        let frame = segment(false, 1, 1, 2);
        for length in 0..frame.len() {
            let mut cut = frame[..length].to_vec();
            assert!(class(&cut) == FlowKey::default() || length >= IP + 20);
            mark(&mut cut);
        }
        assert_eq!(class(&frame[..IP + 19]), FlowKey::default());
    }
}
