//! Capture file of links. It contains Ethernet, IPv4, UDP, shim and law headers of each packet that reaches the far end
//! of a link.
//!
//! The format is pcapng with one interface per link and times in nanoseconds. Payloads are omitted, and checksums
//! assume payloads of zeros.

use levelflow_laws::{Any, AnyHeader, HeaderOf, Kind, Protocol};
use levelflow_path::scheduler::Ecn;
use levelflow_units::headers::{ETHERNET, IPV4, UDP};
use levelflow_units::{Rate, Time};
use levelflow_wire::shim::{self, Shim};

use crate::id::{EntryId, FlowId, IdVec, LinkId};
use crate::packet::Packet;

/// UDP port of receivers.
const PORT: u16 = 4711;
/// First UDP port of senders.
const FIRST_PORT: u16 = 49_152;
const CAPTURE_PORTS: u32 = 16_384;
const HEADERS: usize = ETHERNET + IPV4 + UDP;
const MAX_CAPTURED_BYTES: usize = HEADERS + shim::MAX_PREFIX_BYTES;

/// Block types of pcapng.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

/// Laws whose headers can be written into a capture.
pub trait Wire: Protocol + Sized {
    /// Writes the header to the start of `out`. Returns the number of the signalling and the length of the header.
    fn wire(header: &HeaderOf<Self>, out: &mut [u8]) -> (u8, usize);
}

impl Wire for Any {
    fn wire(header: &AnyHeader, out: &mut [u8]) -> (u8, usize) {
        (header.signalling().number, header.encode(out))
    }
}

/// Type of [`Wire::wire`].
type Encode<P> = fn(&HeaderOf<P>, &mut [u8]) -> (u8, usize);

/// Link to capture.
#[derive(Debug, Clone, PartialEq)]
pub struct Watched {
    /// Index of the link.
    pub link: u32,
    /// Name of the link.
    pub name: String,
    /// Capacity of the link.
    pub capacity: Rate,
    /// Numbers of the nodes at the two ends of the link.
    pub nodes: (u32, u32),
}

/// Flow of a captured packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose {
    pub entry: EntryId,
    pub slot: FlowId,
    pub started: Time,
}

/// Numbers of two nodes: the ends of a link, or the nodes of a sender and its receiver.
type Ends = (u32, u32);

/// Capture in progress.
#[derive(Debug)]
pub struct Capture<P: levelflow_laws::Protocol> {
    encode: Encode<P>,
    /// Interface number and nodes of each link. `None` if the link is not captured.
    interfaces: IdVec<LinkId, Option<(u32, Ends)>>,
    /// Nodes of sender and receiver of each flow entry.
    hosts: IdVec<EntryId, Ends>,
    bytes: Vec<u8>,
}

impl<P: Wire> Capture<P> {
    /// Creates a capture of the `watched` links. `hosts` contains the sender node and the receiver node of each flow
    /// entry.
    #[must_use]
    pub fn new(links: usize, watched: &[Watched], hosts: Vec<(u32, u32)>) -> Self {
        let mut capture = Self {
            encode: P::wire,
            interfaces: vec![None; links].into(),
            hosts: hosts.into(),
            bytes: Vec::new(),
        };
        capture.section();
        for (interface, link) in (0..).zip(watched) {
            capture.interface(link);
            capture.interfaces[LinkId(link.link)] = Some((interface, link.nodes));
        }
        capture
    }

    /// Writes the section header: magic number of the byte order, version 1.0, length unknown.
    fn section(&mut self) {
        let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
        body.extend([1, 0, 0, 0]);
        body.extend([0xff; 8]);
        self.block(SECTION, &body);
    }

    fn interface(&mut self, link: &Watched) {
        let mut body = vec![1, 0, 0, 0];
        body.extend((MAX_CAPTURED_BYTES as u32).to_le_bytes());
        let mut option = |code: u16, value: &[u8]| {
            body.extend(code.to_le_bytes());
            body.extend((value.len() as u16).to_le_bytes());
            body.extend(value);
            body.resize(body.len().next_multiple_of(4), 0);
        };
        let name = &link.name.as_bytes()[..link.name.len().min(1024)];
        option(2, name);
        option(8, &(link.capacity.bps() as u64).to_le_bytes());
        option(9, &[9]);
        option(0, &[]);
        self.block(INTERFACE, &body);
    }
}

impl<P: levelflow_laws::Protocol> Capture<P> {
    /// Returns the bytes captured since the previous call.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    fn block(&mut self, code: u32, body: &[u8]) {
        let length = (body.len().next_multiple_of(4) + 12) as u32;
        self.bytes.extend(code.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.bytes.extend(length.to_le_bytes());
    }

