//! Tests of emulated links, with measurements of the traffic through them.

use levelflow_net_testing::hosts::address;
use levelflow_net_testing::link::Running;
use levelflow_net_testing::needs_root;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use levelflow_link::control::Setting;
use levelflow_link::{Device, Link, Report};
use levelflow_path::Settings;
use levelflow_testbed::{End, Namespace, veth};
use nix::sys::socket::{setsockopt, sockopt};

/// Payload of a datagram of 1000 bytes on the wire.
const PAYLOAD: usize = 958;

/// Two hosts, and the namespace of the link between them.
struct Pair {
    a: Namespace,
    b: Namespace,
    middle: Namespace,
}

impl Pair {
    fn new() -> Self {
        let [a, b, middle] = ["a", "b", "middle"].map(|name| Namespace::new(name).unwrap());
        // IPv6 is disabled: a new device would send frames by itself, and the tests count frames.
        for (namespace, conf) in [&a, &b, &middle].into_iter().flat_map(|n| [(n, "all"), (n, "default")]) {
            namespace
                .sysctl(&format!("ipv6/conf/{conf}/disable_ipv6"), "1")
                .unwrap();
        }
        for (host, device, far, last) in [(&a, "a0", "wa", 1), (&b, "b0", "wb", 2)] {
            let end = End {
                namespace: host,
                device,
            };
            veth(
                end,
                End {
                    namespace: &middle,
                    device: far,
                },
                1500,
            )
            .unwrap();
            address(end, [10, 0, 0, last]);
        }
        Self { a, b, middle }
    }

    fn ports(&self) -> [Device; 2] {
        self.middle
            .run(|| [Device::open("wa").unwrap(), Device::open("wb").unwrap()])
            .unwrap()
    }

    fn start(&self, forward: &[(&str, &str)], reverse: &[(&str, &str)]) -> Running {
        let settings = [settings(forward), settings(reverse)];
        Running::start(Link::new(self.ports(), settings, 1))
    }

    fn sockets(&self) -> (UdpSocket, UdpSocket) {
        let open = |at: &Namespace| at.run(|| UdpSocket::bind("0.0.0.0:7000")).unwrap().unwrap();
        let (a, b) = (open(&self.a), open(&self.b));
        a.connect("10.0.0.2:7000").unwrap();
        b.connect("10.0.0.1:7000").unwrap();
        for socket in [&a, &b] {
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            // The socket's buffer must hold the packets until the test reads them.
            setsockopt(socket, sockopt::RcvBufForce, &(16 << 20)).unwrap();
        }
        // Addresses of neighbours are resolved before the measurement.
        a.send(&[0]).unwrap();
        b.recv(&mut [0; 8]).unwrap();
        (a, b)
    }
}

fn settings(list: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in list {
        Setting::read(name, value).unwrap().apply(&mut settings);
    }
    settings
}

fn forward(running: &mut Running) -> Report {
    running.report().unwrap()[0].clone()
}

fn one_way(a: &UdpSocket, b: &UdpSocket, size: usize) -> Duration {
    let start = Instant::now();
    a.send(&vec![0; size]).unwrap();
    b.recv(&mut [0; 2000]).unwrap();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e3
}

#[test]
fn each_direction_has_its_delay() {
    needs_root!("each_direction_has_its_delay");
    let pair = Pair::new();
    let _running = pair.start(&[("delay", "10 ms"), ("rate", "8 Mb/s")], &[("delay", "3 ms")]);
    let (a, b) = pair.sockets();
    // 10 ms of propagation, and 1 ms to transmit 1000 bytes.
    let there = median((0..15).map(|_| one_way(&a, &b, PAYLOAD)).collect());
    let back = median((0..15).map(|_| one_way(&b, &a, PAYLOAD)).collect());
    assert!((11.0..12.0).contains(&there), "{there} ms");
    assert!((3.0..4.0).contains(&back), "{back} ms");
}

