//! Tests of `levelflow-net abs --memory` with HTB leaves that share one memory. Need root; skipped without it.

use levelflow_net_testing::needs_root;
use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_host::limit::limit_of;
use levelflow_host::qdisc::Device;
use levelflow_net_testing::again::again;
use levelflow_net_testing::device::with_device;
use levelflow_net_testing::finish::finish;
use levelflow_net_testing::guard::Guard;
use levelflow_testbed::Namespace;
use serde_json::Value;

const TOTAL: u32 = 60;
/// Two lines of 2 Mb/s, each with a guaranteed half of the memory.
const LEAVES: &str = "qdisc replace dev lf0 root handle 4: htb\n\
                      class add dev lf0 parent 4: classid 4:1 htb rate 2mbit burst 2000 quantum 2000\n\
                      class add dev lf0 parent 4: classid 4:2 htb rate 2mbit burst 2000 quantum 2000\n\
                      qdisc add dev lf0 parent 4:1 handle 10: pfifo limit 20\n\
                      qdisc add dev lf0 parent 4:2 handle 20: pfifo limit 20";

fn namespace() -> Namespace {
    let namespace = with_device("lf-d-mem");
    namespace.tc(LEAVES).unwrap();
    namespace
}

fn abs(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(["abs", "--dev", "lf0", "--loss", "0.01"]).args(args);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run(namespace: &Namespace, args: &[&str]) -> Output {
    finish(namespace.spawn(abs(args)).unwrap())
}

/// Sends datagrams at twice the rate of a leaf until stopped. If the thread wakes late, it catches up.
fn overload(namespace: &Namespace, leaf: u32, stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    let send = move || {
        let socket = UdpSocket::bind("10.9.8.1:0").unwrap();
        // HTB selects the class whose number equals the packet's priority.
        socket2::SockRef::from(&socket).set_priority(0x4_0000 | leaf).unwrap();
        let (begun, mut sent) = (Instant::now(), 0);
        while !stop.load(Relaxed) {
            while sent < begun.elapsed().as_millis() / 2 {
                let _ = socket.send_to(&[0; 958], "10.9.8.2:9"); // the call may fail if the queue is full
                sent += 1;
            }
            sleep(Span::from_millis(10));
        }
    };
    drop(namespace.thread("load", send).unwrap());
}

/// Returns the limit and backlog of each leaf, all from one reading.
fn now(namespace: &Namespace) -> Vec<(u32, u32)> {
    let read = || {
        let mut leaves = Device::open("lf0").unwrap().queues().unwrap();
        leaves.retain(|found| found.queue.kind == "pfifo");
        leaves.sort_by_key(|found| found.handle.major);
        let leaf =
            |found: &levelflow_host::tc::Found| (limit_of("pfifo", &found.options).unwrap(), found.queue.packets);
        leaves.iter().map(leaf).collect::<Vec<_>>()
    };
    namespace.run(read).unwrap()
}

/// Waits until the condition holds. Fails if the sum of limits or backlogs exceeds the memory at any time.
fn watch(namespace: &Namespace, what: &str, done: impl Fn(&[(u32, u32)]) -> bool) {
    let begun = Instant::now();
    loop {
        let leaves = now(namespace);
        let used: u32 = leaves.iter().map(|(limit, held)| limit.max(held)).sum();
        assert!(used <= TOTAL, "{leaves:?}: more than {TOTAL}");
        if done(&leaves) {
            return;
        }
        assert!(
            begun.elapsed() < Span::from_secs(10),
            "not within 10 s: {what}; {leaves:?}"
        );
        sleep(Span::from_millis(3));
    }
}

#[test]
fn leaves_share_a_memory_that_is_never_exceeded() {
    needs_root!("leaves_share_a_memory_that_is_never_exceeded");
    let (namespace, directory) = (namespace(), tempfile::tempdir().unwrap());
    let log = directory.path().join("log");
    let stop = Arc::new(AtomicBool::new(false));
    let args = ["--qdisc", "4:1", "--qdisc", "4:2", "--memory", "60 packets"];
    let more = ["--every", "0.1 s", "--set", "rtt=10 ms", "--set", "gain=0.2", "--log"];
    let mut command = abs(&[&args[..], &more[..], &[log.to_str().unwrap()]].concat());
    command.stdout(Stdio::null());
    let algorithm = Guard(namespace.spawn(command).unwrap());
    // The first leaf demands more and more memory, and the second leaf demands none. The first leaf therefore gets all
    // memory that the second leaf does not use.
    overload(&namespace, 1, &stop);
    watch(
        &namespace,
        "the first has all memory that the second does not use",
        |now| now.iter().map(|(limit, _)| limit).eq(&[40, 20]),
    );
    let status = run_status(&namespace);
    assert!(
        status.contains("memory 60 packets") && status.contains("10: limit 40 packets (wants "),
        "{status}"
    );
    // Now both leaves demand more memory. Each leaf gets half of the memory after the first leaf's queue has drained.
    overload(&namespace, 2, &stop);
    watch(&namespace, "both have half", |now| {
        now.iter().all(|(limit, _)| *limit == 30)
    });
    stop.store(true, Relaxed);
    drop(algorithm);
    assert_eq!(
        now(&namespace).iter().map(|leaf| leaf.0).collect::<Vec<_>>(),
        [20, 20],
        "restored"
    );
    done_again(&fs::read_to_string(&log).unwrap());
}

fn run_status(namespace: &Namespace) -> String {
    let begun = Instant::now();
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
        command.args(["abs", "status"]).stdout(Stdio::piped());
        let output = finish(namespace.spawn(command).unwrap());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The status is published once a second.
        if text.contains("wants") || begun.elapsed() > Span::from_secs(5) {
            return text;
        }
        sleep(Span::from_millis(50));
    }
}

