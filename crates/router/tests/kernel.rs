//! Tests of the kernel router on real devices. The router must stamp every segment of a super-packet (GSO) and keep
//! checksums valid. When the router ends, nothing may remain. The tests need root and a build with clang, and are
//! skipped otherwise.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use levelflow_net_testing::needs_kernel;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::Duration;

use levelflow_laws::{
    AnyHeader, AnyParams, AnyRouter, AnyRouterParams, AnySender, Arriving, FlowInfo, Kind, Outgoing, PortInfo,
    RouterLaw, SenderLaw,
};
use levelflow_router::device::DataPath;
use levelflow_router::kernel::{Hook, Program, attached, detach};
use levelflow_testbed::Namespace;
use levelflow_units::{Bytes, Rate, Time};
use levelflow_wire::shim::{SHIM_BYTES, Shim};

/// Number of datagrams in a super-packet, which the device splits into segments.
const PARTS: usize = 16;
/// Environment variable that marks the process that a test starts and kills. Its value is the hook of the router.
const VICTIM: &str = "LEVELFLOW_VICTIM";

fn params() -> (AnyRouterParams, PortInfo) {
    (routers("rcp"), port())
}

fn law(name: &str) -> AnyParams {
    levelflow_scenario::law_params(name, &BTreeMap::new()).unwrap()
}

fn routers(name: &str) -> AnyRouterParams {
    levelflow_scenario::signalling_params(name, &BTreeMap::new()).unwrap()
}

fn port() -> PortInfo {
    PortInfo {
        id: 3,
        capacity: Rate::new(10e6).unwrap(),
    }
}

/// Packets of a test.
#[derive(Clone)]
struct Packets {
    params: AnyParams,
    routers: AnyRouterParams,
    /// Payload size of a datagram, bytes.
    part: usize,
    /// Number of header bytes that do not depend on the arrival time.
    timeless: usize,
}

impl Packets {
    fn rcp() -> Self {
        Self {
            params: law("rcp"),
            routers: routers("rcp"),
            part: 1000,
            timeless: 8,
        }
    }

    /// Packets whose header and payload have odd lengths. The queueing delay is the last field of the header.
    fn level() -> Self {
        Self {
            params: law("level"),
            routers: routers("level"),
            part: 999,
            timeless: 28,
        }
    }

    /// Returns the header of a new sender without feedback.
    fn header(&self) -> AnyHeader {
        let packet = Outgoing {
            number: 0,
            size: Bytes::new(self.part as u64),
            kind: Kind::Data,
        };
        let flow = FlowInfo::of(packet.size);
        AnySender::new(&self.params, &flow).on_send(&self.params, Time::ZERO, &packet)
    }

    /// Returns the header of a new sender after a new router has stamped it.
    fn stamped(&self) -> AnyHeader {
        let mut header = self.header();
        let mut router = AnyRouter::new(&self.routers, &port());
        let arriving = Arriving::alone(Bytes::new(self.part as u64));
        router.on_arrival(&self.routers, &arriving, Some(&mut header));
        if router.stamps_departures() {
            router.on_departure(&self.routers, arriving.size, &mut header);
        }
        header
    }

    fn wire(&self, header: &AnyHeader) -> Vec<u8> {
        let mut wire = vec![0; self.params.law().signalling.header_bytes()];
        header.encode(&mut wire);
        wire.truncate(self.timeless);
        wire
    }

    /// Returns the bytes of a super-packet.
    fn datagrams(&self) -> Vec<u8> {
        let signalling = self.params.law().signalling;
        let mut all = Vec::new();
        for number in 0..PARTS as u32 {
            let mut bytes = vec![number as u8; self.part];
            let shim = Shim {
                kind: Kind::Data,
                marked: false,
                more: false,
                unacknowledged: false,
                signalling: signalling.number,
                header: signalling.header_bytes() as u8,
                flow: 1,
                number,
                time: 0,
            };
            shim.encode(&mut bytes);
            self.header().encode(&mut bytes[SHIM_BYTES..]);
            all.extend(bytes);
        }
        all
    }
}

/// Three namespaces in a row: sender, router and receiver.
struct Path {
    sender: Namespace,
    router: Namespace,
    receiver: Namespace,
}

