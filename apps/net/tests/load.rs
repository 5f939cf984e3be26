//! Tests of the commands `send` and `recv` on loopback, directly and through a relay.

use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use levelflow_laws::{LAWS, LawInfo, Signal};
use levelflow_net_testing::program::Guard;
use serde_json::Value;

fn net(args: &[&str]) -> Command {
    let mut command = levelflow_net_testing::program::net(args);
    command.stderr(Stdio::piped());
    command
}

fn start(args: &[&str]) -> Guard {
    Guard(net(args).spawn().unwrap())
}

/// Starts `recv` at a free port of this host; returns the process, the address, and its output.
fn recv(host: &str, args: &[&str]) -> (Guard, String, BufReader<std::process::ChildStdout>) {
    let at = format!("{host}:0");
    let mut child = start(&[&["recv", &at, "--for", "60 s"], args].concat());
    let mut out = BufReader::new(child.0.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let at = line.trim().strip_prefix("listening at ").unwrap().to_owned();
    (child, at, out)
}

/// Runs a command until it ends; fails after 30 s.
fn finish(args: &[&str]) -> Output {
    let mut child = net(args).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

/// Runs `send`; returns its summary.
fn send(to: &str, args: &[&str]) -> Value {
    let output = finish(&[&["send", to, "--json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// Returns an address whose port is below the kernel's ephemeral ports. No concurrent process can get this port.
fn free(host: &str) -> String {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    loop {
        let at = format!("{host}:{}", NEXT.fetch_add(1, Ordering::Relaxed));
        if UdpSocket::bind(&at).is_ok() {
            return at;
        }
    }
}

/// Starts a relay with a law in front of `to`; returns the process and its address.
fn relay(host: &str, to: &str, law: &str, capacity: &str) -> (Guard, String) {
    let free = free(host);
    let mut args = vec![
        "router",
        "--relay",
        &free,
        "--to",
        to,
        "--law",
        law,
        "--capacity",
        capacity,
        "--quiet",
    ];
    args.extend(["--delay", "5 ms", "--duration", "60 s"]);
    if law == "jetmax" {
        args.extend(["--gamma", "0.9"]);
    }
    let child = start(&args);
    std::thread::sleep(Duration::from_millis(500));
    (child, free)
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn flows_share_the_rate_of_the_router() {
    std::thread::scope(|scope| {
        let cases = [("jetmax", "127.0.0.1"), ("jetmax", "[::1]"), ("rcp", "127.0.0.1")];
        let runs = cases.map(|(law, host)| scope.spawn(move || shared(law, host)));
        runs.into_iter().for_each(|run| run.join().unwrap());
    });
}

/// Runs three flows of a law over a relay.
fn shared(law: &str, host: &str) {
    let (_recv, at, _out) = recv(host, &[]);
    let (_relay, at) = relay(host, &at, law, "20 Mb/s");
    let end = send(&at, &["--law", law, "--flows", "3", "--time", "6 s", "--quiet"]);
    let (rate, jain) = (number(&end, "rate") / 1e6, number(&end, "jain"));
    // Jain's index exceeds this bound if no throughput differs from the mean by more than 5 %.
    assert!(jain > 0.9975, "{law} {host}: {jain}");
    assert!((8.0..20.1).contains(&rate), "{law} {host}: {rate} Mb/s");
    assert!(
        end["each"].as_array().unwrap().iter().all(|f| f["routed"] == true),
        "{end}"
    );
}

/// Each flow must detect the router of its law on the path. All laws with routers run concurrently.
#[test]
fn transfers_of_any_law_complete_over_both_families() {
    for host in ["127.0.0.1", "[::1]"] {
        let (_recv, to, _out) = recv(host, &[]);
        let transfer = &|law: &'static LawInfo| {
            let relay = law
                .signalling
                .is_explicit()
                .then(|| relay(host, &to, law.name, "20 Mb/s"));
            let at = relay.as_ref().map_or(&to, |(_, at)| at);
            let end = send(at, &["--law", law.name, "--bytes", "20 kB", "--flows", "2", "--quiet"]);
            (end, relay.is_some())
        };
        std::thread::scope(|scope| {
            let start = |law: &'static LawInfo| (law.name, scope.spawn(move || transfer(law)));
            let acknowledged = LAWS.iter().filter(|law| law.signal != Signal::Nothing);
            let runs: Vec<_> = acknowledged.map(start).collect();
            for (law, run) in runs {
                let (end, routed) = run.join().unwrap();
                assert_eq!(number(&end, "completed"), 2.0, "{law} {host}: {end}");
                let delivered = number(&end, "delivered_bytes");
                // 20 kB fill at least 17 packets, each with at least 66 bytes of headers.
                let least = 2.0 * (20_000.0 + 17.0 * 66.0);
                let most = 45_000.0 + 117.0 * number(&end, "packets"); // Level over IPv6 has 117 bytes of headers
                assert!((least..most).contains(&delivered), "{law} {host}: {delivered}");
                let mut each = end["each"].as_array().unwrap().iter();
                assert!(
                    !routed || each.all(|flow| flow["routed"] == true),
                    "{law} {host}: {end}"
                );
            }
        });
    }
}

#[test]
fn short_flows_arrive_at_random_and_complete() {
    let (_recv, at, _out) = recv("127.0.0.1", &[]);
    let args = [
        "--arrivals",
        "50 /s",
        "--bytes",
        "10 kB",
        "--time",
        "2 s",
        "--law",
        "emkc",
        "--set",
        "initial_rate=10 Mb/s",
    ];
    let end = send(&at, &[&args[..], &["--quiet"]].concat());
    let (flows, completed) = (number(&end, "flows"), number(&end, "completed"));
    assert!(
        (50.0..160.0).contains(&flows) && completed > flows - 10.0,
        "{completed} of {flows}"
    );
    let mean = number(&end, "completion_mean");
    assert!(
        (0.006..0.1).contains(&mean),
        "7 gaps of 1 ms and a round trip, not {mean} s"
    );
}

#[test]
fn a_receiver_counts_all_packets_and_ends_with_its_flows() {
    let (mut recv, at, out) = recv("127.0.0.1", &["--flows", "2"]);
    let end = send(
        &at,
        &[
            "--law",
            "cbr",
            "--set",
            "rate=2 Mb/s",
            "--flows",
            "2",
            "--time",
            "1 s",
            "--quiet",
        ],
    );
    let text: Vec<String> = out.lines().map_while(Result::ok).collect();
    assert!(recv.0.wait().unwrap().success());
    let total = text.iter().find(|line| line.starts_with("2 flows")).unwrap();
    let data = number(&end, "packets") - 4.0; // minus two closing packets per flow
    assert!(
        total.contains(&format!("{data} packets, 0 lost, 0 reordered, 0 duplicates")),
        "{total} {end}"
    );
}

#[test]
fn garbage_and_forged_acks_change_nothing() {
    let (recv, at, _out) = recv("127.0.0.1", &[]);
    let memory = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", recv.0.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut state = 1_u64;
    let before = memory();
    for i in 0..40_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(i);
        let bytes: Vec<u8> = state.to_be_bytes().repeat(1 + (i % 30) as usize);
        let shimmed = [b"LVF\x01", &bytes[..]].concat();
        let _ = socket.send_to(if i % 2 == 0 { &bytes } else { &shimmed }, &at);
    }
    let grown = memory() - before;
    assert!(grown < 8_000, "{grown} kB for garbage");
    let end = send(&at, &["--law", "newreno", "--bytes", "20 kB", "--quiet"]);
    assert_eq!(number(&end, "completed"), 1.0);
}

/// A law without ACKs keeps its rate, even if there is no receiver. A law that needs ACKs would send 180 packets.
#[test]
fn a_sender_without_acks_sends_at_its_rate() {
    let (_recv, at, _out) = recv("127.0.0.1", &[]);
    let run = |to: &str, rate: &str, most: &str| {
        let law = ["--law", "cbr", "--set", rate, "--max-rate", most];
        let end = send(to, &[&law[..], &["--time", "8 s", "--quiet"]].concat());
        let packets = number(&end, "packets");
        assert!((300.0..=323.0).contains(&packets), "{to}, {rate}: {end}");
        assert!(end["delivered_bytes"].is_null() && end["lost"].is_null() && end["rate"].is_null());
        assert_eq!(number(&end["each"][0], "acks"), 0.0);
    };
    std::thread::scope(|scope| {
        for to in [at.as_str(), "127.0.0.1:9"] {
            for (rate, most) in [("rate=400 kb/s", "1 Gb/s"), ("rate=1 Gb/s", "400 kb/s")] {
                scope.spawn(move || run(to, rate, most));
            }
        }
    });
}

#[test]
fn a_sender_names_the_missing_receiver_or_router() {
    let nobody = finish(&["send", "127.0.0.1:9", "--time", "2500 ms", "--quiet"]);
    let text = String::from_utf8_lossy(&nobody.stderr);
    assert!(
        nobody.status.code() == Some(1) && text.contains("no ACKs arrive"),
        "{text}"
    );
    let (_recv, at, _out) = recv("127.0.0.1", &[]);
    let unrouted = finish(&["send", &at, "--law", "rcp", "--time", "2500 ms", "--quiet"]);
    let text = String::from_utf8_lossy(&unrouted.stderr);
    assert!(text.contains("no router of rcp on the path"), "{text}");
}

#[test]
fn packets_leave_on_time() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let at = socket.local_addr().unwrap().to_string();
    let args = [
        "send",
        &at,
        "--law",
        "cbr",
        "--set",
        "rate=4 Mb/s",
        "--time",
        "900 ms",
        "--quiet",
    ];
    let _sender = start(&args);
    let mut stamps = Vec::new();
    let mut wire = [0; 2000];
    while stamps.len() < 300 {
        let length = socket.recv(&mut wire).unwrap();
        assert_eq!(length, 1250 - 42);
        stamps.push(u64::from_be_bytes(wire[16..24].try_into().unwrap()));
    }
    let gap = 2_500_000.0;
    let mut errors: Vec<f64> = stamps
        .windows(2)
        .map(|w| ((w[1] - w[0]) as f64 / gap - 1.0).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    let mean = (stamps[299] - stamps[0]) as f64 / 299.0 / gap;
    assert!(
        errors[errors.len() / 2] < 0.2,
        "median error {} of the gap",
        errors[errors.len() / 2]
    );
    assert!((0.99..1.2).contains(&mean), "mean gap {mean} of what it should be");
}

#[test]
fn the_inputs_of_a_law_can_be_replayed() {
    let (_recv, at, _out) = recv("127.0.0.1", &[]);
    let (_relay, at) = relay("127.0.0.1", &at, "jetmax", "10 Mb/s");
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("send.lvj");
    let journal = log.to_str().unwrap();
    send(
        &at,
        &[
            "--flows",
            "2",
            "--time",
            "2 s",
            "--set",
            "tau=0.5",
            "--quiet",
            "--journal",
            journal,
        ],
    );
    let replay = levelflow_sim::replay::replay(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!(
        (replay.difference, replay.truncated_at, replay.instances.len()),
        (None, None, 2)
    );
    assert!(replay.records > 1000, "{} records", replay.records);
}

#[test]
fn bad_input_gets_one_line_and_status_2() {
    for (args, says) in [
        (&["send", "127.0.0.1"][..], "HOST:PORT"),
        (&["send", "127.0.0.1:1", "--law", "jetmacs"], "jetmax"),
        (&["send", "127.0.0.1:1", "--set", "tau=7"], "tau"),
        (&["send", "127.0.0.1:1", "--packet", "20 B"], "--packet 20 B: 110 B to"),
        (&["send", "127.0.0.1:1", "--max-rate", "0 b/s"], "above zero"),
        (&["send", "127.0.0.1:1", "--every", "1 ms"], "at least 10 ms"),
        (&["send", "127.0.0.1:1", "--samples", "/nowhere/x"], "/nowhere/x"),
        (&["recv", "nowhere"], "HOST:PORT"),
    ] {
        let output = finish(args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(2) && text.contains(says),
            "{args:?}: {text}"
        );
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
}
