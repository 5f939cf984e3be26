//! Tests of `levelflow-net abs` on real queues: it changes and restores limits, and rejects invalid input. Need root;
//! skipped without it. `abs_traffic.rs` tests its effect on traffic.

use levelflow_net_testing::needs_root;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_autobuf::queue;
use levelflow_host::limit::with_limit;
use levelflow_host::qdisc::Device;
use levelflow_host::tc::Handle;
use levelflow_net_testing::device::with_device;
use levelflow_net_testing::send::send;
use levelflow_testbed::Namespace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const TBF: &str = "qdisc replace dev lf0 root handle 1: tbf rate 1mbit burst 2000 limit 50000";
/// Slow queue. The transmission of a packet takes a second, so packets remain after a pause of the machine.
const SLOW: &str = "qdisc replace dev lf0 root handle 1: tbf rate 8kbit burst 2000 limit 50000";
const HTB: &str = "qdisc replace dev lf0 root handle 4: htb default 1\n\
                   class add dev lf0 parent 4: classid 4:1 htb rate 8kbit ceil 16kbit burst 2000 quantum 2000\n\
                   class add dev lf0 parent 4: classid 4:2 htb rate 8kbit burst 2000 quantum 2000";

fn namespace(queue: &str) -> Namespace {
    let namespace = with_device("lf-d-abs");
    namespace.tc(queue).unwrap();
    namespace
}

fn abs(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.arg("abs").args(args).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(namespace: &Namespace, args: &[&str]) -> Output {
    namespace.spawn(abs(args)).unwrap().wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the report of `tc` on the queues, without counters.
fn tc(namespace: &Namespace) -> String {
    let mut command = Command::new("tc");
    command.args(["qdisc", "show", "dev", "lf0"]);
    namespace.output(command).unwrap()
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Span::from_secs(10), "not within 10 s: {what}");
        sleep(Span::from_millis(20));
    }
}

