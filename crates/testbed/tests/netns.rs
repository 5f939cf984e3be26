//! Tests of network namespaces. Namespaces can be joined, send no packets on their own, and leave nothing behind.

#![allow(clippy::unwrap_used, reason = "a test panics on what it does not expect")]

use levelflow_net_testing::hosts::address;
use levelflow_net_testing::needs_root;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use levelflow_testbed::{End, Namespace, veth};
use levelflow_units::{Buffer, Bytes, Rate};

fn joined() -> (Namespace, Namespace) {
    let (a, b) = (Namespace::new("a").unwrap(), Namespace::new("b").unwrap());
    let left = End {
        namespace: &a,
        device: "left",
    };
    let right = End {
        namespace: &b,
        device: "right",
    };
    veth(left, right, 1500).unwrap();
    for (end, last) in [(left, 1), (right, 2)] {
        address(end, [10, 0, 0, last]);
        let line = format!("address add fd00::{last}/64 dev {} nodad", end.device);
        end.namespace.ip(&line).unwrap();
    }
    (a, b)
}

fn listen(at: &Namespace, address: IpAddr) -> UdpSocket {
    let socket = at.run(move || UdpSocket::bind((address, 7000))).unwrap().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    socket
}

/// Returns true as soon as `true_yet` returns true. Returns false after five seconds.
fn soon(mut true_yet: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if true_yet() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn both_families_cross_a_pair_at_once() {
    needs_root!("both_families_cross_a_pair_at_once");
    let (a, b) = joined();
    let there: [IpAddr; 2] = [Ipv4Addr::new(10, 0, 0, 2).into(), "fd00::2".parse().unwrap()];
    for address in there {
        let receiver = listen(&b, address);
        let any: IpAddr = if address.is_ipv6() {
            Ipv6Addr::UNSPECIFIED.into()
        } else {
            Ipv4Addr::UNSPECIFIED.into()
        };
        let sender = a.run(move || UdpSocket::bind((any, 0))).unwrap().unwrap();
        sender.send_to(b"here", (address, 7000)).unwrap();
        let mut buffer = [0; 16];
        let (size, from) = receiver.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..size], b"here");
        assert_eq!(from.ip().is_ipv6(), address.is_ipv6());
    }
}

#[test]
fn a_router_forwards_and_namespaces_see_only_their_own_devices() {
    needs_root!("a_router_forwards_and_namespaces_see_only_their_own_devices");
    let (a, b) = joined();
    let c = Namespace::new("c").unwrap();
    let (from, to) = (
        End {
            namespace: &b,
            device: "on",
        },
        End {
            namespace: &c,
            device: "in",
        },
    );
    veth(from, to, 1500).unwrap();
    address(from, [10, 0, 1, 1]);
    address(to, [10, 0, 1, 2]);
    b.forward().unwrap();
    a.ip("route add 10.0.1.0/24 via 10.0.0.2 dev left").unwrap();
    let receiver = listen(&c, Ipv4Addr::new(10, 0, 1, 2).into());
    let sender = a.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    sender.send_to(b"x", "10.0.1.2:7000").unwrap();
    let (_, source) = receiver.recv_from(&mut [0; 4]).unwrap();
    assert_eq!(source.ip(), Ipv4Addr::new(10, 0, 0, 1));
    let mut show = Command::new("ip");
    show.args(["-o", "link"]);
    let devices = a.output(show).unwrap();
    assert!(devices.contains("left") && !devices.contains("right"), "{devices}");
}

