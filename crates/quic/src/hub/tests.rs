//! Tests of hostile input: intact and malformed shims, from any address and for any flow.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::time::Duration;

use levelflow_laws::{FlowInfo, explicit_laws};
use levelflow_units::{Bytes, Time};
use levelflow_wire::shim::{MAX_PREFIX_BYTES, SHIM_BYTES};
use noq::udp::{Transmit, UdpSocketState};
use proptest::prelude::*;

use super::super::incoming::Incoming;
use super::*;
use levelflow_journal::Sender;
use levelflow_transport::{Received, Receiver};

fn law_config(law: &str) -> LawConfig {
    LawConfig {
        params: levelflow_scenario::settings::params(law, &[]).unwrap(),
        values: Vec::new(),
        journal: None,
    }
}

/// Another program: its socket, and the sender of its flow.
struct Other {
    socket: UdpSocket,
    sender: Sender,
}

impl Other {
    fn new(law: &str, flow: u32) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let sender = sender(law, flow);
        Self { socket, sender }
    }

    fn address(&self) -> SocketAddr {
        self.socket.local_addr().unwrap()
    }

    /// Returns the flow and packet number of each ACK, until no more ACKs arrive.
    fn acks(&self) -> Vec<(u32, u32)> {
        let mut buffer = [0; 2000];
        let mut all = Vec::new();
        while let Ok(length) = self.socket.recv(&mut buffer) {
            let (shim, ..) = Shim::decode(&buffer[..length]).unwrap();
            assert_eq!(shim.kind, Kind::Ack);
            all.push((shim.flow, shim.number));
        }
        all
    }
}

fn sender(law: &str, flow: u32) -> Sender {
    Sender::new(law_config(law).params, FlowInfo::of(Bytes::new(1000)), flow)
}

/// Returns the next packet of a flow: shim, header and some payload.
fn packet(sender: &mut Sender) -> Vec<u8> {
    let mut packet = vec![0; MAX_PREFIX_BYTES];
    let prefix = sender.transmit_sized(Time::ZERO, 1, 1000, false, &mut packet).prefix;
    packet.truncate(prefix);
    packet.extend([7; 20]);
    packet
}

/// Returns the first packet of an invented flow.
fn invented(law: &str, flow: u32) -> Vec<u8> {
    packet(&mut sender(law, flow))
}

fn hub() -> Arc<Hub> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    Hub::new(Arc::new(Core::new(socket).unwrap()))
}

/// Returns a hub whose socket is writable.
async fn ready() -> Arc<Hub> {
    let hub = hub();
    tokio::time::sleep(Duration::from_millis(5)).await;
    hub
}

fn meta(from: SocketAddr, length: usize, stride: usize) -> RecvMeta {
    let mut meta = RecvMeta::default();
    (meta.addr, meta.len, meta.stride) = (from, length, stride);
    meta
}

/// Passes one buffer to a hub.
fn strip(hub: &Hub, buffer: &mut [u8], meta: &mut RecvMeta, overflow: &mut Vec<(RecvMeta, Vec<u8>)>) {
    hub.strip(&mut [IoSliceMut::new(buffer)], std::slice::from_mut(meta), overflow);
}

/// Passes a datagram to a hub; returns the payload without shims.
fn arrive(hub: &Hub, from: SocketAddr, datagram: &[u8]) -> Vec<u8> {
    let mut buffer = datagram.to_vec();
    let mut meta = meta(from, buffer.len(), buffer.len());
    strip(hub, &mut buffer, &mut meta, &mut Vec::new());
    buffer.truncate(meta.len);
    buffer
}

fn anywhere(number: u32) -> SocketAddr {
    (std::net::Ipv4Addr::from(0x0a00_0000 + number), 4433).into()
}

