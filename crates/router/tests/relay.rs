//! End-to-end tests of the relay over loopback.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use std::net::{SocketAddr, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::{Duration as Span, Instant};

use levelflow_host::Error;
use levelflow_host::stop::Stop;
use levelflow_laws::{
    Any, AnyHeader, AnyParams, AnySender, Feedback, FlowInfo, Kind, Opening, Outgoing, Protocol, SenderLaw,
    explicit_laws,
};
use levelflow_net_testing::flows::{acks, flow};
use levelflow_router::direction::Bottleneck;
use levelflow_router::relay::{Config, Relay};
use levelflow_router::snapshot::{Board, Snapshot};
use levelflow_scenario::settings;
use levelflow_units::headers::{ETHERNET, IPV4, UDP};
use levelflow_units::{Buffer, Bytes, Duration, Rate, Time};
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use proptest::prelude::*;
use proptest::test_runner::{Config as Runs, TestRunner};

struct Running {
    address: SocketAddr,
    stop: std::sync::Arc<Stop>,
    board: Board,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    fn end(mut self) -> Snapshot {
        self.stop.now();
        self.thread.take().unwrap().join().unwrap().unwrap();
        self.board.read()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.now();
    }
}

struct Setup {
    law: &'static str,
    mbps: f64,
    buffer: Buffer,
    delay: Duration,
    both: bool,
    sets: Vec<String>,
}

impl Setup {
    fn law(law: &'static str) -> Self {
        Self {
            law,
            mbps: 50.0,
            buffer: Buffer::Packets(100),
            delay: Duration::ZERO,
            both: false,
            sets: Vec::new(),
        }
    }

    fn start(&self, to: SocketAddr) -> Running {
        let forward = Bottleneck {
            params: settings::router_params(self.law, &self.sets).unwrap(),
            capacity: Rate::new(self.mbps * 1e6).unwrap(),
            buffer: self.buffer,
        };
        let relay = Relay::bind(Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            to,
            backward: self.both.then(|| forward.clone()),
            forward,
            delay: self.delay,
            capacity: None,
            id: 7,
        })
        .unwrap();
        let address = relay.address().unwrap();
        let (stop, board) = (std::sync::Arc::new(Stop::new().unwrap()), Board::default());
        let (inside, shown) = (std::sync::Arc::clone(&stop), board.clone());
        let thread = Some(thread::spawn(move || relay.run(&inside, &shown)));
        Running {
            address,
            stop,
            board,
            thread,
        }
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Span::from_secs(5))).unwrap();
    socket
}

fn local(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().unwrap()
}

/// Returns the header of a flow's second packet, and the packet itself. The round-trip time of the first packet was 50
/// ms.
fn packet(params: &AnyParams, payload: usize) -> (AnyHeader, Vec<u8>) {
    let size = Bytes::new((ETHERNET + IPV4 + UDP + payload) as u64);
    let mut sender = AnySender::new(params, &FlowInfo::of(size));
    let first = match Any::transport(params).opening {
        Opening::Handshake => Kind::Syn,
        Opening::Immediate => Kind::Data,
    };
    let outgoing = Outgoing {
        number: 0,
        size,
        kind: first,
    };
    let header = sender.on_send(params, Time::ZERO, &outgoing);
    let rtt = Duration::from_ms(50);
    sender.on_feedback(params, Time::ZERO + rtt, &Feedback::plain(0, first, rtt, header));
    let (number, kind) = (1, Kind::Data);
    let header = sender.on_send(params, Time::ZERO + rtt, &Outgoing { number, size, kind });
    let mut bytes = vec![9; payload];
    shim(params, kind).encode(&mut bytes);
    header.encode(&mut bytes[SHIM_BYTES..]);
    (header, bytes)
}

fn shim(params: &AnyParams, kind: Kind) -> Shim {
    Shim {
        kind,
        marked: false,
        more: false,
        unacknowledged: false,
        signalling: params.law().signalling.number,
        header: params.law().signalling.header_bytes() as u8,
        flow: 77,
        number: 5,
        time: 123,
    }
}