#[test]
fn a_token_bucket_holds_its_rate_and_drops_what_does_not_fit() {
    needs_root!("a_token_bucket_holds_its_rate_and_drops_what_does_not_fit");
    let (a, b) = joined();
    let left = End {
        namespace: &a,
        device: "left",
    };
    // With IPv6, the device would send packets when it comes up. These packets would occupy the queue.
    a.sysctl("ipv6/conf/left/disable_ipv6", "1").unwrap();
    let rate = Rate::new(8e6).unwrap();
    left.token_bucket(rate, Bytes::new(3000), Buffer::Bytes(Bytes::new(20_000)))
        .unwrap();
    let receiver = listen(&b, Ipv4Addr::new(10, 0, 0, 2).into());
    let sender = a.run(|| UdpSocket::bind("0.0.0.0:0")).unwrap().unwrap();
    sender.connect("10.0.0.2:7000").unwrap();
    for _ in 0..100 {
        let _ = sender.send(&[0; 958]); // 1000 bytes on the wire; the call may report that the queue dropped the packet
    }
    receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let start = Instant::now();
    let (mut count, mut last) = (0, start);
    while receiver.recv(&mut [0; 1000]).is_ok() {
        (count, last) = (count + 1, Instant::now());
    }
    // The burst has 3 packets, and the queue holds 20. While the sender ran, one further packet per millisecond left
    // the queue.
    assert!((22..40).contains(&count), "{count} packets");
    assert!(last - start > Duration::from_millis(15), "{:?}", last - start);
}

#[test]
fn errors_are_one_line_with_their_location() {
    needs_root!("errors_are_one_line_with_their_location");
    let a = Namespace::new("a").unwrap();
    let error = a.ip("link set dev nothing up\n").unwrap_err().to_string();
    assert!(
        error.contains("namespace a") && error.contains("nothing") && !error.contains('\n'),
        "{error}"
    );
    let error = a.sysctl("ipv4/no_such_thing", "1").unwrap_err().to_string();
    assert!(error.contains("no_such_thing") && !error.contains('\n'), "{error}");
    let error = a.spawn(Command::new("no-such-program")).unwrap_err().to_string();
    assert!(error.contains("no-such-program"), "{error}");
    assert!(a.run(|| panic!("on purpose")).is_err());
    assert_eq!(a.run(|| 7).unwrap(), 7, "works after a panic");
}

#[test]
fn children_die_with_the_namespace() {
    needs_root!("children_die_with_the_namespace");
    let a = Namespace::new("a").unwrap();
    let mut sleep = Command::new("sleep");
    let mut child = a
        .spawn({
            sleep.arg("60");
            sleep
        })
        .unwrap();
    assert!(child.try_wait().unwrap().is_none());
    drop(a);
    assert!(soon(|| child.try_wait().unwrap().is_some()));
}

/// Joins a new namespace to the namespace of this process, and waits until the process is killed. The next test runs
/// this function in a child process.
fn wait_to_be_killed() {
    let a = Namespace::new("a").unwrap();
    let path = a.path();
    let add = [
        "link", "add", "dev", "out", "type", "veth", "peer", "name", "in", "netns", &path,
    ];
    assert!(Command::new("ip").args(add).status().unwrap().success());
    let mut sleep = Command::new("sleep");
    sleep.arg("60").stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = a.spawn(sleep).unwrap();
    println!("\nchild {}", child.id());
    child.wait().unwrap();
}

// **Invariant** (The data plane): namespaces, devices and kernel programs are removed when their process ends, even
// after `kill -9`. The only exception is `clsact`, used before Linux 6.6. After `kill -9`, its filter remains until
// `router detach` or the next start, which prints a message. See `killed_it_leaves_parts_and_no_namespace`,
// `a_killed_router_leaves_no_state`.
#[test]
fn no_namespace_is_left_after_kill_9() {
    const VICTIM: &str = "LEVELFLOW_VICTIM";
    if std::env::var_os(VICTIM).is_some() {
        return wait_to_be_killed();
    }
    needs_root!("no_namespace_is_left_after_kill_9");
    let outer = Namespace::new("outer").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "--nocapture", "no_namespace_is_left_after_kill_9"])
        .env(VICTIM, "1")
        .stdout(Stdio::piped());
    let mut victim = outer.spawn(command).unwrap();
    let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("child "))
        .unwrap();
    let process = format!("/proc/{}", line.trim_start_matches("child "));
    let devices = || {
        let mut show = Command::new("ip");
        show.args(["-o", "link"]);
        outer.output(show).unwrap()
    };
    assert!(Path::new(&process).exists() && devices().contains("out@"));
    victim.kill().unwrap(); // SIGKILL: the process cannot clean up

    victim.wait().unwrap();
    assert!(soon(|| !Path::new(&process).exists()), "a child outlived it");
    assert!(soon(|| !devices().contains("out@")), "its namespace outlived it");
}