// **Invariant** (The data plane): shims are unauthenticated. No shim makes a QUIC endpoint keep state forever,
// displaces an active flow, or gives a connection the state of another connection. See `spoofed_data_silence_no_flow`,
// `a_new_connection_gets_its_own_peer`.
#[tokio::test]
async fn nothing_that_arrives_makes_a_hub_grow() {
    let hub = hub();
    let mut other = Other::new("jetmax", 1);
    let _peer = hub.register(other.address(), None);
    for number in 0..5000 {
        arrive(&hub, other.address(), &packet(&mut other.sender));
        arrive(&hub, anywhere(number), &packet(&mut other.sender));
        arrive(&hub, other.address(), &invented("jetmax", 2 + number));
        arrive(&hub, anywhere(number), &invented("jetmax", 20_000 + number));
    }
    let peers = lock(&hub.peers);
    assert_eq!(peers.known.len(), 1);
    assert!(peers.strangers.len() <= MAX_STRANGERS);
    assert!(hub.core.incoming.len() <= 16);
}

#[tokio::test]
async fn a_new_connection_gets_its_own_peer() {
    let hub = hub();
    let mut liar = Other::new("rcp", 1);
    let theirs = hub.register(liar.address(), Some(law_config("rcp")));
    arrive(&hub, liar.address(), &packet(&mut liar.sender));
    let victim = Other::new("jetmax", 2);
    arrive(&hub, victim.address(), &packet(&mut liar.sender));
    let own = hub.register(victim.address(), Some(law_config("jetmax")));
    assert!(!Arc::ptr_eq(&own, &theirs));
    assert_eq!(own.law(), Some("jetmax"));
    assert!(Arc::ptr_eq(&hub.at(victim.address()).unwrap(), &own));
    // A later registration does not replace the first either.
    let later = hub.register(victim.address(), Some(law_config("rcp")));
    assert!(Arc::ptr_eq(&hub.at(victim.address()).unwrap(), &own));
    drop(own);
    assert!(Arc::ptr_eq(&hub.at(victim.address()).unwrap(), &later));
}

#[tokio::test]
async fn connections_that_open_in_parallel_keep_their_peers() {
    let hub = hub();
    std::thread::scope(|threads| {
        for number in 0..4 {
            let hub = &hub;
            threads.spawn(move || {
                let peer = hub.register(anywhere(number), None);
                for _ in 0..100 {
                    let opened = hub.open(&peer, || {
                        std::thread::yield_now();
                        hub.opening()
                    });
                    assert!(Arc::ptr_eq(&opened.unwrap(), &peer));
                }
            });
        }
    });
    assert!(hub.opening().is_none());
}

#[tokio::test]
async fn spoofed_data_silence_no_flow() {
    for law in explicit_laws().map(|law| law.name) {
        let hub = ready().await;
        let mut victim = Other::new(law, 1);
        let _peer = hub.register(victim.address(), None);
        for round in 0..10 {
            arrive(&hub, victim.address(), &packet(&mut victim.sender));
            for flow in 0..8 {
                arrive(&hub, victim.address(), &invented(law, 100 + 8 * round + flow));
            }
        }
        let acks = victim.acks();
        let own: Vec<u32> = acks.iter().filter(|a| a.0 == 1).map(|a| a.1).collect();
        assert_eq!(own, (0..10).collect::<Vec<_>>(), "{law}: {acks:?}");
    }
}

#[tokio::test]
async fn spoofed_data_in_one_buffer_silence_no_flow() {
    let hub = ready().await;
    let mut victim = Other::new("jetmax", 1);
    let _peer = hub.register(victim.address(), None);
    let mut buffer = packet(&mut victim.sender);
    let stride = buffer.len();
    buffer.extend((0..63).flat_map(|flow| invented("jetmax", 100 + flow)));
    let mut meta = meta(victim.address(), buffer.len(), stride);
    strip(&hub, &mut buffer, &mut meta, &mut Vec::new());
    assert!(victim.acks().contains(&(1, 0)));
}