impl Path {
    fn new() -> Self {
        let new = |name| Namespace::new(name).unwrap();
        let (sender, router, receiver) = (new("lf-k-sender"), new("lf-k-router"), new("lf-k-receiver"));
        for (end, near, far, net) in [(&sender, "lf0", "in", 1), (&receiver, "lf3", "out", 2)] {
            end.ip(&format!(
                "link add {near} type veth peer name {far} netns {}",
                router.path()
            ))
            .unwrap();
            for (namespace, device, last) in [(end, near, 1), (&router, far, 2)] {
                namespace
                    .ip(&format!(
                        "addr add 10.77.{net}.{last}/24 dev {device}\naddr add fd77:{net}::{last}/64 dev {device} nodad\nlink set dev {device} up"
                    ))
                    .unwrap();
            }
            end.ip(&format!(
                "route add default via 10.77.{net}.2\nroute add ::/0 via fd77:{net}::2"
            ))
            .unwrap();
        }
        router.forward().unwrap();
        Self {
            sender,
            router,
            receiver,
        }
    }

    /// Sends super-packets to the receiver. Returns the part of each received header that does not depend on time.
    fn headers(&self, packets: &Packets, receiver: IpAddr, sends: usize) -> Vec<Vec<u8>> {
        let any: IpAddr = match receiver {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = self
            .receiver
            .run(move || UdpSocket::bind((receiver, 7700)))
            .unwrap()
            .unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let sender = self.sender.run(move || UdpSocket::bind((any, 0))).unwrap().unwrap();
        nix::sys::socket::setsockopt(
            &sender,
            nix::sys::socket::sockopt::UdpGsoSegment,
            &(packets.part as i32),
        )
        .unwrap();
        let super_packet = packets.datagrams();
        let mut headers = Vec::new();
        for _ in 0..sends {
            assert_eq!(
                sender.send_to(&super_packet, (receiver, 7700)).unwrap(),
                super_packet.len()
            );
            for part in 0..PARTS {
                let mut bytes = vec![0; 2 * packets.part];
                let Ok(length) = socket.recv(&mut bytes) else {
                    return headers;
                };
                let (shim, header, rest) = Shim::decode(&bytes[..length]).unwrap();
                assert_eq!((length, shim.number), (packets.part, part as u32));
                assert!(rest.iter().all(|byte| *byte == part as u8), "the payload was changed");
                headers.push(packets.wire(&AnyHeader::decode(packets.params.law().signalling, header).unwrap()));
            }
        }
        headers
    }
}

fn crosses(packets: &Packets, offloads: &str, hook: Hook) {
    if Command::new("ethtool").arg("--version").output().is_err() {
        let test = format!("packets across a router, offloads {offloads}");
        return levelflow_net_testing::skip(&test, "ethtool", "it is not installed");
    }
    let path = Path::new();
    let offload = |namespace: &Namespace, device: &str| {
        let mut ethtool = Command::new("ethtool");
        ethtool.args(["-K", device]);
        for feature in ["tx", "gso", "tx-udp-segmentation"] {
            ethtool.args([feature, offloads]);
        }
        namespace.output(ethtool).unwrap();
    };
    offload(&path.sender, "lf0");
    offload(&path.router, "out");
    let (params, part) = (packets.routers.clone(), packets.part as u64);
    let mut program = path
        .router
        .run(move || Program::attach("out", &params, &port(), Some(hook)).unwrap())
        .unwrap();
    let stamped = packets.wire(&packets.stamped());
    let mut sent = 0;
    for address in ["10.77.2.1", "fd77:2::1"] {
        let headers = path.headers(packets, address.parse().unwrap(), 20);
        sent += headers.len() as u64;
        assert_eq!(
            headers.len(),
            20 * PARTS,
            "{address}: packets were lost, offloads {offloads}"
        );
        for header in headers {
            assert_eq!(header, stamped, "{address}");
        }
    }
    let (_, traffic) = program.collect().unwrap();
    assert_eq!((traffic.stamped, traffic.refused), (sent, 0));
    let ours: u64 = [42, 62].map(|headers| sent / 2 * (part + headers)).iter().sum();
    // Neighbour discovery is the only other traffic.
    assert!(
        traffic.bytes >= ours && traffic.bytes - ours < 2000,
        "{traffic:?}, ours {ours}"
    );
    // A filter is removed in the namespace of the calling process.
    path.router.run(move || drop(program)).unwrap();
    let untouched = packets.wire(&packets.header());
    assert_ne!(untouched, stamped);
    assert!(
        path.headers(packets, "10.77.2.1".parse().unwrap(), 1)
            .iter()
            .all(|header| *header == untouched)
    );
}

// **Invariant** (The router in the kernel): every segment of a super-packet is stamped, and checksums are correct. See
// `checksums_are_right_without_offload`.
#[test]
fn every_part_of_a_super_packet_is_stamped() {
    needs_kernel!("every_part_of_a_super_packet_is_stamped");
    crosses(&Packets::rcp(), "on", Hook::Tcx);
}

#[test]
fn checksums_are_right_without_offload() {
    needs_kernel!("checksums_are_right_without_offload");
    crosses(&Packets::rcp(), "off", Hook::Clsact);
}

#[test]
fn headers_and_payloads_of_odd_length_cross() {
    needs_kernel!("headers_and_payloads_of_odd_length_cross");
    crosses(&Packets::level(), "on", Hook::Tcx);
    crosses(&Packets::level(), "off", Hook::Clsact);
}

#[test]
fn a_device_has_one_router() {
    needs_kernel!("a_device_has_one_router");
    let namespace = Namespace::new("lf-k-one").unwrap();
    namespace.ip("link add one type veth peer name two").unwrap();
    namespace.ip("tuntap add mode tun name three").unwrap();
    let work = || {
        let (params, info) = params();
        for hook in [Hook::Tcx, Hook::Clsact] {
            let first = Program::attach("one", &params, &info, Some(hook)).unwrap();
            let second = Program::attach("one", &params, &info, Some(hook)).unwrap_err();
            assert!(second.to_string().contains("a router is attached already"), "{second}");
            drop(first);
            drop(Program::attach("one", &params, &info, Some(hook)).unwrap());
        }
        assert!(!attached("one").unwrap());
        assert!(!detach("one").unwrap() && !detach("two").unwrap());
        for (device, why) in [("three", "no Ethernet header"), ("four", "no such device")] {
            let refused = Program::attach(device, &params, &info, None).unwrap_err();
            assert!(refused.to_string().contains(why) && refused.status() == 2, "{refused}");
        }
    };
    namespace.run(work).unwrap();
}

#[test]
fn no_packet_is_counted_twice_or_not_at_all_while_intervals_end() {
    needs_kernel!("no_packet_is_counted_twice_or_not_at_all_while_intervals_end");
    let namespace = Namespace::new("lf-k-count").unwrap();
    let work = || {
        let (params, info) = params();
        let mut program = Program::attach("lo", &params, &info, None).unwrap();
        let words = [0; 8];
        let (mut law, mut people, mut ends) = (0, 0, 0);
        let mut end = |program: &mut Program| {
            let (counted, traffic) = program.collect().unwrap();
            law += counted[0];
            people += traffic.bytes;
            program.load_words(&words).unwrap();
            (law, people)
        };
        std::thread::scope(|scope| {
            let senders: Vec<_> = (0..2).map(|_| scope.spawn(send_for_a_while)).collect();
            while senders.iter().any(|sender| !sender.is_finished()) {
                end(&mut program);
                ends += 1;
            }
        });
        end(&mut program);
        let (law, people) = end(&mut program);
        assert_eq!(law, people, "after {ends} intervals");
        assert!(law > 1_000_000 && ends > 100, "{law} bytes, {ends} intervals");
    };
    namespace.run(work).unwrap();
}

fn send_for_a_while() {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let packets = Packets::rcp();
    let datagram = &packets.datagrams()[..packets.part];
    for _ in 0..20_000 {
        let _ = socket.send_to(datagram, sink.local_addr().unwrap());
    }
}

/// Attaches a router and sleeps. The next test runs this function in a process, and kills the process.
fn wait_to_be_killed(hook: Hook) {
    let (params, info) = params();
    let _program = Program::attach("one", &params, &info, Some(hook)).unwrap();
    println!("attached");
    std::io::stdout().flush().unwrap();
    std::thread::sleep(Duration::from_secs(30));
}

#[test]
fn a_killed_router_leaves_no_state() {
    if let Some(hook) = std::env::var_os(VICTIM) {
        return wait_to_be_killed(if hook == "clsact" { Hook::Clsact } else { Hook::Tcx });
    }
    needs_kernel!("a_killed_router_leaves_no_state");
    let namespace = Namespace::new("lf-k-kill").unwrap();
    namespace.ip("link add one type veth peer name two").unwrap();
    for clsact in [false, true] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", "a_killed_router_leaves_no_state"])
            .env(VICTIM, if clsact { "clsact" } else { "tcx" })
            .stdout(Stdio::piped());
        let mut child = namespace.spawn(command).unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        assert!(lines.any(|line| line.unwrap().contains("attached")));
        child.kill().unwrap();
        child.wait().unwrap();
        let work = move || {
            let (params, info) = params();
            if clsact {
                let refused = Program::attach("one", &params, &info, Some(Hook::Clsact)).unwrap_err();
                assert!(refused.to_string().contains("router detach --dev one"), "{refused}");
            }
            assert_eq!(detach("one").unwrap(), clsact);
            drop(Program::attach("one", &params, &info, None).unwrap());
        };
        namespace.run(work).unwrap();
    }
}
