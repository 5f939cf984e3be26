//! Tests on real sockets with failures of the path: killed routers, devices that go down, changes of links, and senders
//! that ignore feedback. Tests that need root are skipped without it.

use levelflow_net_testing::link::Running;
use levelflow_net_testing::needs_kernel;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::thread::{self, sleep};
use std::time::{Duration as Span, Instant};

use levelflow_link::{Device, Link};
use levelflow_net_testing::flows::{acks, arrivals, flow};
use levelflow_net_testing::hosts::{Guard, Hosts, after, end, params, router};
use levelflow_path::Settings;
use levelflow_testbed::{Namespace, veth};

/// Lock held during each test. Tests measure time, so only one test may run at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Fair share of each of three flows at a router with 12 Mb/s, bit/s.
const SHARE: f64 = 0.95 * 12e6 / 3.0;
/// Smallest fraction of its fair share that a flow must reach.
const KEPT: f64 = 0.9;

fn wait_until(at: Instant) {
    sleep(at.saturating_duration_since(Instant::now()));
}

/// Returns the throughput of flows 1, 2 and 3 between two times, bit/s.
fn rates(all: &[(Instant, u32, u64)], begin: Instant, end: Instant) -> [f64; 3] {
    [1, 2, 3].map(|flow| {
        let ours = all.iter().filter(|(at, f, _)| *f == flow && (begin..end).contains(at));
        ours.map(|(.., size)| *size as f64 * 8.0).sum::<f64>() / (end - begin).as_secs_f64()
    })
}

fn assert_shares(what: &str, rates: [f64; 3]) {
    println!(
        "{what}: {:.2?} Mb/s of {:.2}",
        rates.map(|rate| rate / 1e6),
        SHARE / 1e6
    );
    let fair = |rate: &f64| (KEPT..1.1).contains(&(rate / SHARE));
    assert!(rates.iter().all(fair), "{what}: {rates:?} b/s, not {SHARE}");
}

#[test]
fn flows_survive_a_relay_that_is_killed_and_started_again() {
    let _alone = ALONE.lock();
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap().to_string();
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let relay = || {
        Guard(
            router(&["--relay", &at.to_string(), "--to", &to, "--delay", "5 ms"])
                .spawn()
                .unwrap(),
        )
    };
    let first = relay();
    let start = Instant::now();
    let end = after(start, 7500);
    let receiver = thread::spawn(move || arrivals(&server, end));
    let senders = [1, 2, 3].map(|number| thread::spawn(move || flow(params(), number, at, end)));
    wait_until(after(start, 2000));
    drop(first);
    wait_until(after(start, 2500));
    let _second = relay();
    for sender in senders {
        sender.join().unwrap();
    }
    let all = receiver.join().unwrap();
    let rates = |begin, end| rates(&all, after(start, begin), after(start, end));
    assert!(
        rates(1500, 2000).iter().all(|rate| *rate > 0.0),
        "no packet arrived before"
    );
    assert_eq!(rates(2100, 2500), [0.0; 3], "packets arrived without the relay");
    assert_shares("a relay was killed and started again", rates(5500, 7500));
}

/// Creates two hosts, and the namespace of the link between them.
fn apart() -> (Hosts, Namespace) {
    let [here, there, middle] = ["lf-h-here", "lf-h-there", "lf-h-middle"].map(|n| Namespace::new(n).unwrap());
    for conf in ["all", "default"] {
        middle.sysctl(&format!("ipv6/conf/{conf}/disable_ipv6"), "1").unwrap();
    }
    veth(end(&here, "lf0"), end(&middle, "wa"), 1500).unwrap();
    veth(end(&there, "lf1"), end(&middle, "wb"), 1500).unwrap();
    let hosts = Hosts { here, there };
    hosts.address();
    (hosts, middle)
}

/// Starts a link with 20 Mb/s and 5 ms in each direction.
fn link(middle: &Namespace) -> Running {
    let ports = || [Device::open("wa").unwrap(), Device::open("wb").unwrap()];
    let ports = middle.run(ports).unwrap();
    let link = Link::new(ports, [Settings::default(), Settings::default()], 1);
    let mut running = Running::start(link);
    for change in [
        "forward rate 20 Mb/s",
        "forward buffer 50 kB",
        "forward delay 5 ms",
        "reverse delay 5 ms",
    ] {
        running.change(change.parse().unwrap());
    }
    running
}

/// Runs three flows until `end`, and runs `meanwhile` in parallel. Returns the packets that arrived.
fn three_flows(hosts: &Hosts, end: Instant, meanwhile: impl FnOnce()) -> Vec<(Instant, u32, u64)> {
    let server = hosts.server();
    let to = server.local_addr().unwrap();
    let receiver = hosts.there.thread("receiver", move || arrivals(&server, end)).unwrap();
    let sender = |number| {
        hosts
            .here
            .thread("sender", move || flow(params(), number, to, end))
            .unwrap()
    };
    let senders = [1, 2, 3].map(sender);
    meanwhile();
    for sender in senders {
        sender.join().unwrap();
    }
    receiver.join().unwrap()
}