#[tokio::test]
async fn acks_of_a_batch_leave_in_few_system_calls() {
    let hub = ready().await;
    let mut other = Other::new("xcp", 1);
    let _peer = hub.register(other.address(), None);
    let state = UdpSocketState::new((&other.socket).into()).unwrap();
    let mut ten = || (0..10).flat_map(|_| packet(&mut other.sender)).collect::<Vec<_>>();
    let mut batch: Vec<Vec<u8>> = (0..30).map(|_| ten()).collect();
    let length = batch[0].len();
    let mut buffers: Vec<_> = batch.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
    let mut metas = vec![meta(other.address(), length, length / 10); buffers.len()];
    hub.strip(&mut buffers, &mut metas, &mut Vec::new());

    let (mut arrived, mut numbers) = (Vec::new(), Vec::new());
    while numbers.len() < 300 {
        let (mut buffer, mut meta) = ([0; 1 << 13], [RecvMeta::default()]);
        let buffers = &mut [IoSliceMut::new(&mut buffer)];
        state.recv((&other.socket).into(), buffers, &mut meta).unwrap();
        let acks = buffer[..meta[0].len].chunks(meta[0].stride);
        numbers.extend(acks.map(|ack| Shim::decode(ack).unwrap().0.number));
        arrived.push(meta[0].len / meta[0].stride);
    }
    assert_eq!(numbers, (0..300).collect::<Vec<_>>());
    let super_packets = hub.core.io.state.max_gso_segments().get() > 1;
    assert_eq!(arrived.len(), if super_packets { 5 } else { 300 }, "{arrived:?}");
}

/// Returns the bytes after the shim of each ACK of a MaxNet flow. After each packet of this flow, `others` packets of
/// other flows arrive.
fn acked(others: u32) -> Vec<Vec<u8>> {
    let mut incoming = Incoming::<Peer>::new(Arc::default(), Weak::new());
    let (mut own, from) = (sender("maxnet", 1), anywhere(1));
    let mut acks = Vec::new();
    for number in 0..20_u32 {
        // The receiver's history begins with the second packet, one round trip after the opening packet.
        let ms = if number == 0 { 0 } else { 10 + number };
        let now = Time::ZERO + levelflow_units::Duration::from_ms(ms.into());
        let mut take = |mut packet: Vec<u8>| {
            // A price that a router wrote.
            packet[SHIM_BYTES + 5..SHIM_BYTES + 8].copy_from_slice(&(1000 * number + 77).to_be_bytes()[1..]);
            let (shim, header, rest) = Shim::decode(&packet).unwrap();
            let meta = meta(from, packet.len(), packet.len());
            incoming.hold(now, &shim, header, Bytes::new(1000 + rest.len() as u64), &meta);
            let mut ack = Vec::new();
            incoming.held.drain(..).next_back().unwrap().write(&mut ack);
            ack[SHIM_BYTES..].to_vec()
        };
        let mut next = packet(&mut own);
        next[4] = if number == 0 { Kind::Syn as u8 } else { Kind::Data as u8 };
        acks.push(take(next));
        for other in 0..others {
            take(invented("maxnet", 100 + number * others + other));
        }
    }
    acks
}

#[test]
fn invented_flows_evict_no_real_flow() {
    let alone = acked(0);
    assert_ne!(
        alone[19][2..5],
        19_077_u32.to_be_bytes()[1..],
        "a mean, not the newest price"
    );
    assert_eq!(alone, acked(10));
}

#[tokio::test]
async fn a_peer_that_moved_is_acked_where_it_is_now() {
    let hub = ready().await;
    let (mut before, after) = (Other::new("jetmax", 1), Other::new("jetmax", 2));
    let peer = hub.register(before.address(), Some(law_config("jetmax")));
    arrive(&hub, before.address(), &packet(&mut before.sender));
    assert_eq!(before.acks(), [(1, 0)]);
    arrive(&hub, after.address(), &packet(&mut before.sender));
    assert_eq!((before.acks(), after.acks()), (vec![], vec![(1, 1)]));

    // ACKs of the moved peer's packets still count.
    let mut sent = Vec::new();
    let transmit = Transmit {
        destination: before.address(),
        ecn: None,
        contents: &[7; 700],
        segment_size: None,
        src_ip: None,
    };
    peer.encode(&transmit, &mut sent);
    let (shim, header, _) = Shim::decode(&sent).unwrap();
    let mut receiver = Receiver::new(shim.signalling).unwrap();
    let mut ack = [0; MAX_PREFIX_BYTES];
    let size = Bytes::new(1000);
    let (_, length) = receiver
        .ack(
            Time::ZERO,
            Received {
                shim: &shim,
                header,
                size,
                marked: false,
            },
            0,
            &mut ack,
        )
        .unwrap();
    assert!(arrive(&hub, after.address(), &ack[..length]).is_empty());
    assert_eq!(peer.status().unwrap().counters.acks, 1);
}

