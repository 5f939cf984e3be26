//! Tests of routers, senders and receivers on real sockets. They receive floods of truncated, oversized and forged
//! packets. Tests that need root are skipped without it.

use levelflow_net_testing::needs_kernel;
use std::net::{SocketAddr, UdpSocket};
use std::thread::{self, sleep};
use std::time::{Duration as Span, Instant};

use levelflow_laws::FlowInfo;
use levelflow_net_testing::hosts::{Guard, Hosts, after, net, params, router};
use levelflow_path::port::{self, PacketClass};
use levelflow_transport::{Received, Receiver};
use levelflow_units::Bytes;
use levelflow_wire::shim::{SHIM_BYTES, Shim};
use serde_json::Value;

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// Returns a damaged copy of a packet: truncated, oversized, of another version, kind or law, or pure noise.
    fn broken(&mut self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        match self.next() % 6 {
            0 => bytes.truncate(self.next() as usize % (SHIM_BYTES + 28)),
            1 => bytes[3] = 2 + self.next() as u8 % 250,
            2 => bytes[4] = 4 + self.next() as u8 % 250,
            3 => bytes[6] = 2 + self.next() as u8 % 250,
            4 => bytes[7] = 29 + self.next() as u8 % 200,
            _ => {
                let length = self.next() as usize % 1400;
                bytes = self.bytes(length);
            }
        }
        bytes
    }
}

/// Returns a valid packet of a JetMax sender.
fn good() -> Vec<u8> {
    let mut sender = levelflow_journal::Sender::new(params(), FlowInfo::of(Bytes::new(300)), 7);
    let mut wire = vec![5; 258];
    sender.poll_transmit(levelflow_units::Time::ZERO, 1, &mut wire).unwrap();
    wire
}

#[test]
fn a_kernel_router_forwards_malformed_packets_unchanged() {
    needs_kernel!("a_kernel_router_forwards_malformed_packets_unchanged");
    let hosts = Hosts::joined();
    let mut router = hosts.router();
    let server = hosts.server();
    server.set_read_timeout(Some(Span::from_secs(2))).unwrap();
    let to = server.local_addr().unwrap();
    let client = hosts.here.run(|| UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
    let (good, mut noise, mut room) = (good(), Noise(1), vec![0; 1 << 16]);
    let mut cross = |bytes: &[u8]| {
        client.send_to(bytes, to).unwrap();
        let length = server.recv(&mut room).unwrap();
        room[..length].to_vec()
    };
    let mut refused = 0;
    for _ in 0..3000 {
        let bytes = noise.broken(&good);
        refused += u64::from(port::header(params().law().signalling, &bytes) == Err(PacketClass::Refused));
        assert_eq!(cross(&bytes), bytes);
    }
    // Field values that no router can use in a computation, and a fragmented datagram.
    for (field, lies) in [
        (12, &[f32::NAN][..]),
        (16, &[f32::NAN]),
        (20, &[f32::NAN, f32::INFINITY, -1.0]),
        (24, &[f32::NAN, f32::INFINITY, -1.0]),
    ] {
        for lie in lies {
            let mut bytes = good.clone();
            bytes[SHIM_BYTES + field..SHIM_BYTES + field + 4].copy_from_slice(&lie.to_be_bytes());
            assert_eq!(cross(&bytes), bytes, "{lie} at {field}");
            refused += 1;
        }
    }
    let long = [&good[..], &noise.bytes(50_000)].concat();
    assert_eq!(cross(&long), long);
    let stamped = cross(&good);
    assert!(stamped != good && stamped[SHIM_BYTES + 28..] == good[SHIM_BYTES + 28..]);
    let pid = rustix::process::Pid::from_child(&router.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut router.0.stdout.take().unwrap(), &mut said).unwrap();
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["stamped"].as_u64(), last["refused"].as_u64()),
        (Some(1), Some(refused)),
        "{last}"
    );
}

/// Returns the resident memory of a program, kB.
fn memory(of: &Guard) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", of.0.id())).unwrap();
    let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap().to_owned();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Acknowledges each packet. After each ACK, sends a damaged, a duplicate and an oversized datagram.
fn hostile(socket: &UdpSocket, end: Instant) {
    let (mut receiver, mut noise, mut room) = (Receiver::new(1).unwrap(), Noise(2), [0; 2000]);
    let clock = levelflow_host::clock::Clock::start();
    socket.set_read_timeout(Some(Span::from_millis(50))).unwrap();
    while Instant::now() < end {
        let Ok((length, from)) = socket.recv_from(&mut room) else {
            continue;
        };
        let (shim, header, _) = Shim::decode(&room[..length]).unwrap();
        let mut ack = vec![0; 100];
        let size = Bytes::new(length as u64 + 42);
        let Ok((_, length)) = receiver.ack(
            clock.now(),
            Received {
                shim: &shim,
                header,
                size,
                marked: false,
            },
            0,
            &mut ack,
        ) else {
            continue;
        };
        ack.truncate(length);
        let huge = [&ack[..], &vec![0xff; 60_000]].concat();
        let unknown = [&ack[..12], &[0xff; 4], &ack[16..]].concat();
        for wire in [noise.broken(&ack), unknown, ack.clone(), ack, huge] {
            let _ = socket.send_to(&wire, from);
        }
    }
}

#[test]
fn a_sender_outlives_a_hostile_receiver() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap().to_string();
    let end = after(Instant::now(), 4000);
    let receiver = thread::spawn(move || hostile(&socket, end));
    let set = ["--set", "initial_rate=4 Mb/s", "--time", "2 s", "--json", "--quiet"];
    let mut sender = Guard(
        net(&[&["send", &at, "--law", "jetmax"][..], &set].concat())
            .spawn()
            .unwrap(),
    );
    sleep(Span::from_millis(1800));
    let used = memory(&sender);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut sender.0.stdout.take().unwrap(), &mut said).unwrap();
    assert!(sender.0.wait().unwrap().success());
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    let number = |key: &str| last[key].as_f64().unwrap();
    assert!(number("refused") > 2.0 * number("packets"), "{last}");
    // Without a router, the flow keeps its initial rate: 2 s at 4 Mb/s give 1 MB.
    assert!((0.8e6..1.05e6).contains(&number("delivered_bytes")), "{last}");
    assert!(used < 50_000, "{used} kB");
    receiver.join().unwrap();
}

/// Packets arrive from more clients than a relay's table can hold; most packets are garbage. Memory stays bounded, and
/// known clients are served.
#[test]
fn a_relay_outlives_a_flood() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Span::from_millis(50))).unwrap();
    let to = server.local_addr().unwrap().to_string();
    let at: SocketAddr = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let relay = Guard(router(&["--relay", &at.to_string(), "--to", &to]).spawn().unwrap());
    let known = UdpSocket::bind("127.0.0.1:0").unwrap();
    let reaches = || -> bool {
        let mut room = [0; 2000];
        let word = b"are you there?";
        for _ in 0..200 {
            let _ = known.send_to(word, at);
            while let Ok(length) = server.recv(&mut room) {
                if &room[..length] == word {
                    return true;
                }
            }
        }
        false
    };
    assert!(reaches(), "the relay does not start");
    let before = memory(&relay);
    let (good, mut noise) = (good(), Noise(3));
    let flood: Vec<_> = (0..600).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    for _ in 0..50 {
        for client in &flood {
            let _ = client.send_to(&noise.broken(&good), at);
        }
    }
    assert!(reaches(), "a known client is not served");
    let grown = memory(&relay).saturating_sub(before);
    assert!(grown < 30_000, "{grown} kB");
}