/// Verifies that the simulator's algorithm computes the same limits from the inputs in the log.
fn done_again(log: &str) {
    for queue in 0..2 {
        let (mut wanted_more, mut decisions) = (0, 0);
        again(log, queue, |decision, asked| {
            assert_eq!(decision["wanted"], asked, "{decision}");
            wanted_more += u32::from(decision["limit"] != asked);
            decisions += 1;
        });
        assert!(
            wanted_more > 0 && decisions > 5,
            "{wanted_more} of {decisions} of queue {queue}"
        );
    }
}

#[test]
fn a_dry_run_divides_and_sets_nothing() {
    needs_root!("a_dry_run_divides_and_sets_nothing");
    let namespace = namespace();
    let stop = Arc::new(AtomicBool::new(false));
    overload(&namespace, 1, &stop);
    overload(&namespace, 2, &stop);
    let args = [
        "--qdisc",
        "4:1",
        "--qdisc",
        "4:2",
        "--memory",
        "50 packets",
        "--dry-run",
        "--json",
    ];
    let more = [
        "--every",
        "0.1 s",
        "--duration",
        "1 s",
        "--set",
        "rtt=1 ms",
        "--set",
        "gain=1",
    ];
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log");
    let logged = ["--log", log.to_str().unwrap()];
    let output = run(&namespace, &[&args[..], &more[..], &logged[..]].concat());
    stop.store(true, Relaxed);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    let readings: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let divided = |r: &&Value| r["limit"] == 25 && r["wanted"].as_u64() > Some(25) && r["set"] == false;
    assert!(readings.iter().filter(divided).count() > 2, "{said}");
    assert_eq!(now(&namespace).iter().map(|leaf| leaf.0).collect::<Vec<_>>(), [20, 20]);
    let text = fs::read_to_string(&log).unwrap();
    (0..2).for_each(|queue| {
        again(&text, queue, |decision, asked| {
            assert_eq!(decision["wanted"], asked, "{decision}");
        });
    });
}

#[test]
fn a_memory_that_cannot_be_is_refused_in_one_line() {
    needs_root!("a_memory_that_cannot_be_is_refused_in_one_line");
    let namespace = namespace();
    let both = ["--qdisc", "4:1", "--qdisc", "4:2", "--memory"];
    for (args, says) in [
        (&["1 packet"][..], "2 packets or more"),
        (&["3 kB"], "3.028 kB or more"),
        (&["19 packets", "--min", "10 packets"], "20 packets or more"),
        (&["0 packets"], "room for a packet"),
        (&["much"], "64 kB"),
    ] {
        let output = run(&namespace, &[&both[..], args].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.code() == Some(2) && said.contains(says) && said.lines().count() == 1,
            "{args:?}: {output:?}"
        );
        assert_eq!(now(&namespace), [(20, 0), (20, 0)]);
    }
}
