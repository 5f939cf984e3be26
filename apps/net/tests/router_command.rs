//! Tests of the command `levelflow-net router`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration as Span, Instant};

use serde_json::Value;

/// Builds a command. A user without privileges gets a private directory for lock files; root uses the machine's
/// directory.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_levelflow-net"));
    command
        .env("XDG_RUNTIME_DIR", std::env::temp_dir())
        .arg("router")
        .args(args);
    command
}

fn run(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns an address whose port is free at this moment.
fn free() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Running relay, killed at the end of its test.
struct Relay {
    child: Option<Child>,
    at: String,
}

impl Relay {
    fn start(more: &[&str]) -> Self {
        let (at, to) = (free().to_string(), free().to_string());
        let args = [
            "--relay",
            &at,
            "--to",
            &to,
            "--capacity",
            "10 Mb/s",
            "--every",
            "100 ms",
        ];
        let child = command(&args)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let relay = Self { child: Some(child), at };
        let begun = Instant::now();
        while relay
            .status()
            .is_none_or(|s| s["reading"]["law"].as_str().is_none_or(str::is_empty))
        {
            assert!(begun.elapsed() < Span::from_secs(10), "the relay does not start");
            sleep(Span::from_millis(20));
        }
        relay
    }

    /// Returns the state of the relay that `status` prints.
    fn status(&self) -> Option<Value> {
        let all: Value = serde_json::from_slice(&run(&["status", "--json"]).stdout).unwrap();
        all.as_array().unwrap().iter().find(|s| s["place"] == *self.at).cloned()
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(self.child.as_ref().unwrap());
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn output(mut self) -> Output {
        self.child.take().unwrap().wait_with_output().unwrap()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_relay_follows_the_rate_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rate");
    std::fs::write(&file, "8 Mb/s\n").unwrap();
    let mut relay = Relay::start(&["--capacity-from", file.to_str().unwrap()]);
    let mut complaints = BufReader::new(relay.child.as_mut().unwrap().stderr.take().unwrap());
    for (rate, bps) in [("8 Mb/s\n", 8e6), ("3mbit", 3e6), ("fast", 3e6), ("5 Mb/s", 5e6)] {
        std::fs::write(&file, rate).unwrap();
        if rate == "fast" {
            let mut line = String::new();
            complaints.read_line(&mut line).unwrap();
            assert!(line.contains("is unchanged"), "{line}");
        }
        let begun = Instant::now();
        while relay.status().unwrap()["reading"]["capacity"] != bps {
            assert!(begun.elapsed() < Span::from_secs(10), "{rate}: {:?}", relay.status());
            sleep(Span::from_millis(20));
        }
    }
}

#[test]
fn a_relay_reads_its_rate_through_a_link_and_reports_a_file_that_it_cannot_read() {
    let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [link, target] = [folder.path().join("rate"), other.path().join("modem")];
    std::fs::write(&target, "8 Mb/s").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let mut relay = Relay::start(&["--capacity-from", link.to_str().unwrap()]);
    let mut complaints = BufReader::new(relay.child.as_mut().unwrap().stderr.take().unwrap());
    let reaches = |bps: f64| {
        let begun = Instant::now();
        while relay.status().unwrap()["reading"]["capacity"] != bps {
            assert!(begun.elapsed() < Span::from_secs(10), "{bps}: {:?}", relay.status());
            sleep(Span::from_millis(20));
        }
    };
    reaches(8e6);
    std::fs::write(&target, "3 Mb/s").unwrap();
    reaches(3e6);
    std::fs::remove_file(&target).unwrap();
    std::fs::create_dir(&target).unwrap();
    let mut line = String::new();
    complaints.read_line(&mut line).unwrap();
    assert!(line.contains("directory") && line.contains("is unchanged"), "{line}");
    sleep(Span::from_millis(500));
    std::fs::remove_dir(&target).unwrap();
    std::fs::write(&target, "5 Mb/s").unwrap();
    reaches(5e6);
    relay.signal(rustix::process::Signal::TERM);
    line.clear();
    complaints.read_to_string(&mut line).unwrap();
    assert_eq!(line, "", "the warning appears once");
}

#[test]
fn bad_input_gets_one_line_and_status_2() {
    let relay = ["--relay", "127.0.0.1:0", "--to", "127.0.0.1:1", "--capacity", "1 Mb/s"];
    let wrong: &[(&[&str], &str)] = &[
        (&["--law", "cubic"], "jetmax"),
        (&["--law", "jetmax", "--set", "tau=-1"], "tau"),
        (&["--set", "tua=1"], "tau"),
        (&["--set", "tau"], "name=value"),
        (&["--law", "xcp", "--gamma", "0.9"], "--capacity"),
        (&["--law", "rcp", "--gamma", "0.9"], "--capacity"),
        (&["--law", "xcp", "--interval", "10 ms"], "shortest_interval"),
        (&["--gamma", "1.5"], "gamma"),
        (&["--metrics", "0.0.0.0:9464"], "--metrics-public"),
        (&["--every", "1 ms"], "10 ms"),
        (&["--buffer", "0 B"], "buffer"),
        (&["--buffer", "many"], "64 kB"),
        (&["--interval", "10"], "unit"),
        (&["--frobnicate"], "--frobnicate"),
    ];
    for (args, says) in wrong {
        let all: Vec<&str> = relay.iter().chain(*args).copied().collect();
        one_line(&run(&all), says, args);
    }
    one_line(
        &run(&["--relay", "nowhere", "--to", "127.0.0.1:1", "--capacity", "1 Mb/s"]),
        "HOST:PORT",
        &["nowhere"],
    );
    one_line(
        &run(&["--relay", "127.0.0.1:0", "--to", "127.0.0.1:1"]),
        "--capacity",
        &[],
    );
    one_line(&run(&["--relay", "127.0.0.1:0"]), "--to", &[]);
    one_line(&run(&[]), "--relay", &[]);
}

fn one_line(output: &Output, says: &str, of: &[&str]) {
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{of:?}: {complaint}");
    assert!(
        complaint.contains(says) && complaint.trim_end().lines().count() == 1,
        "{of:?}: {complaint:?}"
    );
    assert!(output.stdout.is_empty(), "{of:?}");
}

#[test]
fn a_relay_is_seen_refuses_another_and_is_detached() {
    let relay = Relay::start(&["--json"]);
    let second = run(&["--relay", &relay.at, "--to", "127.0.0.1:1", "--capacity", "1 Mb/s"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains(&relay.at));
    let line = text(&run(&["status"]).stdout);
    assert!(
        line.lines().any(|l| l.contains(&relay.at) && l.contains("jetmax")),
        "{line}"
    );
    let detach = run(&["detach", "--relay", &relay.at]);
    assert!(detach.status.success(), "{}", text(&detach.stderr));
    assert!(relay.status().is_none());
    assert_eq!(run(&["detach", "--relay", &relay.at]).status.code(), Some(1));
    let output = relay.output();
    assert!(output.status.success());
    for line in text(&output.stdout).lines() {
        let reading: Value = serde_json::from_str(line).unwrap();
        assert!(reading["load"].is_number() && reading["intervals"].is_number());
    }
}

#[test]
fn every_polite_signal_ends_it_with_a_summary() {
    use rustix::process::Signal;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let relay = Relay::start(&[]);
        relay.signal(signal);
        let output = relay.output();
        assert!(output.status.success());
        assert!(text(&output.stdout).trim_end().lines().last().unwrap().contains("ran"));
    }
}

#[test]
fn what_a_killed_relay_leaves_is_recognised() {
    let relay = Relay::start(&[]);
    relay.signal(rustix::process::Signal::KILL);
    let begun = Instant::now();
    while relay.status().is_some() {
        assert!(begun.elapsed() < Span::from_secs(5), "status lists a dead relay");
        sleep(Span::from_millis(20));
    }
    let again = run(&[
        "--relay",
        &relay.at,
        "--to",
        "127.0.0.1:1",
        "--capacity",
        "1 Mb/s",
        "--duration",
        "50 ms",
    ]);
    assert!(again.status.success(), "{}", text(&again.stderr));
}

#[test]
fn metrics_can_be_scraped() {
    let metrics = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let relay = Relay::start(&["--metrics", &metrics.to_string(), "--law", "rcp"]);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..5 {
        client.send_to(&[0; 958], &relay.at).unwrap();
    }
    let begun = Instant::now();
    loop {
        let page = get(metrics, "/metrics");
        let value = |name: &str| {
            let line = page.lines().find(|l| l.starts_with(name))?;
            line.rsplit(' ').next()?.parse::<f64>().ok()
        };
        if value("levelflow_router_received_packets_total{") == Some(5.0) {
            assert_eq!(value("levelflow_router_received_bytes_total{"), Some(5000.0));
            assert_eq!(value("levelflow_router_capacity_bytes_per_second{"), Some(1.25e6));
            assert!(
                page.contains("law=\"rcp\"") && page.trim_end().ends_with("# EOF"),
                "{page}"
            );
            break;
        }
        assert!(begun.elapsed() < Span::from_secs(5), "{page}");
        sleep(Span::from_millis(50));
    }
    assert!(get(metrics, "/").starts_with("HTTP/1.1 404"));
    relay.signal(rustix::process::Signal::TERM);
    assert!(relay.output().status.success());
}

fn get(from: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(from).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}
