//! Tests of the line rate that `levelflow-net abs` assumes for a queue, and of its warnings. Need root; skipped without
//! it.

use levelflow_net_testing::needs_root;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use levelflow_net_testing::device::with_device;
use levelflow_net_testing::send::send;
use levelflow_testbed::Namespace;
use serde_json::Value;

fn namespace(queue: &str) -> Namespace {
    let namespace = with_device("lf-d-line");
    namespace.tc(queue).unwrap();
    namespace
}

fn abs(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command.args(["abs", "--dev", "lf0"]).args(args).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(namespace: &Namespace, args: &[&str]) -> Output {
    namespace.spawn(abs(args)).unwrap().wait_with_output().unwrap()
}

/// Returns the utilisation in a dry run, while packets of 1000 bytes arrive faster than the line rate.
fn used(namespace: &Namespace, at: &[&str]) -> f64 {
    let args = [
        "--loss",
        "0.1",
        "--dry-run",
        "--every",
        "0.5 s",
        "--duration",
        "2.2 s",
        "--json",
    ];
    let child = namespace.spawn(abs(&[&args[..], at].concat())).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < Span::from_millis(2300) {
        send(namespace, 10);
        sleep(Span::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let readings = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shares: Vec<f64> = readings
        .map(|reading| reading["utilisation"].as_f64().unwrap())
        .collect();
    assert!(shares.len() >= 4, "{lines}");
    shares[1..].iter().sum::<f64>() / (shares.len() - 1) as f64
}

/// The rate at which the kernel sends is the reference. With 200 extra bytes per packet of 1000 bytes, a full line
/// sends at 83 % of its rate. Its utilisation must still be 100 %.
#[test]
fn a_full_line_with_overhead_is_used_to_all_of_it() {
    needs_root!("a_full_line_with_overhead_is_used_to_all_of_it");
    let tbf = "qdisc replace dev lf0 root handle 1: tbf rate 1mbit burst 2000 limit 50000 overhead 200";
    let htb = "qdisc replace dev lf0 root handle 1: htb default 1\n\
               class add dev lf0 parent 1: classid 1:1 htb rate 1mbit burst 2000 quantum 2000 overhead 200\n\
               qdisc add dev lf0 parent 1:1 handle 10: pfifo limit 50";
    let bfifo = format!("{tbf}\nqdisc add dev lf0 parent 1:1 handle 10: bfifo limit 50000");
    for (queue, at) in [(tbf, &[][..]), (&bfifo, &[]), (htb, &["--qdisc", "1:1"])] {
        let share = used(&namespace(queue), at);
        assert!((share - 1.0).abs() < 0.03, "{queue}: {share}");
    }
    // A rate given by the user counts packets with their size in the queue, without the 200 extra bytes.
    let share = used(&namespace(tbf), &["--capacity", "1 Mb/s"]);
    assert!((share - 1000.0 / 1200.0).abs() < 0.03, "{share}");
}

#[test]
fn settings_that_do_not_fit_the_line_are_reported() {
    needs_root!("settings_that_do_not_fit_the_line_are_reported");
    let large = "qdisc replace dev lf0 root handle 1: tbf rate 10mbit burst 100kb limit 300000";
    for (queue, args, says) in [
        (
            large,
            &["--every", "0.1 s"][..],
            "bucket of 100 KiB: up to 8.192 Mb/s (82 %) more",
        ),
        (large, &["--capacity", "20 Mb/s"], "used to 50.00 %"),
        (large, &["--capacity", "5 Mb/s"], "exceed 100 %"),
    ] {
        let output = run(
            &namespace(queue),
            &[&["--loss", "0.1", "--duration", "0.1 s"], args].concat(),
        );
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && said.contains(says), "{args:?}: {output:?}");
    }
}

#[test]
fn a_limit_beyond_what_algorithms_go_to_is_no_obstacle() {
    needs_root!("a_limit_beyond_what_algorithms_go_to_is_no_obstacle");
    let namespace = namespace("qdisc replace dev lf0 root handle 1: pfifo limit 2000000000");
    let args = [
        "--loss",
        "0.1",
        "--capacity",
        "1 Mb/s",
        "--every",
        "0.1 s",
        "--duration",
        "0.3 s",
    ];
    let output = run(&namespace, &args);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("1000000000 packets") && said.contains("is 2000000000 packets again"),
        "{said}"
    );
}

#[test]
fn a_log_replaces_that_of_an_earlier_run() {
    needs_root!("a_log_replaces_that_of_an_earlier_run");
    let namespace = namespace("qdisc replace dev lf0 root handle 1: tbf rate 1mbit burst 2000 limit 50000");
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let lines = |log: &Path| fs::read_to_string(log).unwrap().lines().count();
    let name = log.to_str().unwrap();
    for (time, decisions) in [("0.75 s", 7), ("0.35 s", 3)] {
        let output = run(
            &namespace,
            &["--loss", "0.1", "--every", "0.1 s", "--duration", time, "--log", name],
        );
        assert!(output.status.success(), "{output:?}");
        assert!((2..=decisions + 1).contains(&lines(&log)), "{}", lines(&log));
    }
}