#[test]
fn an_overloaded_link_carries_its_rate_keeps_its_buffer_full_and_drops_the_rest() {
    needs_root!("an_overloaded_link_carries_its_rate_keeps_its_buffer_full_and_drops_the_rest");
    let pair = Pair::new();
    let mut running = pair.start(&[("rate", "20 Mb/s"), ("buffer", "50 kB"), ("delay", "1 ms")], &[]);
    let (a, b) = pair.sockets();
    // Bursts of 10 packets every 3 ms: 26.7 Mb/s.
    let start = Instant::now();
    let sender = std::thread::spawn(move || {
        for burst in 1..=333u32 {
            for _ in 0..10 {
                a.send(&[0; PAYLOAD]).unwrap();
            }
            std::thread::sleep((burst * Duration::from_millis(3)).saturating_sub(start.elapsed()));
        }
    });
    let (mut count, mut first, mut last) = (0, None, start);
    while b.recv(&mut [0; 2000]).is_ok() {
        last = Instant::now();
        first.get_or_insert(last);
        count += 1;
    }
    sender.join().unwrap();
    let rate = f64::from(count - 1) * 8000.0 / (last - first.unwrap()).as_secs_f64();
    assert!((rate / 20e6 - 1.0).abs() < 0.02, "{rate} b/s");
    let report = forward(&mut running);
    // The queue holds 50 packets. The last packet waits for 49 transmissions of 0.4 ms.
    assert!((report.queueing.p99 * 1e3 - 19.8).abs() < 0.4, "{report:?}");
    assert!(report.queue_peak <= 50_000 && report.queue_peak > 49_000, "{report:?}");
    assert_eq!(report.arrived, report.delivered + report.dropped);
    assert!(
        report.dropped > 500 && !report.input.any() && !report.output.any(),
        "{report:?}"
    );
}