#[test]
fn flows_survive_a_kernel_router_that_is_killed_and_started_again() {
    needs_kernel!("flows_survive_a_kernel_router_that_is_killed_and_started_again");
    let _alone = ALONE.lock();
    let hosts = Hosts::joined();
    hosts
        .here
        .tc("qdisc add dev lf0 root tbf rate 12mbit burst 3000 limit 60000")
        .unwrap();
    let first = hosts.router();
    let start = Instant::now();
    let mut second = None;
    let all = three_flows(&hosts, after(start, 7000), || {
        wait_until(after(start, 2500));
        drop(first);
        wait_until(after(start, 3500));
        second = Some(hosts.router());
    });
    let rates = |begin, end| rates(&all, after(start, begin), after(start, end));
    assert_shares("while no router is there", rates(2700, 3500));
    assert_shares("a router was killed and started again", rates(5000, 7000));
}

#[test]
fn flows_survive_a_device_that_goes_down_and_up() {
    needs_kernel!("flows_survive_a_device_that_goes_down_and_up");
    let _alone = ALONE.lock();
    let hosts = Hosts::joined();
    hosts
        .here
        .tc("qdisc add dev lf0 root tbf rate 12mbit burst 3000 limit 60000")
        .unwrap();
    let _router = hosts.router();
    let start = Instant::now();
    let all = three_flows(&hosts, after(start, 8000), || {
        wait_until(after(start, 2000));
        hosts.here.ip("link set lf0 down").unwrap();
        wait_until(after(start, 3000));
        hosts.here.ip("link set lf0 up").unwrap();
    });
    let rates = |begin, end| rates(&all, after(start, begin), after(start, end));
    assert_eq!(rates(2200, 3000), [0.0; 3], "packets arrived while the device was down");
    assert_shares("a device was down for a second", rates(6000, 8000));
}

#[test]
fn flows_survive_a_path_that_changes() {
    needs_kernel!("flows_survive_a_path_that_changes");
    let _alone = ALONE.lock();
    let (hosts, middle) = apart();
    let mut link = link(&middle);
    let _router = hosts.router();
    let start = Instant::now();
    let all = three_flows(&hosts, after(start, 9000), || {
        for (ms, change) in [
            (2500, "forward delay 35 ms"),
            (5000, "forward rate 6 Mb/s"),
            (6500, "forward rate 20 Mb/s"),
        ] {
            wait_until(after(start, ms));
            link.change(change.parse().unwrap());
        }
    });
    let rates = |begin, end| rates(&all, after(start, begin), after(start, end));
    assert_shares("the path became 30 ms longer", rates(4000, 5000));
    let squeezed: f64 = rates(5500, 6500).iter().sum();
    println!(
        "the path became narrower than its router's capacity: {:.2} of 6 Mb/s",
        squeezed / 1e6
    );
    assert!((KEPT..1.05).contains(&(squeezed / 6e6)), "{squeezed} b/s of 6 Mb/s");
    assert_shares("the path is wide again", rates(8000, 9000));
}

/// A deaf sender ignores feedback and sends at half the line rate. The kernel router shares the remaining capacity.
#[test]
fn a_kernel_router_shares_what_a_deaf_sender_leaves() {
    needs_kernel!("a_kernel_router_shares_what_a_deaf_sender_leaves");
    let _alone = ALONE.lock();
    let hosts = Hosts::joined();
    hosts
        .here
        .tc("qdisc add dev lf0 root tbf rate 12mbit burst 3000 limit 60000")
        .unwrap();
    let _router = hosts.router();
    let start = Instant::now();
    let (begin, end) = (after(start, 3000), after(start, 5000));
    let blast = move || {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let mut sent = 0;
        while Instant::now() < end {
            while sent < start.elapsed().as_micros() as u64 * 6 / 8000 {
                let _ = socket.send_to(&[1; 958], "10.9.8.2:9");
                sent += 1;
            }
            sleep(Span::from_millis(2));
        }
    };
    let server = hosts.server();
    let to = server.local_addr().unwrap();
    let receiver = hosts
        .there
        .thread("receiver", move || acks(&server, begin, end))
        .unwrap();
    let deaf = hosts.here.thread("deaf", blast).unwrap();
    let sender = |number| {
        hosts
            .here
            .thread("sender", move || flow(params(), number, to, end))
            .unwrap()
    };
    for sender in [1, 2].map(sender) {
        sender.join().unwrap();
    }
    deaf.join().unwrap();
    let bytes = receiver.join().unwrap();
    let left = (0.95 * 12e6 - 6e6) / 2.0;
    let rates = [1, 2].map(|flow| bytes.get(&flow).copied().unwrap_or(0) as f64 * 8.0 / 2.0);
    println!(
        "with 6 Mb/s of unresponsive load: {:.2?} Mb/s of {:.2}",
        rates.map(|rate| rate / 1e6),
        left / 1e6
    );
    assert!(
        rates.iter().all(|rate| (KEPT..1.1).contains(&(rate / left))),
        "{rates:?} b/s, not {left}"
    );
}