#[tokio::test]
async fn flows_are_forgotten_with_their_peers() {
    let hub = hub();
    let mut other = Other::new("jetmax", 1);
    let peer = hub.register(other.address(), Some(law_config("jetmax")));
    arrive(&hub, other.address(), &packet(&mut other.sender));
    let count = || (hub.core.outgoing.len(), hub.core.incoming.len());
    assert_eq!(count(), (1, 1));
    drop(peer);
    // The timer may still refer to the peer because of a delayed ACK.
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(count(), (0, 0));
}

/// Returns a datagram of this length with this number of shims before the payload, and the offset of the payload.
fn datagram(length: usize, shims: u8, fill: u8) -> (Vec<u8>, usize) {
    let mut flow = sender("jetmax", fill.into());
    let mut bytes = Vec::new();
    for number in 0..shims {
        let mut wire = [0; MAX_PREFIX_BYTES];
        let kind = if shims == 2 && number == 1 || shims == 1 && fill.is_multiple_of(2) {
            Kind::Ack
        } else {
            Kind::Data
        };
        let more = number + 1 < shims;
        let packet = flow.transmit_sized(Time::ZERO, 1, 1000, more, &mut wire);
        wire[4] = kind as u8;
        bytes.extend(&wire[..packet.prefix]);
    }
    let rest = if bytes.len() <= length { bytes.len() } else { 0 };
    bytes.truncate(rest);
    bytes.resize(length, fill | 0x80);
    (bytes, rest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Verifies that the payload of each datagram comes out once and in order, in place or through the overflow.
    #[test]
    fn strip_gives_the_rest_of_each_datagram(
        stride in 1_usize..300,
        last in 1_usize..300,
        shims in prop::collection::vec((0_u8..3, any::<u8>()), 1..65),
        known in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let (hub, from) = (hub(), "127.0.0.1:9".parse().unwrap());
        let _peer = known.then(|| hub.register(from, None));
        let (mut buffer, mut rests) = (Vec::new(), Vec::new());
        for (shims, fill) in shims {
            let (bytes, rest) = datagram(stride, shims, fill);
            buffer.extend(&bytes);
            rests.push(bytes[rest..].to_vec());
        }
        let (tail, rest) = datagram(last.min(stride), 1, 3);
        buffer.extend(&tail);
        rests.push(tail[rest..].to_vec());
        rests.retain(|rest| !rest.is_empty());
        let mut meta = meta(from, buffer.len(), stride);
        let mut overflow = Vec::new();
        strip(&hub, &mut buffer, &mut meta, &mut overflow);
        let mut stay = buffer[..meta.len].chunks(meta.stride.max(1)).peekable();
        let mut overflowed = overflow.iter().peekable();
        for rest in &rests {
            if stay.peek() == Some(&&rest[..]) {
                stay.next();
            } else {
                let (alone, bytes) = overflowed.next().unwrap();
                prop_assert_eq!((alone.len, alone.stride, bytes), (rest.len(), rest.len(), rest));
            }
        }
        prop_assert!(stay.next().is_none() && overflowed.next().is_none());
    }

    #[test]
    fn no_bytes_and_no_lengths_break_strip(
        mut buffer in prop::collection::vec(any::<u8>(), 0..400),
        shims in prop::collection::vec(0_usize..400, 0..8),
        length in prop_oneof![0_usize..500, Just(usize::MAX)],
        stride in prop_oneof![0_usize..500, Just(usize::MAX)],
    ) {
        for at in shims {
            if let Some(place) = buffer.get_mut(at..at + 8) {
                place[..6].copy_from_slice(&[b'L', b'V', b'F', 1, at as u8 % 4, 0x80]);
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let (hub, from) = (hub(), "127.0.0.1:9".parse().unwrap());
        let _peer = hub.register(from, Some(law_config("jetmax")));
        let (room, mut meta) = (buffer.len(), meta(from, length, stride));
        let mut overflow = Vec::new();
        strip(&hub, &mut buffer, &mut meta, &mut overflow);
        let out = meta.len + overflow.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        prop_assert!(out <= room.min(length));
    }
}