#[test]
fn packets_are_lost_as_often_as_asked_and_the_rest_keeps_its_order() {
    needs_root!("packets_are_lost_as_often_as_asked_and_the_rest_keeps_its_order");
    let pair = Pair::new();
    let mut running = pair.start(&[("jitter", "3 ms")], &[]);
    let (a, b) = pair.sockets();
    running.change("forward loss 0.1".parse().unwrap());
    forward(&mut running);
    let sender = std::thread::spawn(move || {
        for number in 0..4000u32 {
            a.send(&number.to_be_bytes()).unwrap();
            if number % 50 == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    });
    let (mut count, mut last, mut buffer) = (0, None, [0; 4]);
    while b.recv(&mut buffer).is_ok() {
        assert!(Some(buffer) > last, "{buffer:?} after {last:?}");
        (count, last) = (count + 1, Some(buffer));
    }
    sender.join().unwrap();
    let report = forward(&mut running);
    assert_eq!(4000, count + report.lost, "received {count}: {report:?}");
    // The allowed error is five standard deviations: 5 sqrt(4000 0.1 0.9) = 95.
    assert!(report.lost.abs_diff(400) < 95, "{report:?}");
}

#[test]
fn a_change_holds_at_once() {
    needs_root!("a_change_holds_at_once");
    let pair = Pair::new();
    let mut running = pair.start(&[("delay", "2 ms")], &[]);
    let (a, b) = pair.sockets();
    let before = median((0..9).map(|_| one_way(&a, &b, 100)).collect());
    running.change("forward delay 12 ms".parse().unwrap());
    let after = median((0..9).map(|_| one_way(&a, &b, 100)).collect());
    assert!((9.0..11.0).contains(&(after - before)), "{before} ms, then {after} ms");
}

#[test]
fn a_trace_is_replayed_on_time() {
    needs_root!("a_trace_is_replayed_on_time");
    let pair = Pair::new();
    let folder = std::env::temp_dir().join(format!("levelflow-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("line.csv"), "t_s,delay_s\n0,0.002\n2,0.022\n3,0.002\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(["link", "wa", "wb", "--realtime", "--for", "20 s", "--trace"]);
    command.arg(folder.join("line.csv"));
    let mut link = pair.middle.spawn(command).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (a, b) = pair.sockets();
    // The line carries only one small packet every 20 ms.
    let start = Instant::now();
    let mut times = Vec::new();
    while start.elapsed() < Duration::from_secs(4) {
        times.push((start.elapsed(), one_way(&a, &b, 100)));
        std::thread::sleep(Duration::from_millis(20));
    }
    link.kill().unwrap();
    link.wait().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let slow: Vec<_> = times.iter().filter(|(_, took)| took.as_millis() >= 12).collect();
    let (first, last) = (slow[0].0, slow[slow.len() - 1].0);
    assert!(
        (0.9..1.05).contains(&last.checked_sub(first).unwrap().as_secs_f64()),
        "slow from {first:?} to {last:?}"
    );
    assert!(median(slow.iter().map(|(_, took)| *took).collect()) < 23.5);
    let fast = times.iter().map(|(_, took)| *took).filter(|took| took.as_millis() < 12);
    assert!((2.0..3.5).contains(&median(fast.collect())));
}

#[test]
fn super_packets_become_what_a_wire_carries() {
    needs_root!("super_packets_become_what_a_wire_carries");
    let pair = Pair::new();
    // Restores the default that veth pairs of users have. The device then has to segment super-packets.
    pair.a.ip("link set dev a0 gso_max_segs 65535\n").unwrap();
    let mut running = pair.start(&[], &[]);
    let (a, b) = pair.sockets();
    setsockopt(&a, sockopt::UdpGsoSegment, &1000).unwrap();
    let data: Vec<u8> = (0..9500).map(|n: u32| (n % 251) as u8).collect();
    let before = forward(&mut running).arrived;
    a.send(&data).unwrap();
    let mut received = Vec::new();
    let mut buffer = [0; 2000];
    while received.len() < data.len() {
        let size = b.recv(&mut buffer).unwrap(); // the kernel has verified the datagram's checksum
        assert!(size <= 1000);
        received.extend_from_slice(&buffer[..size]);
    }
    assert_eq!(received, data);
    let report = forward(&mut running);
    assert_eq!((report.arrived - before, report.input.odd), (10, 0), "{report:?}");
}

#[test]
fn a_device_may_go_down_and_come_back_but_not_vanish() {
    needs_root!("a_device_may_go_down_and_come_back_but_not_vanish");
    let pair = Pair::new();
    let mut running = pair.start(&[], &[]);
    let (a, b) = pair.sockets();
    pair.middle.ip("link set dev wb down\n").unwrap();
    a.send(&[0]).unwrap();
    assert!(b.recv(&mut [0; 8]).is_err());
    assert!(running.report().unwrap()[0].output.down > 0);
    pair.middle.ip("link set dev wb up\n").unwrap();
    a.send(&[0]).unwrap();
    assert!(b.recv(&mut [0; 8]).is_ok());
    pair.middle.ip("link del dev wb\n").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    let error = running.report().unwrap_err().to_string();
    assert_eq!(error, "device wb has vanished");
}

#[test]
fn kernel_tcp_fills_the_link_that_the_command_emulates() {
    needs_root!("kernel_tcp_fills_the_link_that_the_command_emulates");
    let (share, there) = kernel_tcp_over(&["--buffer", "50 kB"]);
    assert!((0.9..1.01).contains(&share), "{share}");
    assert_eq!((&there["from"], &there["to"]), (&"wa".into(), &"wb".into()));
    assert!(there["delivered_bytes"].as_u64().unwrap() > 5_000_000, "{there}");
}

/// CoDel's target is 5 ms. Without CoDel, the delay of a full queue of 1000 packets would be 600 ms.
#[test]
fn a_queue_discipline_keeps_the_queue_of_kernel_tcp_short() {
    needs_root!("a_queue_discipline_keeps_the_queue_of_kernel_tcp_short");
    let (share, there) = kernel_tcp_over(&["--queue", "fq_codel"]);
    assert!((0.85..1.01).contains(&share), "{share}");
    assert!(there["queueing"]["p50"].as_f64().unwrap() < 0.015, "{there}");
    assert!(there["dropped"].as_u64().unwrap() > 0, "{there}");
}

/// Runs kernel TCP for 3 s over `levelflow-net link` at 20 Mb/s and 5 ms in each direction. Returns the fraction of the
/// line's payload rate that TCP delivers after slow start, and the counters of its direction.
fn kernel_tcp_over(options: &[&str]) -> (f64, serde_json::Value) {
    let pair = Pair::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(["link", "wa", "wb", "--rate", "20 Mb/s", "--delay", "5 ms"]);
    command.args(options);
    command
        .args(["--realtime", "--json", "--for", "20 s"])
        .stdout(Stdio::piped());
    let link = pair.middle.spawn(command).unwrap();
    let listener = pair
        .b
        .run(|| std::net::TcpListener::bind("10.0.0.2:7000"))
        .unwrap()
        .unwrap();
    let receiver = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut bytes, mut buffer, mut begin) = (0, vec![0; 65536], None);
        while let Ok(size @ 1..) = std::io::Read::read(&mut stream, &mut buffer) {
            // Data that arrives during slow start is not counted.
            let now = Instant::now();
            let begin = *begin.get_or_insert(now + Duration::from_millis(500));
            bytes += if now >= begin { size } else { 0 };
        }
        bytes as f64 * 8.0 / begin.map_or(f64::INFINITY, |begin| begin.elapsed().as_secs_f64())
    });
    let send = || {
        let mut stream = (0..50).find_map(|_| {
            std::thread::sleep(Duration::from_millis(50));
            std::net::TcpStream::connect("10.0.0.2:7000").ok()
        });
        let stream = stream.as_mut().unwrap();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            std::io::Write::write_all(stream, &[0; 16_384]).unwrap();
        }
    };
    pair.a.run(send).unwrap();
    let rate = receiver.join().unwrap();
    let id = rustix::process::Pid::from_raw(link.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let output = link.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Of 1514 bytes on the wire, 1448 are payload.
    (rate / (20e6 * 1448.0 / 1514.0), summary["directions"][0].take())
}