#[test]
fn packets_of_every_law_are_stamped_and_acks_find_back() {
    for law in explicit_laws().map(|law| law.name) {
        let server = socket();
        let relay = Setup::law(law).start(local(&server));
        let params = settings::params(law, &[]).unwrap();
        let clients = [socket(), socket()];
        // Some routers write feedback into the first packet, others only after an interval. Packets are therefore sent
        // until a header changes.
        let begun = Instant::now();
        let mut stamped = false;
        while begun.elapsed() < Span::from_secs(5) && !stamped {
            let (header, sent) = packet(&params, 200);
            for (n, client) in clients.iter().enumerate() {
                client.send_to(&sent, relay.address).unwrap();
                let mut room = [0; 2000];
                let (length, from) = server.recv_from(&mut room).unwrap();
                let (shim, bytes, rest) = Shim::decode(&room[..length]).unwrap();
                assert_eq!(
                    (length, shim.number, rest.len()),
                    (200, 5, 200 - SHIM_BYTES - bytes.len())
                );
                assert!(rest.iter().all(|byte| *byte == 9));
                stamped |= AnyHeader::decode(params.law().signalling, bytes).unwrap() != header;
                server.send_to(&[n as u8; 30], from).unwrap();
                let (length, from) = client.recv_from(&mut room).unwrap();
                assert_eq!((length, room[0], from), (30, n as u8, relay.address));
            }
            thread::sleep(Span::from_millis(20));
        }
        let seen = relay.end();
        assert!(stamped, "{law}: no header changed");
        assert_eq!(seen.clients, Some(2));
        assert_eq!(
            (seen.counters.stamped, seen.counters.foreign),
            (seen.counters.packets, 0),
            "{law}"
        );
    }
}

#[test]
fn a_full_line_sends_its_capacity_and_no_more() {
    let server = socket();
    let relay = Setup {
        mbps: 20.0,
        ..Setup::law("rcp")
    }
    .start(local(&server));
    let to = relay.address;
    // The client sends at twice the line rate for 1.2 s, in bursts every 2 ms.
    let blaster = thread::spawn(move || {
        let client = socket();
        let (begun, mut sent) = (Instant::now(), 0_u64);
        while begun.elapsed() < Span::from_millis(1200) {
            while sent < begun.elapsed().as_micros() as u64 * 40 / 8000 {
                client.send_to(&[1; 958], to).unwrap();
                sent += 1;
            }
            thread::sleep(Span::from_millis(2));
        }
    });
    let mut room = [0; 2000];
    let (mut first, mut last, mut got) = (None, Instant::now(), 0_u64);
    while let Ok(length) = server.recv(&mut room) {
        assert_eq!(length, 958);
        last = Instant::now();
        first.get_or_insert(last);
        got += 1;
        if blaster.is_finished() {
            server.set_read_timeout(Some(Span::from_millis(200))).unwrap();
        }
    }
    let rate = (got - 1) as f64 * 8000.0 / (last - first.unwrap()).as_secs_f64();
    blaster.join().unwrap();
    let seen = relay.end();
    assert!((rate / 20e6 - 1.0).abs() < 0.02, "{rate} b/s");
    assert!(seen.counters.dropped > 0 && seen.counters.foreign == seen.counters.packets);
    assert_eq!(seen.queue_peak, 100 * 1000);
    assert_eq!(seen.counters.packets, got + seen.counters.dropped);
}

#[test]
fn a_relay_delays_both_directions() {
    let server = socket();
    let delay = Duration::from_ms(20);
    let relay = Setup {
        delay,
        both: true,
        ..Setup::law("emkc")
    }
    .start(local(&server));
    let client = socket();
    let mut room = [0; 100];
    let mut trips: Vec<f64> = (0..15)
        .map(|_| {
            let begun = Instant::now();
            client.send_to(&[1; 80], relay.address).unwrap();
            let (_, from) = server.recv_from(&mut room).unwrap();
            server.send_to(&[2; 80], from).unwrap();
            client.recv(&mut room).unwrap();
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    trips.sort_by(f64::total_cmp);
    assert!(trips[0] >= 40.0 && trips[7] < 44.0, "{trips:?} ms");
}

// **Invariant** (The data plane): a router forwards packets without the header of a law, and does not change them.
/// Packets without a header of the law arrive unchanged and in order, and are counted.
#[test]
fn anything_else_passes_untouched() {
    let server = socket();
    let relay = Setup {
        mbps: 1000.0,
        ..Setup::law("jetmax")
    }
    .start(local(&server));
    let client = socket();
    let params = settings::params("jetmax", &[]).unwrap();
    let mut runner = TestRunner::new(Runs {
        cases: 300,
        failure_persistence: None,
        ..Runs::default()
    });
    let (_, good) = packet(&params, 120);
    let broken = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..2000),
        (0..120_usize).prop_map(move |cut| good[..cut.min(SHIM_BYTES + 27)].to_vec()),
        (
            any::<[u8; 3]>(),
            any::<u8>(),
            prop::collection::vec(any::<u8>(), 0..100)
        )
            .prop_map(|(b, law, rest)| {
                let mut bytes = vec![b'L', b'V', b'F', 1, b[0], b[1], if law == 1 { 2 } else { law }, b[2]];
                bytes.extend(rest);
                bytes
            }),
    ];
    let mut room = vec![0; 1 << 16];
    let outcome = runner.run(&broken, |bytes| {
        client.send_to(&bytes, relay.address).unwrap();
        let mut room = [0; 2000];
        let length = server.recv(&mut room).unwrap();
        prop_assert_eq!(&room[..length], &bytes[..]);
        Ok(())
    });
    outcome.unwrap();
    let long = vec![b'L'; 60_000];
    client.send_to(&long, relay.address).unwrap();
    let length = server.recv(&mut room).unwrap();
    assert_eq!(&room[..length], &long[..]);
    let seen = relay.end();
    assert_eq!(seen.counters.stamped, 0);
    assert_eq!(seen.counters.packets, 301);
}