    /// Captures a packet at the far end of a link.
    pub(crate) fn pass(
        &mut self,
        now: Time,
        link: LinkId,
        packet: &Packet<HeaderOf<P>>,
        params: &P::Params,
        whose: Whose,
    ) {
        let Some((interface, nodes)) = self.interfaces[link] else {
            return;
        };
        let mut header = [0; 64];
        let (signalling, length) = (self.encode)(&packet.header, &mut header);
        let mut frame = [0; MAX_CAPTURED_BYTES];
        let mut shim = shim_of(packet, signalling, length, whose);
        shim.unacknowledged = !P::transport(params).acknowledged;
        shim.encode(&mut frame[HEADERS..]);
        let end = HEADERS + shim::SHIM_BYTES + length;
        frame[HEADERS + shim::SHIM_BYTES..end].copy_from_slice(&header[..length]);
        let size = usize::from(packet.size).max(end);
        ethernet(&mut frame, nodes);
        let (sender, receiver) = self.hosts[whose.entry];
        let own_port = FIRST_PORT + (whose.slot.0 % CAPTURE_PORTS) as u16;
        let (ends, ports) = if packet.label.is_ack() {
            ([receiver, sender], [PORT, own_port])
        } else {
            ([sender, receiver], [own_port, PORT])
        };
        let ecn = match packet.label.ecn() {
            Ecn::NotCapable => 0,
            Ecn::Scalable => 1,
            Ecn::Classic => 2,
            Ecn::Marked => 3,
        };
        ipv4(&mut frame, size, ecn, packet.number as u16, ends);
        udp(&mut frame[..end], size, ports);
        let ns = now.as_ps() / 1000;
        let mut body = Vec::with_capacity(20 + MAX_CAPTURED_BYTES);
        for word in [interface, (ns >> 32) as u32, ns as u32, end as u32, size as u32] {
            body.extend(word.to_le_bytes());
        }
        body.extend(&frame[..end]);
        self.block(PACKET, &body);
    }
}

fn shim_of<H>(packet: &Packet<H>, signalling: u8, length: usize, whose: Whose) -> Shim {
    let ack = packet.label.is_ack();
    let kind = if ack { Kind::Ack } else { packet.label.kind() };
    let flow = [u64::from(whose.entry.0), u64::from(whose.slot.0), whose.started.as_ps()];
    Shim {
        kind,
        marked: ack && packet.label.is_marked(),
        more: false,
        unacknowledged: false,
        signalling,
        header: length as u8,
        flow: flow_number(flow),
        number: packet.number,
        time: packet.sent.as_ps() / 1000,
    }
}

/// Returns a pseudorandom flow number, which is the same in each run: the low 32 bits of an FNV-1a hash.
fn flow_number(parts: [u64; 3]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }) as u32
}

/// Writes an Ethernet header. Addresses are locally administered and end with the number of the node, counted from 1.
fn ethernet(frame: &mut [u8; MAX_CAPTURED_BYTES], (from, to): (u32, u32)) {
    for (at, node) in [(0, to), (6, from)] {
        let [a, b, c, d] = (node + 1).to_be_bytes();
        frame[at..at + 6].copy_from_slice(&[0x02, 0, a, b, c, d]);
    }
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
}

/// Writes an IPv4 header. Node `n` has the address 10.0.0.`n`.
fn ipv4(frame: &mut [u8; MAX_CAPTURED_BYTES], size: usize, ecn: u8, id: u16, [from, to]: [u32; 2]) {
    let ip = &mut frame[ETHERNET..ETHERNET + IPV4];
    ip[0..2].copy_from_slice(&[0x45, ecn]);
    ip[2..4].copy_from_slice(&((size - ETHERNET) as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip[6..10].copy_from_slice(&[0x40, 0, 64, 17]);
    for (at, node) in [(12, from), (16, to)] {
        let address = (10 << 24) | ((node + 1) & 0x00ff_ffff);
        ip[at..at + 4].copy_from_slice(&address.to_be_bytes());
    }
    let sum = !folded(words(ip));
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn udp(frame: &mut [u8], size: usize, ports: [u16; 2]) {
    let length = (size - ETHERNET - IPV4) as u16;
    let (ip, udp) = frame[ETHERNET..].split_at_mut(IPV4);
    for (at, value) in [(0, ports[0]), (2, ports[1]), (4, length)] {
        udp[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
    let pseudo = words(&ip[12..20]) + 17 + u32::from(length);
    let sum = match !folded(words(udp) + pseudo) {
        0 => 0xffff,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the sum of 16-bit words. A last single byte is padded with zero (RFC 1071).
fn words(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    bytes.chunks(2).map(word).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