/// Starts `abs` and waits until it has changed the limit.
fn start(namespace: &Namespace, more: &[&str]) -> Child {
    let before = tc(namespace);
    let args = [&["--dev", "lf0", "--loss", "0.01", "--json"], more].concat();
    let child = namespace.spawn(abs(&args)).unwrap();
    wait_for("another limit", || tc(namespace) != before);
    child
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_limit_changes_and_no_packet_is_lost() {
    needs_root!("a_limit_changes_and_no_packet_is_lost");
    for (lines, at) in [
        ("qdisc replace dev lf0 root handle 1: pfifo limit 100", None),
        (SLOW, None),
        (
            "qdisc replace dev lf0 root handle 1: tbf rate 8kbit burst 1600 limit 50000 peakrate 16kbit minburst 1540",
            None,
        ),
        (
            &format!("{SLOW}\nqdisc add dev lf0 parent 1:1 handle 10: bfifo limit 50000"),
            None,
        ),
        (
            &format!("{HTB}\nqdisc add dev lf0 parent 4:1 handle 10: pfifo limit 50"),
            Some("4:1"),
        ),
        (
            &format!("{HTB}\nqdisc add dev lf0 parent 4:1 handle 10: bfifo limit 50000"),
            Some("10:"),
        ),
    ] {
        let namespace = namespace(lines);
        let before = tc(&namespace);
        send(&namespace, 30);
        let at: Option<Handle> = at.map(|at| at.parse().unwrap());
        let capacity = levelflow_units::Rate::new(1e6);
        let (waiting, readings) = namespace
            .run(move || {
                let mut device = Device::open("lf0").unwrap();
                let found = queue::find(&mut device, at, capacity).unwrap();
                let first = device.queue_of(found.handle).unwrap().queue;
                let mut set = |limit| {
                    let options = with_limit(&found.kind, &found.options, limit).unwrap();
                    device.change(found.handle, &found.kind, options).unwrap();
                    device.queue_of(found.handle).unwrap().queue
                };
                let small = found.unit.limit(levelflow_host::limit::Limit::Packets(1), 2000);
                (first.packets, [first, set(small), set(small * 1000), set(found.limit)])
            })
            .unwrap();
        if lines.contains("tbf") || lines.contains("htb") {
            assert!(waiting > 20, "{lines}: {waiting} wait");
        }
        // Every packet has left the queue or is still in it. None was dropped, although the new limit is below the
        // backlog.
        let first = &readings[0];
        let all = |q: &levelflow_host::qdisc::Queue| q.sent_packets + q.packets;
        for reading in &readings {
            assert_eq!((all(reading), reading.drops), (all(first), 0), "{lines}: {reading:?}");
        }
        assert_eq!(tc(&namespace), before, "{lines}");
    }
}

#[test]
fn a_shrunken_queue_drops_only_what_comes() {
    needs_root!("a_shrunken_queue_drops_only_what_comes");
    let namespace = namespace(SLOW);
    send(&namespace, 22);
    let reading = |limit: Option<u32>| {
        namespace
            .run(move || {
                let mut device = Device::open("lf0").unwrap();
                let found = queue::find(&mut device, None, None).unwrap();
                if let Some(limit) = limit {
                    let options = with_limit("tbf", &found.options, limit).unwrap();
                    device.change(found.handle, "tbf", options).unwrap();
                }
                device.queue_of(found.handle).unwrap().queue
            })
            .unwrap()
    };
    assert_eq!(reading(Some(5000)).drops, 0);
    send(&namespace, 3);
    let after = reading(None);
    assert_eq!((after.drops, after.sent_packets + after.packets), (3, 22), "{after:?}");
    assert_eq!(reading(Some(50_000)).drops, 3);
    send(&namespace, 3);
    assert_eq!(reading(None).drops, 3, "new packets are accepted again");
}

// **Invariant** (The data plane): `levelflow-net abs` restores each limit that it changed, on every exit. It does not
// restore a limit that another process has changed since. After `kill -9`, the next start of `abs` restores the limits.
// See `the_limit_comes_back_after_kill_9`.
#[test]
fn the_limit_comes_back_after_any_signal() {
    needs_root!("the_limit_comes_back_after_any_signal");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    for stop in [Signal::TERM, Signal::INT, Signal::HUP] {
        let child = start(&namespace, &["--max", "9 packets"]);
        signal(&child, stop);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(tc(&namespace), before);
    }
}

#[test]
fn the_limit_comes_back_after_kill_9() {
    needs_root!("the_limit_comes_back_after_kill_9");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    let kill = || {
        let mut child = start(&namespace, &["--max", "9 packets"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(tc(&namespace), before);
    };
    kill();
    let output = run(&namespace, &["--restore", "--dev", "lf0"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(tc(&namespace), before);
    assert_eq!(
        run(&namespace, &["--restore", "--dev", "lf0"]).status.code(),
        Some(1),
        "nothing is left"
    );
    // The next run first restores the limit from before the kill. At its end, it restores the same limit again.
    kill();
    let output = run(
        &namespace,
        &[
            "--dev",
            "lf0",
            "--loss",
            "0.01",
            "--max",
            "5 packets",
            "--duration",
            "0.3 s",
        ],
    );
    assert!(
        text(&output.stderr).contains("again") && output.status.success(),
        "{output:?}"
    );
    assert_eq!(tc(&namespace), before);
    // A limit that another process has set since the kill is kept.
    kill();
    namespace.tc(&TBF.replace("50000", "7777")).unwrap();
    let theirs = tc(&namespace);
    let output = run(&namespace, &["--restore", "--dev", "lf0"]);
    assert!(text(&output.stderr).contains("another process"), "{output:?}");
    assert_eq!(tc(&namespace), theirs);
}

#[test]
fn a_dry_run_changes_nothing_and_prints_the_changes() {
    needs_root!("a_dry_run_changes_nothing_and_prints_the_changes");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    send(&namespace, 200); // the queue drops most packets
    let args = [
        "--dev",
        "lf0",
        "--loss",
        "0.01",
        "--every",
        "0.1 s",
        "--duration",
        "1 s",
        "--set",
        "rtt=1 ms",
    ];
    let child = namespace.spawn(abs(&[&args[..], &["--dry-run"]].concat())).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Span::from_millis(900) {
        send(&namespace, 10);
        sleep(Span::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert!(output.status.success() && said.contains("(not set)"), "{output:?}");
    assert_eq!(tc(&namespace), before);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn impossible_settings_are_rejected_in_one_line() {
    needs_root!("impossible_settings_are_rejected_in_one_line");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    for (args, says) in [
        (&["--loss", "0.1"][..], "--dev"),
        (&["--dev", "lf9", "--loss", "0.1"], "lf9"),
        (&["--dev", "lf0"], "no target"),
        (&["--dev", "lf0", "--utilisation", "1"], "up to 0.9999"),
        (&["--dev", "lf0", "--utilisation", "0.99999"], "0.9999"),
        (&["--dev", "lf0", "--loss", "0"], "above 0"),
        (&["--dev", "lf0", "--loss", "NaN"], "above 0"),
        (&["--dev", "lf0", "--loss=-0.1"], "above 0"),
        (&["--dev", "lf0", "--delay", "1 ms"], "12.112 ms"),
        (
            &["--dev", "lf0", "--loss", "0.1", "--algorithm", "adt"],
            "no such target",
        ),
        (&["--dev", "lf0", "--loss", "0.1", "--algorithm", "abc"], "abs_log"),
        (&["--dev", "lf0", "--loss", "0.1", "--set", "gane=1"], "gain"),
        (&["--dev", "lf0", "--loss", "0.1", "--set", "gain=7"], "gain"),
        (
            &["--dev", "lf0", "--loss", "0.1", "--set", "initial=7"],
            "the limit that the queue has",
        ),
        (&["--dev", "lf0", "--loss", "0.1", "--every", "50 ms"], "100 ms"),
        (&["--dev", "lf0", "--loss", "0.1", "--every", "2000 s"], "--every"),
        (&["--dev", "lf0", "--delay", "2000 s"], "--delay"),
        (
            &["--dev", "lf0", "--loss", "0.1", "--max", "5000000000 packets"],
            "--max",
        ),
        (
            &["--dev", "lf0", "--utilisation", "0.9", "--capacity", "2 Mb/s"],
            "up to 1.111 Mb/s",
        ),
        (
            &[
                "--dev",
                "lf0",
                "--loss",
                "0.1",
                "--min",
                "9 packets",
                "--max",
                "5 packets",
            ],
            "--max",
        ),
        (&["--dev", "lf0", "--loss", "0.1", "--max", "0 packets"], "--max"),
        (
            &["--dev", "lf0", "--loss", "0.1", "--min", "100 B"],
            "1514 bytes or more",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--max", "1.5 kB"],
            "1514 bytes or more",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--max", "5 GB", "--min", "6 GB"],
            "4294967295 bytes",
        ),
        (&["--dev", "lf0", "--loss", "0.1", "--capacity", "0 b/s"], "--capacity"),
        (&["--dev", "lf0", "--loss", "0.1", "--qdisc", "7:"], "allowed: 1: tbf"),
        (&["--dev", "lf0", "--loss", "0.1", "--qdisc", "7"], "10:"),
        (
            &["--dev", "lf0", "--loss", "0.1", "--qdisc", "1:", "--qdisc", "1:"],
            "twice",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--metrics", "0.0.0.0:9465"],
            "--metrics-public",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--log", "/nowhere/log"],
            "/nowhere/log",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--log", "/etc/passwd"],
            "not a log of abs",
        ),
        (
            &["--dev", "lf0", "--loss", "0.1", "--log", "/dev/zero"],
            "not a regular file",
        ),
    ] {
        let output = run(&namespace, args);
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && said.contains(says) && said.lines().count() == 1,
            "{args:?}: {output:?}"
        );
        assert_eq!(tc(&namespace), before);
    }
}

#[test]
fn a_queue_without_a_limit_to_set_is_named_with_what_to_do() {
    needs_root!("a_queue_without_a_limit_to_set_is_named_with_what_to_do");
    for (lines, qdisc, says) in [
        (
            "qdisc replace dev lf0 root handle 1: pfifo_fast",
            None,
            &["pfifo_fast", "tc qdisc replace dev lf0 root"][..],
        ),
        (
            "qdisc add dev lf0 clsact",
            None,
            &["noqueue", "tc qdisc replace dev lf0 root"],
        ),
        (HTB, None, &["htb", "tc qdisc replace"]),
        (
            HTB,
            Some("4:1"),
            &["4:1", "tc qdisc add dev lf0 parent 4:1 handle 10: pfifo"],
        ),
        (HTB, Some("4:9"), &["4:9", "no such"]),
        (
            &format!("{HTB}\nqdisc add dev lf0 parent 4:2 handle 20: pfifo limit 9"),
            None,
            &["--qdisc", "20: pfifo"],
        ),
        (
            "qdisc replace dev lf0 root handle 1: pfifo limit 10",
            None,
            &["--capacity"],
        ),
    ] {
        let namespace = namespace(lines);
        let mut args = vec!["--dev", "lf0", "--loss", "0.1"];
        args.extend(qdisc.iter().flat_map(|at| ["--qdisc", at]));
        let output = run(&namespace, &args);
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(2) && says.iter().all(|s| said.contains(s)) && said.lines().count() == 1,
            "{lines}: {output:?}"
        );
    }
}

#[test]
fn without_privileges_nothing_is_set() {
    needs_root!("without_privileges_nothing_is_set");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    let home = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(home.path(), Some(65_534), Some(65_534)).unwrap();
    let as_nobody = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        command.arg(env!("CARGO_BIN_EXE_levelflow-net")).arg("abs").args(args);
        command.env("XDG_RUNTIME_DIR", home.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        namespace.spawn(command).unwrap().wait_with_output().unwrap()
    };
    let log = home.path().join("log");
    let output = as_nobody(&["--dev", "lf0", "--loss", "0.1", "--log", log.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert!(
        output.status.code() == Some(1) && said.contains("CAP_NET_ADMIN") && said.lines().count() == 1,
        "{output:?}"
    );
    assert_eq!(tc(&namespace), before);
    let left = fs::read_dir(home.path().join("levelflow")).unwrap().count();
    assert!(left == 0 && !log.exists(), "files stay behind");
    let dry = as_nobody(&["--dev", "lf0", "--loss", "0.1", "--dry-run", "--duration", "0.3 s"]);
    assert!(dry.status.success(), "{dry:?}");
}

#[test]
fn a_device_has_one_algorithm_which_is_seen_and_ended() {
    needs_root!("a_device_has_one_algorithm_which_is_seen_and_ended");
    let namespace = namespace(TBF);
    let before = tc(&namespace);
    let child = start(
        &namespace,
        &["--max", "9 packets", "--every", "0.1 s", "--metrics", "127.0.0.1:0"],
    );
    let output = run(&namespace, &["--dev", "lf0", "--loss", "0.1"]);
    assert!(
        output.status.code() == Some(1) && text(&output.stderr).contains(&format!("process {}", child.id())),
        "{output:?}"
    );
    let here = namespace.run(levelflow_host::pid_file::namespace).unwrap();
    wait_for("a reading", || {
        let all: Value = serde_json::from_slice(&run(&namespace, &["status", "--json"]).stdout).unwrap();
        let all = all.as_array().unwrap();
        all.iter()
            .any(|s| s["namespace"] == here && s["reading"]["queues"][0]["unit"] == "bytes")
    });
    assert!(text(&run(&namespace, &["status"]).stdout).contains("lf0: abs_log"));
    let output = run(&namespace, &["--restore", "--dev", "lf0"]);
    assert!(output.status.success(), "{output:?}");
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(tc(&namespace), before);
}

#[test]
fn a_device_or_queue_that_is_taken_away_ends_it() {
    needs_root!("a_device_or_queue_that_is_taken_away_ends_it");
    let two = format!(
        "{HTB}\nqdisc add dev lf0 parent 4:1 handle 10: pfifo limit 50\nqdisc add dev lf0 parent 4:2 handle 20: pfifo limit 60"
    );
    let max = ["--max", "9 packets", "--duration", "20 s"];
    let both = [&max[..], &["--qdisc", "4:1", "--qdisc", "20:"]].concat();
    type Deed = fn(&Namespace);
    let deeds: [(&str, &[&str], Deed, &str, &str); 5] = [
        (TBF, &max, |n| n.ip("link del lf0").unwrap(), "gone", ""),
        (
            TBF,
            &max,
            |n| n.tc("qdisc del dev lf0 root").unwrap(),
            "gone",
            "noqueue",
        ),
        (
            TBF,
            &max,
            |n| n.tc(&TBF.replace("50000", "7777")).unwrap(),
            "another process",
            "lat 46",
        ),
        (
            TBF,
            &max,
            // The current limit is as configured: 9 packets of 1514 bytes.
            |n| {
                n.tc("qdisc change dev lf0 root handle 1: tbf rate 20mbit burst 5000 limit 13626")
                    .unwrap();
            },
            "another process",
            "rate 20Mbit burst 5000b",
        ),
        (
            &two,
            &both,
            |n| n.tc("qdisc del dev lf0 parent 4:1").unwrap(),
            "gone",
            "limit 60p",
        ),
    ];
    for (lines, args, deed, says, then) in deeds {
        let namespace = namespace(lines);
        let child = start(&namespace, args);
        if lines == two {
            wait_for("both limits", || tc(&namespace).matches("limit 9p").count() == 2);
        }
        deed(&namespace);
        let output = child.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert!(
            output.status.code() == Some(1) && said.contains(says) && said.lines().count() == 1,
            "{output:?}"
        );
        if !then.is_empty() {
            assert!(tc(&namespace).contains(then), "{}", tc(&namespace));
        }
    }
}