/// Sends forged headers in which one 32-bit field is infinite, negative or NaN. The test covers each field of each law.
/// The router rejects headers that no sender writes, and passes them unchanged. The router's state stays finite.
#[test]
fn false_fields_do_not_corrupt_a_router() {
    let lies = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -1.0,
        f32::MAX,
        f32::MIN_POSITIVE,
    ];
    for law in explicit_laws().map(|law| law.name) {
        let server = socket();
        let relay = Setup {
            mbps: 1000.0,
            ..Setup::law(law)
        }
        .start(local(&server));
        let client = socket();
        let params = settings::params(law, &[]).unwrap();
        let (_, good) = packet(&params, 120);
        let mut room = [0; 2000];
        for field in (0..params.law().signalling.header_bytes())
            .step_by(4)
            .map(|n| SHIM_BYTES + n)
        {
            for lie in lies {
                let mut bytes = good.clone();
                let end = (field + 4).min(SHIM_BYTES + params.law().signalling.header_bytes());
                bytes[field..end].copy_from_slice(&lie.to_be_bytes()[..end - field]);
                client.send_to(&bytes, relay.address).unwrap();
                let length = server.recv(&mut room).unwrap();
                assert_eq!(length, bytes.len());
                let header = &bytes[SHIM_BYTES..SHIM_BYTES + params.law().signalling.header_bytes()];
                if AnyHeader::decode(params.law().signalling, header).is_err() {
                    assert_eq!(&room[..length], &bytes[..], "{law}: changed a header that it refused");
                }
            }
        }
        thread::sleep(Span::from_millis(250));
        let (_, sent) = packet(&params, 120);
        client.send_to(&sent, relay.address).unwrap();
        let length = server.recv(&mut room).unwrap();
        let (_, bytes, _) = Shim::decode(&room[..length]).unwrap();
        AnyHeader::decode(params.law().signalling, bytes).expect("a router writes what can be read");
        let seen = relay.end();
        assert!(seen.signal.is_finite() && seen.target.is_finite(), "{law}: {seen:?}");
        assert!(seen.counters.intervals > 0);
    }
}

/// Runs three flows of a law over a relay. Returns the rate of each flow, which should be a fair share of the law's
/// target load.
fn share(law: &'static str, sets: &[&str]) -> (Snapshot, Vec<f64>) {
    let server = socket();
    let setup = Setup {
        mbps: 12.0,
        delay: Duration::from_ms(10),
        sets: sets.iter().map(|s| (*s).to_owned()).collect(),
        ..Setup::law(law)
    };
    let relay = setup.start(local(&server));
    let params = settings::params(law, &setup.sets).unwrap();
    let start = Instant::now();
    let (begin, end) = (start + Span::from_millis(2500), start + Span::from_millis(4500));
    let receiver = thread::spawn(move || acks(&server, begin, end));
    let senders: Vec<_> = [11, 22, 33]
        .map(|number| {
            let (params, to) = (params.clone(), relay.address);
            thread::spawn(move || flow(params, number, to, end))
        })
        .into();
    for sender in senders {
        sender.join().unwrap();
    }
    let bytes = receiver.join().unwrap();
    let rates = [11, 22, 33].map(|flow| bytes.get(&flow).copied().unwrap_or(0) as f64 * 8.0 / 2.0);
    (relay.end(), rates.into())
}

#[test]
fn jetmax_shares_a_relay_fairly_and_drops_nothing() {
    let (seen, rates) = share("jetmax", &["gamma=0.95", "interval=30 ms", "initial_rate=500 kb/s"]);
    assert!(
        rates.iter().all(|rate| (rate / 3.8e6 - 1.0).abs() < 0.05),
        "{rates:?} b/s, not 3.8 Mb/s; {seen:?}"
    );
    assert_eq!(
        (seen.counters.dropped, seen.counters.foreign, seen.counters.refused),
        (0, 0, 0),
        "{seen:?}"
    );
}

#[test]
fn rcp_shares_a_relay_fairly() {
    let (seen, rates) = share("rcp", &[]);
    let sum: f64 = rates.iter().sum();
    assert!(
        rates.iter().all(|rate| (3.0 * rate / sum - 1.0).abs() < 0.05),
        "{rates:?} b/s; {seen:?}"
    );
    assert!((0.7..1.0).contains(&(sum / 12e6)), "{rates:?} b/s; {seen:?}");
}
